"""The closed loop's programs: the monitor that writes what was measured, the descheduler that moves, the probe on every
node that measures the network.

The probe runs on the pod network, towards its peers' pod addresses: that is the way services' requests take, and the
sysctl that lets a process without privileges send ICMP (``ping_group_range``) is refused together with ``hostNetwork``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.services.install.files import Files, give
from ecotone.services.install.network import network_policy
from ecotone.services.install.rbac import DESCHEDULER, MONITOR, PROBE
from ecotone.services.install.workloads import (
    CONTROL_PRIORITY,
    IMAGE,
    NODE_PRIORITY,
    USER,
    budget,
    container,
    daemon_set,
    deployment,
    pod,
    resources,
)

MONITOR_PORT = 10363
DESCHEDULER_PORT = 10364
PROBE_PORT = 9464
NO_FILES = Files()
PROMETHEUS = "http://prometheus-operated.monitoring.svc:9090"
REPORTERS = ("monitoring/node-exporter", "istio-system/ztunnel")
"""Who reports for others in many clusters; where they are called otherwise, nothing of them is believed."""


def monitor(
    *,
    namespace: str = "kube-system",
    image: str = IMAGE,
    prometheus: str = PROMETHEUS,
    reporters: Sequence[str] = REPORTERS,
    trust: Sequence[str] = (),
    files: Files = NO_FILES,
    replicas: int = 2,
) -> list[dict[str, Any]]:
    arguments = [
        "serve",
        "monitor",
        f"--prometheus={prometheus}",
        f"--probe={namespace}/{PROBE}",
        f"--reporter={','.join(reporters)}",
        *trust,
        "--leader-elect",
        f"--lease-namespace={namespace}",
        f"--listen=0.0.0.0:{MONITOR_PORT}",
    ]
    needs = resources(cpu="50m", memory="128Mi", memory_limit="1Gi")
    main = container(arguments, image=image, port=MONITOR_PORT, needs=needs)
    read = ("prometheus_token", "prometheus_ca", "metrics_token")
    spec = give(pod([main], account=MONITOR, priority=CONTROL_PRIORITY), files, read=read)
    return _replicated(MONITOR, spec, namespace=namespace, port=MONITOR_PORT, replicas=replicas)


def descheduler(
    *,
    namespace: str = "kube-system",
    image: str = IMAGE,
    policy: str = "ecotone",
    scheduler_name: str = "ecotone",
    files: Files = NO_FILES,
    replicas: int = 2,
    excluded: Sequence[str] = (),
    move_only_in: Sequence[str] = (),
) -> list[dict[str, Any]]:
    arguments = [
        "serve",
        "descheduler",
        f"--policy={policy}",
        f"--scheduler-name={scheduler_name}",
        "--leader-elect",
        f"--lease-namespace={namespace}",
        f"--listen=0.0.0.0:{DESCHEDULER_PORT}",
        *(f"--exclude-namespace={name}" for name in excluded),
        *(f"--only-namespace={name}" for name in move_only_in),
    ]
    needs = resources(cpu="50m", memory="256Mi", memory_limit="2Gi")
    main = container(arguments, image=image, port=DESCHEDULER_PORT, needs=needs)
    spec = give(pod([main], account=DESCHEDULER, priority=CONTROL_PRIORITY), files, read=("metrics_token",))
    return _replicated(DESCHEDULER, spec, namespace=namespace, port=DESCHEDULER_PORT, replicas=replicas)


def _replicated(name: str, spec: dict[str, Any], *, namespace: str, port: int, replicas: int) -> list[dict[str, Any]]:
    return [
        deployment(name, spec, namespace=namespace, replicas=replicas),
        budget(name, namespace=namespace),
        network_policy(name, namespace=namespace, port=port),
    ]


def probe(*, namespace: str = "kube-system", image: str = IMAGE) -> list[dict[str, Any]]:
    arguments = ["serve", "probe", f"--listen=0.0.0.0:{PROBE_PORT}", f"--selector=app.kubernetes.io/name={PROBE}"]
    env = [
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
    ]
    needs = resources(cpu="20m", memory="96Mi", memory_limit="256Mi")
    main = container(arguments, image=image, port=PROBE_PORT, needs=needs, env=env)
    pings = [{"name": "net.ipv4.ping_group_range", "value": f"{USER} {USER}"}]
    spec = pod([main], account=PROBE, priority=NODE_PRIORITY, sysctls=pings)
    policy = network_policy(PROBE, namespace=namespace, port=PROBE_PORT)
    # Policies cannot name ICMP; a rule without ports admits all that the other probes send.
    policy["spec"]["ingress"].append({"from": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": PROBE}}}]})
    return [daemon_set(PROBE, spec, namespace=namespace), policy]
