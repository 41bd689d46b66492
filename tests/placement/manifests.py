"""The paper's scenarios as YAML that anybody could have exported from a cluster."""

import json

import yaml

from ecotone.placement.problem.instance import Instance
from ecotone.scheduling.plugins.pogonip.application import CONTROL_LABEL


def cluster_yaml(instance: Instance) -> str:
    documents = [_node(instance, i) for i in range(len(instance.hosts))]
    for application in instance.applications:
        for component in application.components:
            queue = component is application.queue
            name = f"{application.name}-{component.name}"
            labels = {"app": name, "app-group": application.name}
            if queue:
                labels["ecotone.dev/role"] = "message-queue"
            documents.append(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": name,
                        "namespace": "default",
                        "uid": f"uid-{name}",
                        "creationTimestamp": f"2021-09-05T12:{len(documents) // 60:02}:{len(documents) % 60:02}Z",
                        "labels": labels,
                        "annotations": {"ecotone.dev/max-latency": f"{application.max_delay_ms:g}ms"},
                    },
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": "taxi",
                                "resources": {
                                    "requests": {
                                        "cpu": f"{component.demand[0]}m",
                                        "memory": f"{component.demand[1] // 2**20}Mi",
                                    }
                                },
                            }
                        ]
                    },
                    "status": {"phase": "Pending"},
                }
            )
    return yaml.safe_dump_all(documents)


def _node(instance: Instance, i: int) -> dict[str, object]:
    host = instance.hosts[i]
    labels = {"ecotone.dev/tier": host.tier, "ecotone.dev/price-per-hour": f"{host.price:g}"}
    if host.name in instance.control:
        labels[CONTROL_LABEL] = ""
    delays = {other.name: float(instance.distance[i, k]) for k, other in enumerate(instance.hosts) if k != i}
    room = {"cpu": f"{host.free[0]}m", "memory": f"{host.free[1] // 2**20}Mi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": host.name, "labels": labels, "annotations": {"ecotone.dev/latencies": json.dumps(delays)}},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
