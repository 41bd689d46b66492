"""What roles cannot narrow: who writes what was measured, which fields a program may change, and how far it may go.

A ValidatingAdmissionPolicy looks at the difference between old and new object, which RBAC cannot. Measured keys have one
writer (`ecotone.manifests.figures_policy`); the programs change their own annotations and nothing else (`annotations`);
the descheduler scales by one and leaves some namespaces alone (`fences`); reservations are written by whoever may hold
places, and the installation's priority classes stay in its namespace (`holds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.manifests import figures_policy
from ecotone.services.install.admission.annotations import descheduler_annotations, monitor_annotations
from ecotone.services.install.admission.fences import evictions, scales
from ecotone.services.install.admission.holds import priorities, reservations

READERS = ("scheduler", "monitor", "descheduler")
"""Programs for which it matters who has written a measured key."""


def admission_policies(
    components: Sequence[str] = READERS, *, namespace: str = "kube-system", excluded: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """`excluded`: namespaces in which nothing is moved, beside kube-system and the installation's own."""
    made: list[dict[str, Any]] = []
    if not set(READERS).isdisjoint(components):
        made += [figures_policy.policy(), figures_policy.binding()]
    if "monitor" in components:
        made += monitor_annotations(namespace)
    if "descheduler" in components:
        left_alone = fenced(namespace, excluded)
        made += descheduler_annotations(namespace, left_alone)
        made += scales(namespace, left_alone) + evictions(namespace, left_alone)
    if not {"scheduler", "descheduler"}.isdisjoint(components):
        made += reservations()
    return made + priorities(namespace)


def fenced(namespace: str, excluded: Sequence[str]) -> list[str]:
    """The namespaces in which the descheduler moves nothing."""
    return list(dict.fromkeys((*excluded, namespace, "kube-system")))
