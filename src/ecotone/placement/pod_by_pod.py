"""The paper's benchmark policies: First-fit and Round-robin (section VI-C), and the shape of a run that is not atomic.

Both know resources and nothing else: no delays, no tiers, no applications. They take pods one at a time in the order
given and leave a pod pending when no node fits, so an application can end up half placed, its pods holding capacity
that nobody can use. An application counts as deployed only when all of its pods run. As in the paper they see the
edge nodes alone, because a policy that cannot tell tiers apart cannot be trusted with nodes that cost money.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ecotone.placement.instance import Component, Instance, IntArray
from ecotone.placement.ledger import Ledger
from ecotone.placement.solution import Placement

PENDING = -1
Pod = tuple[int, int]  # application, component


@dataclass(frozen=True, slots=True)
class Run:
    """Where each pod went (PENDING for nowhere) and, for Round-robin, where the next run starts."""

    hosts: tuple[tuple[int, ...], ...]
    pointer: int = 0

    def placement(self, instance: Instance) -> Placement:
        """The applications that run as a whole."""
        reasons = {
            application.name: f"{sum(host == PENDING for host in hosts)} of its pods fit nowhere"
            for application, hosts in zip(instance.applications, self.hosts, strict=True)
            if PENDING in hosts
        }
        return Placement(hosts=tuple(None if PENDING in hosts else hosts for hosts in self.hosts), reasons=reasons)


def manifest_order(instance: Instance) -> list[Pod]:
    return [(a, i) for a, application in enumerate(instance.applications) for i in range(len(application.components))]


def pod_by_pod(
    instance: Instance, choose: Callable[[Pod, IntArray], int], *, order: Sequence[Pod] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Places pods in order, each on the host `choose` picks among those with room (in list order)."""
    ledger = Ledger(instance)
    hosts = [[PENDING] * len(application.components) for application in instance.applications]
    for a, i in manifest_order(instance) if order is None else order:
        component: Component = instance.applications[a].components[i]
        fitting: IntArray = np.flatnonzero(ledger.fits(component, instance.is_edge))
        if len(fitting):
            hosts[a][i] = choose((a, i), fitting)
            ledger.take(component, hosts[a][i])
    return tuple(tuple(row) for row in hosts)
