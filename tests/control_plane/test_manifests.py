"""What ``ecotone manifests`` prints, on a real API server: accepted strictly, and narrower than roles can be."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from control_plane.cluster import Cluster, Refused, collection
from control_plane.objects import deployment, node, pod
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone

NAMESPACE = "kube-system"
MONITOR = f"system:serviceaccount:{NAMESPACE}:ecotone-monitor"
DESCHEDULER = f"system:serviceaccount:{NAMESPACE}:ecotone-descheduler"
MERGE = "application/merge-patch+json"
STRICT = "fieldValidation=Strict"
PROXIES = ("--front-end", "default/front-end:8079", "--external", "orders-db=db.example:5432", "-n", "default")


def printed(cluster: Cluster, *arguments: str) -> list[dict[str, Any]]:
    code, text, problems = run_ecotone(cluster, "manifests", *arguments)
    assert code == 0, problems
    return list(yaml.safe_load_all(text))


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(keeps_figures=False)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    """CRDs, accounts, roles and policies, as printed; the policies at work."""
    for one in printed(cluster, "crds", "rbac", "priorities", "admission"):
        cluster.call("POST", f"{collection(one)}?{STRICT}", one)
    cluster.create(node("guarded"), deployment("guarded", replicas=0))

    def at_work() -> bool:
        try:
            change(cluster, "/api/v1/nodes/guarded", {"spec": {"unschedulable": True}}, by=MONITOR)
        except Refused as refused:
            return refused.status in (403, 422) and "may change nothing here" in str(refused)
        change(cluster, "/api/v1/nodes/guarded", {"spec": {"unschedulable": None}}, by=None)
        return False

    wait_until(at_work, timeout=60, what="admission policies", every=0.2)
    return cluster


def change(cluster: Cluster, path: str, body: dict[str, Any], *, by: str | None) -> Any:
    return cluster.call("PATCH", path, body, content_type=MERGE, acting_as=by)


def annotate(cluster: Cluster, path: str, key: str, value: str | None, *, by: str) -> Any:
    return change(cluster, path, {"metadata": {"annotations": {key: value}}}, by=by)


def test_the_api_server_accepts_everything_strictly(installed: Cluster) -> None:
    for one in [*printed(installed), *printed(installed, "extender"), *printed(installed, *PROXIES)]:
        body = copy.deepcopy(one)
        path = collection(body)
        query = f"dryRun=All&{STRICT}&fieldManager=test&force=true"
        answer = installed.call(
            "PATCH", f"{path}/{body['metadata']['name']}?{query}", body, content_type="application/apply-patch+yaml"
        )
        assert answer["metadata"]["name"] == one["metadata"]["name"]


def test_the_strict_check_can_fail(installed: Cluster) -> None:
    one = next(one for one in printed(installed, "monitor") if one["kind"] == "Deployment")
    one["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(Refused, match="imagee"):
        installed.call("POST", f"{collection(one)}?dryRun=All&{STRICT}", one)


@pytest.mark.parametrize("path", ["/api/v1/nodes/guarded", "/apis/apps/v1/namespaces/default/deployments/guarded"])
def test_the_monitor_may_write_its_annotations_and_nothing_else(installed: Cluster, path: str) -> None:
    annotate(installed, path, "ecotone.dev/measured-at", "2026-01-01T00:00:00Z", by=MONITOR)
    annotate(installed, path, "ecotone.dev/measured-at", None, by=MONITOR)
    change(installed, path, {"metadata": {"annotations": {"example.test/own": "kept"}}}, by=None)
    refused: list[dict[str, Any]] = [
        {"metadata": {"annotations": {"example.test/own": "changed"}}},
        {"metadata": {"annotations": {"example.test/own": None}}},
        {"metadata": {"annotations": {"example.test/new": "x"}}},
        {"metadata": {"labels": {"example.test/new": "x"}}},
        {"metadata": {"finalizers": ["example.test/held"]}},
        {"spec": {"unschedulable": True}} if "nodes" in path else {"spec": {"replicas": 7}},
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}} if "nodes" in path else {"spec": {"paused": True}},
    ]
    for body in refused:
        with pytest.raises(Refused, match="may change nothing here"):
            change(installed, path, body, by=MONITOR)
    for body in refused[-2:]:
        change(installed, path, body, by=None)


def test_the_descheduler_marks_pods_and_records_surges_and_no_more(installed: Cluster) -> None:
    installed.create(pod("marked"))
    path = "/api/v1/namespaces/default/pods/marked"
    annotate(installed, path, "controller.kubernetes.io/pod-deletion-cost", "-5", by=DESCHEDULER)
    for key in ("ecotone.dev/why", "cluster-autoscaler.kubernetes.io/safe-to-evict"):
        with pytest.raises(Refused, match="may change nothing here"):
            annotate(installed, path, key, "x", by=DESCHEDULER)
    workload = "/apis/apps/v1/namespaces/default/deployments/guarded"
    annotate(installed, workload, "ecotone.dev/surge", "{}", by=DESCHEDULER)
    with pytest.raises(Refused, match="may change nothing here"):
        change(installed, workload, {"spec": {"minReadySeconds": 5}}, by=DESCHEDULER)


def test_cleanup_takes_off_what_was_written_and_leaves_what_owners_wrote(installed: Cluster) -> None:
    written = {"ecotone.dev/latencies": "{}", "ecotone.dev/measured-at": "x", "example.test/kept": "1"}
    change(installed, "/api/v1/nodes/guarded", {"metadata": {"annotations": written}}, by=None)
    workload = "/apis/apps/v1/namespaces/default/deployments/guarded"
    own = {"ecotone.dev/traffic": "{}", "ecotone.dev/edge-share": "0.5"}
    change(installed, workload, {"metadata": {"annotations": own}}, by=None)
    copies = "/apis/apps/v1/namespaces/default/replicasets"

    def copied() -> bool:
        return any("ecotone.dev/traffic" in one["metadata"].get("annotations", {}) for one in installed.list(copies))

    wait_until(copied, timeout=30, what="copy on the ReplicaSet")
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "ecotone-monitor", "namespace": NAMESPACE},
    }
    installed.create(lease)
    code, told, problems = run_ecotone(installed, "cleanup", "--dry-run")
    assert code == 0 and "would remove" in problems, problems
    assert run_ecotone(installed, "cleanup", "--dry-run")[1] == told
    code, done, problems = run_ecotone(installed, "cleanup")
    assert code == 0 and done == told, problems
    assert "lease kube-system/ecotone-monitor" in done and "node guarded: latencies, measured-at" in done
    left = installed.call("GET", "/api/v1/nodes/guarded")["metadata"]["annotations"]
    assert "example.test/kept" in left and not any(key.startswith("ecotone.dev/") for key in left)
    assert installed.call("GET", workload)["metadata"]["annotations"]["ecotone.dev/edge-share"] == "0.5"
    assert not copied()
    assert run_ecotone(installed, "cleanup")[1] == ""
