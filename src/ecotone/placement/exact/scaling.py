"""Integers a solver can be trusted with.

Memory in bytes makes coefficients of 1e9, and a solver whose tolerance is 1e-6 then overlooks kilobytes. Per
resource, everything is divided by the greatest common divisor of the demands, which loses nothing: what a host has
beyond a multiple of it nobody can use. Only where the numbers stay large even then are demands rounded up and
capacities down, so that an answer is always valid and at worst one part in a million too careful.
"""

from dataclasses import dataclass
from math import gcd

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.placement.problem.instance import Component, Instance

LARGEST = 1_000_000


@dataclass(frozen=True)
class Scaled:
    free: Ints
    units: tuple[int, ...]

    def demand(self, component: Component) -> tuple[int, ...]:
        """What the component takes; one that already runs takes nothing more."""
        if component.pinned is not None:
            return (0,) * len(self.units)
        return tuple(-(-amount // unit) for amount, unit in zip(component.demand, self.units, strict=True))


def scale(instance: Instance) -> Scaled:
    units = []
    for r in range(len(instance.resources)):
        demands = {c.demand[r] for a in instance.applications for c in a.components if c.pinned is None}
        unit = gcd(*demands) or 1
        units.append(max(unit, -(-max(demands, default=0) // LARGEST)))
    return Scaled(free=np.maximum(instance.free // np.array(units, dtype=np.int64), 0), units=tuple(units))
