"""The fixture itself: a real cluster, kubelets faked by kwok, that evicts by the book and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from control_plane.cluster import Cluster, Refused
from control_plane.objects import deployment, node
from control_plane.processes import wait_until


def test_kwok_keeps_nodes_ready_and_a_budget_limits_real_evictions(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster(kwok=True)
    cluster.create(node("fake-1", spec={}), node("fake-2"))
    scheduler = cluster.start_kube_scheduler()
    web = deployment("web", replicas=4, scheduler="default-scheduler")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
    }
    cluster.create(web, budget)

    def running() -> bool:
        return sum(pod["status"].get("phase") == "Running" for pod in cluster.pods()) == 4

    wait_until(running, timeout=60, what="four running pods", child=scheduler)
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web"
    wait_until(lambda: cluster.call("GET", path)["status"]["disruptionsAllowed"] == 1, timeout=30, what="budget")
    scheduler.stop()

    def evict(name: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
        cluster.call("POST", f"/api/v1/namespaces/default/pods/{name}/eviction", body)

    names = [pod["metadata"]["name"] for pod in cluster.pods()]
    evict(names[0])
    with pytest.raises(Refused) as refused:
        evict(names[1])
    assert refused.value.status == 429
    children = list(cluster._children)
    cluster.stop()
    assert not any(child.running for child in children)
