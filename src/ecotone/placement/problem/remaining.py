"""What is left on every host while a solver places components one by one.

Columns per resource, so that "which hosts still fit this" and "how many more copies would fit" are vector operations
over the whole cluster. Placing and taking back are exact inverses: an application that cannot be completed leaves no
trace.
"""

import numpy as np

from ecotone.model.arrays import Ints, Mask
from ecotone.placement.problem.instance import Component, Instance


class Remaining:
    def __init__(self, instance: Instance) -> None:
        self._free = np.ascontiguousarray(instance.free.T.copy())

    def fits(self, component: Component, within: Mask) -> Mask:
        """Hosts of `within` with room for the component; a resource it does not ask for cannot be missing."""
        mask = within
        for column, amount in zip(self._free, component.demand, strict=True):
            if amount > 0:
                mask = mask & (column >= amount)
        return mask

    def beta(self, component: Component, hosts: Ints) -> Ints:
        """The paper's beta: further copies that would fit after this one, by the scarcest resource."""
        least: Ints | None = None
        for column, amount in zip(self._free, component.demand, strict=True):
            if amount > 0:
                copies = (column[hosts] - amount) // amount
                least = copies if least is None else np.minimum(least, copies)
        return np.zeros(len(hosts), dtype=np.int64) if least is None else least

    def take(self, component: Component, host: int) -> None:
        self._free[:, host] -= np.asarray(component.demand, dtype=np.int64)

    def give_back(self, component: Component, host: int) -> None:
        self._free[:, host] += np.asarray(component.demand, dtype=np.int64)
