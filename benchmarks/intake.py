"""Taking objects in: what a node, a listed pod and a pod's binding cost, from the bytes of the API to the live cache.

In process and without a server: the answers of an API server are made up first, then delivered as a list would be. The
goal is 50,000 pods in under 5 s.

    python -m benchmarks.intake --nodes 5000 --pods 50000
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.reading.reflector import Reflector
from ecotone.manifests import wire
from ecotone.manifests.store import ObjectStore
from ecotone.model.state import ClusterState
from ecotone.services.feeds import KindSink, LeftOut
from ecotone.services.live_cache import LiveCache

SMALL = {"nodes": 50, "pods": 500}
CREATED = "2026-01-01T00:00:00Z"


def _managed(*fields: str) -> list[dict[str, Any]]:
    """What no decision reads and every answer carries."""
    return [{"manager": "m", "operation": "Update", "time": CREATED, "fieldsV1": {f"f:{each}": {} for each in fields}}]


def _node(number: int) -> dict[str, Any]:
    room = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    name = f"node-{number:05}"
    return {
        "metadata": {
            "name": name,
            "uid": f"node-uid-{number}",
            "resourceVersion": str(number),
            "creationTimestamp": CREATED,
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 20}"},
            "managedFields": _managed("metadata", "status"),
        },
        "spec": {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": CREATED}],
        },
    }


def _pod(number: int, *, node: str | None) -> dict[str, Any]:
    away = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for why in ("not-ready", "unreachable")
    ]
    requests = {"cpu": "100m", "memory": "128Mi"}
    container = {"name": "main", "image": "registry.test/none", "resources": {"requests": requests}}
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": CREATED}
    return {
        "metadata": {
            "name": f"bare-{number:05}",
            "namespace": "default",
            "uid": f"pod-uid-{number}",
            "resourceVersion": f"{number}" if node is None else f"1{number}",
            "creationTimestamp": CREATED,
            "annotations": {} if node is None else {"ecotone.dev/why": "best of 5000 feasible nodes"},
            "managedFields": _managed("metadata", "spec", "status"),
        },
        "spec": {
            "containers": [container],
            "schedulerName": "ecotone",
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "tolerations": away,
            **({} if node is None else {"nodeName": node}),
        },
        "status": {"phase": "Pending", "conditions": [] if node is None else [bound]},
    }


def _raw(given: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(given))


def results(nodes: int = 5_000, pods: int = 50_000) -> dict[str, float]:
    """CPU seconds of each step, and microseconds an object."""
    cache = LiveCache(ClusterState())
    store = ObjectStore(cache)
    nobody = cast(ApiClient, None)
    mirrors = {
        each.kind: Reflector(nobody, each, wire.KINDS[each.kind].shape, KindSink(each.kind, store, LeftOut()))
        for each in (resources.NODES, resources.PODS)
    }
    named = [f"node-{number:05}" for number in range(nodes)]
    answers = {
        "nodes": ("Node", [_raw(_node(number)) for number in range(nodes)]),
        "pods": ("Pod", [_raw(_pod(number, node=None)) for number in range(pods)]),
        "bindings": ("Pod", [_raw(_pod(number, node=named[number % nodes])) for number in range(pods)]),
    }
    gc.collect()
    gc.freeze()
    found: dict[str, float] = {}
    for step, (kind, raws) in answers.items():
        spent = _cpu(lambda kind=kind, raws=raws: (mirrors[kind].deliver(raws), cache.settle_nodes()))
        found[f"{step}_seconds"] = round(spent, 3)
        found[f"{step}_us_each"] = round(1e6 * spent / len(raws), 1)
    gc.unfreeze()
    return found


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    options = parser.parse_args(arguments)
    print(json.dumps(results(options.nodes, options.pods), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
