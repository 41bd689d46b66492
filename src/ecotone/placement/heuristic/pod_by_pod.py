"""A run that is not atomic: pods placed one at a time, so that an application may end up half placed.

So work the paper's prototype and its benchmark policies, First-fit and Round-robin (section VI-C). A pod without a node that
fits stays pending while the other pods of its application hold capacity that nobody can use. An application counts as
deployed only when all of its pods run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import Placement

PENDING = -1
Pod = tuple[int, int]  # application, component


@dataclass(frozen=True, slots=True)
class Run:
    """Where each pod went (PENDING for nowhere), and what the policy remembers for the next run."""

    hosts: tuple[tuple[int, ...], ...]
    memory: Mapping[str, object] = field(default_factory=dict)

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
