"""The scheduler's Deployment: two replicas with leader election, unprivileged, read-only, with probes."""

from __future__ import annotations

from typing import Any

from ecotone.services.install.network import network_policy
from ecotone.services.install.rbac import SCHEDULER
from ecotone.services.install.workloads import IMAGE, budget, container, deployment, pod, resources

PORT = 10360
NEEDS = resources(cpu="100m", memory="256Mi", memory_limit="2Gi")
"""Five thousand nodes and fifty thousand pods fit with room to spare."""


def scheduler(
    *,
    namespace: str = "kube-system",
    image: str = IMAGE,
    scheduler_name: str = "ecotone",
    policy: str = "ecotone",
    replicas: int = 2,
) -> list[dict[str, Any]]:
    arguments = [
        "serve",
        "scheduler",
        f"--scheduler-name={scheduler_name}",
        f"--policy={policy}",
        "--leader-elect",
        f"--lease-namespace={namespace}",
        f"--listen=0.0.0.0:{PORT}",
    ]
    main = container(arguments, image=image, port=PORT, needs=NEEDS)
    spec = pod([main], account=SCHEDULER, priority="system-cluster-critical")
    return [
        deployment(SCHEDULER, spec, namespace=namespace, replicas=replicas),
        budget(SCHEDULER, namespace=namespace),
        network_policy(SCHEDULER, namespace=namespace, port=PORT),
    ]
