"""What a cluster needs to run Ecotone, as objects for ``kubectl apply -f -``: each part in its own module.

A *component* is a program; a *part* is a group of objects. Parts that serve several components (rights, fairness,
admission) print only what the chosen components need, so that nobody is given a right for a program that does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ecotone.services.install.admission import admission_policies, fenced
from ecotone.services.install.alerts import rules
from ecotone.services.install.crds import crds
from ecotone.services.install.dashboards import dashboards
from ecotone.services.install.extender import extender, extender_configuration
from ecotone.services.install.fairness import flow_schemas
from ecotone.services.install.files import Files
from ecotone.services.install.loop import NO_FILES, PROMETHEUS, REPORTERS, descheduler, monitor, probe
from ecotone.services.install.proxies import input_proxy, output_proxy
from ecotone.services.install.rbac import DESCHEDULER, MONITOR, PROBE, SCHEDULER, rbac
from ecotone.services.install.scheduler import scheduler
from ecotone.services.install.workloads import IMAGE, priority_classes

Objects = list[dict[str, Any]]

COMPONENTS = {"scheduler": SCHEDULER, "monitor": MONITOR, "descheduler": DESCHEDULER, "probe": PROBE}
"""Programs of an ordinary installation, and their accounts."""
PARTS = (
    "crds", "rbac", "priorities", "fairness", "admission", *COMPONENTS, "rules", "dashboards", "extender",
)  # fmt: skip
ON_REQUEST = frozenset({"extender"})


def installation(
    parts: Sequence[str] = (),
    *,
    components: Sequence[str] = tuple(COMPONENTS),
    namespace: str = "kube-system",
    image: str = IMAGE,
    policy: str = "ecotone",
    scheduler_name: str = "ecotone",
    prometheus: str = PROMETHEUS,
    reporters: Sequence[str] = REPORTERS,
    trust: Sequence[str] = (),
    files: Files = NO_FILES,
    allow_from: Sequence[str] = (),
    excluded: Sequence[str] = (),
    move_only_in: Sequence[str] = (),
) -> Objects:
    """The objects of these parts (all but those on request if none is named), for these components.

    `excluded`: namespaces where nothing is moved. `move_only_in`: the only ones in which the descheduler gets rights to.
    """
    place: dict[str, Any] = {"namespace": namespace}
    program: dict[str, Any] = {**place, "image": image}
    makers: dict[str, Callable[[], Objects]] = {
        "crds": crds,
        "rbac": lambda: rbac(components, **place, move_only_in=move_only_in),
        "priorities": priority_classes,
        "fairness": lambda: flow_schemas([COMPONENTS[one] for one in components], **place),
        "admission": lambda: admission_policies(components, **place, excluded=excluded),
        "scheduler": lambda: scheduler(**program, scheduler_name=scheduler_name, policy=policy),
        "monitor": lambda: monitor(**program, prometheus=prometheus, reporters=reporters, trust=trust, files=files),
        "descheduler": lambda: descheduler(
            **program,
            scheduler_name=scheduler_name,
            policy=policy,
            files=files,
            excluded=fenced(namespace, excluded),
            move_only_in=move_only_in,
        ),
        "probe": lambda: probe(**program),
        "rules": lambda: rules(**place),
        "dashboards": lambda: dashboards(**place),
        "extender": lambda: extender(**program, policy=policy, allow_from=allow_from),
    }
    chosen = parts or [
        part for part in PARTS if part not in ON_REQUEST and (part not in COMPONENTS or part in components)
    ]
    return [one for part in chosen for one in makers[part]()]


__all__ = [
    "COMPONENTS",
    "PARTS",
    "PROMETHEUS",
    "REPORTERS",
    "Files",
    "Objects",
    "crds",
    "extender_configuration",
    "input_proxy",
    "installation",
    "output_proxy",
]
