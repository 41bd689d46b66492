"""Measured keys have a writer: the printed policy on a real API server, tried by those it lets through and those it stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from control_plane.admission import ADMINISTRATOR, MERGE, TENANT, install, people, service_account, tried
from control_plane.cluster import Cluster, collection
from control_plane.objects import deployment, node, pod
from ecotone.manifests import figures_policy, measured_keys
from ecotone.services.install.rbac import DESCHEDULER, MONITOR

REASON = "measured keys are written by ecotone's monitor"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
SPELLINGS = (*measured_keys.OURS, *measured_keys.THEIRS, *(f"{prefix}peer" for prefix in measured_keys.PREFIXES))
DRY = "?dryRun=All"


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(keeps_figures=False)
    people(cluster, "shop")
    install(cluster)
    yield cluster
    cluster.stop()


def workload(kind: str, **template: Any) -> dict[str, Any]:
    made = deployment("web", namespace="shop")
    spec, version = made["spec"], "apps/v1"
    spec["template"]["metadata"] |= template
    if kind in ("ReplicationController", "ReplicaSet", "DaemonSet", "StatefulSet"):
        spec.pop("replicas")
    if kind == "StatefulSet":
        spec["serviceName"] = "web"
    if kind == "ReplicationController":
        version, spec["selector"] = "v1", {"app": "web"}
    if kind in ("Job", "CronJob"):
        version = "batch/v1"
        spec["template"]["spec"]["restartPolicy"] = "Never"
        spec = {"template": spec["template"]}
    if kind == "CronJob":
        spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}}
    return {**made, "apiVersion": version, "kind": kind, "spec": spec}


def create(cluster: Cluster, one: dict[str, Any], who: str) -> str:
    return tried(cluster, "POST", collection(one) + DRY, one, acting_as=who)


def patch(cluster: Cluster, path: str, metadata: dict[str, Any], who: str) -> str:
    return tried(cluster, "PATCH", path + DRY, {"metadata": metadata}, content_type=MERGE, acting_as=who)


KINDS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")


@pytest.mark.parametrize("kind", KINDS)
def test_a_tenant_creates_no_workload_with_figures_on_it_or_on_its_pods(cluster: Cluster, kind: str) -> None:
    said = {"annotations": {"ecotone.dev/cpu-usage": "7000m"}}
    assert create(cluster, workload(kind), TENANT) == ""
    assert REASON in create(cluster, workload(kind, **said), TENANT)
    above = workload(kind)
    above["metadata"] |= said
    assert REASON in create(cluster, above, TENANT)
    if kind == "CronJob":
        jobs = workload(kind)
        jobs["spec"]["jobTemplate"]["metadata"] = said
        assert REASON in create(cluster, jobs, TENANT)


@pytest.mark.parametrize("field", ["annotations", "labels"])
@pytest.mark.parametrize("key", SPELLINGS)
def test_every_spelling_is_refused_as_annotation_and_as_label(cluster: Cluster, key: str, field: str) -> None:
    one = pod("bare", namespace="shop")
    one["metadata"][field] = {key: "7"}
    assert REASON in create(cluster, one, TENANT)


def test_names_like_the_published_ones_that_hold_no_figure_pass(cluster: Cluster) -> None:
    notes = {"traffic-policy": "strict", "l-team": "red", "ecotone.dev/affinity": '{"db": 5}', "saff-db": "3"}
    labels = {"ecotone.dev/index": "2", "index": "2", "traffic-class": "gold"}
    assert create(cluster, pod("bare", namespace="shop", annotations=notes, labels=labels), TENANT) == ""


@pytest.fixture
def measured(cluster: Cluster) -> Iterator[str]:
    """A Deployment with the monitor's figures on it."""
    cluster.call("POST", DEPLOYMENTS, deployment("front", namespace="shop"), acting_as=TENANT)
    path = f"{DEPLOYMENTS}/front"
    told = {"ecotone.dev/cpu-usage": "20m", "ecotone.dev/measured-at": "2030-01-01T00:00:00Z"}
    body = {"metadata": {"annotations": told}}
    cluster.call("PATCH", path, body, content_type=MERGE, acting_as=service_account(MONITOR))
    yield path
    cluster.call("DELETE", path)


def test_the_monitor_writes_and_the_owner_goes_on_with_what_stands_there(cluster: Cluster, measured: str) -> None:
    whole = cluster.call("GET", measured)
    whole["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/next"
    del whole["metadata"]["resourceVersion"]
    cluster.call("PUT", measured + DRY, whole, acting_as=TENANT)
    assert REASON in patch(cluster, measured, {"annotations": {"ecotone.dev/cpu-usage": "7000m"}}, TENANT)
    assert REASON in patch(
        cluster, measured, {"annotations": {"ecotone.dev/measured-at": "2031-01-01T00:00:00Z"}}, TENANT
    )
    assert REASON in patch(cluster, f"{measured}/status", {"annotations": {"ecotone.dev/cpu-usage": "7"}}, TENANT)


def test_the_owner_takes_figures_off_but_never_their_time_alone(cluster: Cluster, measured: str) -> None:
    both = {"ecotone.dev/cpu-usage": None, "ecotone.dev/measured-at": None}
    assert patch(cluster, measured, {"annotations": both}, TENANT) == ""
    assert patch(cluster, measured, {"annotations": {"ecotone.dev/cpu-usage": None}}, TENANT) == ""
    told = patch(cluster, measured, {"annotations": {"ecotone.dev/measured-at": None}}, TENANT)
    assert "together with their times" in told


def test_an_administrator_and_the_controllers_that_copy_may_write(cluster: Cluster, measured: str) -> None:
    notes = {"annotations": {"ecotone.dev/cpu-usage": "30m"}}
    assert patch(cluster, measured, notes, ADMINISTRATOR) == ""
    copied = workload("ReplicaSet", **notes)
    copied["metadata"] |= notes
    assert create(cluster, copied, service_account("deployment-controller")) == ""
    # RBAC gives this name few rights of its own; the policy is not what stops it.
    assert REASON not in create(cluster, copied, "system:kube-controller-manager")
    assert create(cluster, copied, service_account("deployment-controller", "shop")) != ""


def test_pods_are_made_of_a_measured_deployment(cluster: Cluster, measured: str) -> None:
    """The controllers of this cluster work under a name that may do anything; what they copy is there all the same."""
    sets = cluster.list("/apis/apps/v1/namespaces/shop/replicasets")
    assert any(one["metadata"]["ownerReferences"][0]["name"] == "front" for one in sets)


def test_nobody_but_the_monitor_tells_of_nodes_not_even_their_kubelets(cluster: Cluster) -> None:
    cluster.create(node("n1"))
    said = {"annotations": {"ecotone.dev/available-cpu": "10m"}}
    for path in ("/api/v1/nodes/n1", "/api/v1/nodes/n1/status"):
        assert REASON in patch_as_kubelet(cluster, path, said)
    assert patch_as_kubelet(cluster, "/api/v1/nodes/n1/status", {"annotations": {"mine": "1"}}) == ""
    assert patch(cluster, "/api/v1/nodes/n1", said, service_account(MONITOR)) == ""


def patch_as_kubelet(cluster: Cluster, path: str, metadata: dict[str, Any]) -> str:
    rules = [{"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["get", "patch"]}]
    kubelet = "system:node:n1"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "kubelets"}}
    bound = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kubelets"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubelets"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": kubelet}],
    }
    for one in ({**role, "rules": rules}, bound):
        tried(cluster, "POST", collection(one), one)
    return patch(cluster, path, metadata, kubelet)


def test_a_binding_brings_no_figures_to_a_pod(cluster: Cluster) -> None:
    cluster.call("POST", "/api/v1/namespaces/shop/pods", pod("waits", namespace="shop"), acting_as=TENANT)
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "waits"}, "target": target}
    body["metadata"]["annotations"] = {"ecotone.dev/cpu-usage": "7000m"}
    path = "/api/v1/namespaces/shop/pods/waits/binding"
    assert REASON in tried(cluster, "POST", path, body, acting_as=TENANT)
    body["metadata"]["annotations"] = {"ecotone.dev/why": "near its peer"}
    assert tried(cluster, "POST", path, body, acting_as=TENANT) == ""


def test_a_group_keeps_the_monitors_figures_and_others_write_the_rest_of_its_status(cluster: Cluster) -> None:
    path = "/apis/ecotone.dev/v1alpha1/namespaces/shop/appgroups"
    group = {
        "apiVersion": "ecotone.dev/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": "shop"},
        "spec": {"name": "shop"},
    }
    cluster.call("POST", path, group, acting_as=TENANT)
    figures = {"status": {"workloads": {"Deployment/front": {"ecotone.dev/cpu-usage": "7000m"}}}}

    def write(status: dict[str, Any], who: str) -> str:
        where = f"{path}/shop/status"
        return tried(cluster, "PATCH", where + DRY, status, content_type=MERGE, acting_as=who)

    assert "figures in an AppGroup's status" in write(figures, TENANT)
    assert "figures in an AppGroup's status" in write(figures, service_account(DESCHEDULER))
    assert write(figures, service_account(MONITOR)) == ""
    assert write({"status": {"moves": []}}, service_account(DESCHEDULER)) == ""


def test_what_the_api_server_has_of_the_policy_is_recognised(cluster: Cluster) -> None:
    root = "/apis/admissionregistration.k8s.io/v1"
    found = cluster.call("GET", f"{root}/validatingadmissionpolicies/{figures_policy.NAME}")
    bound = cluster.call("GET", f"{root}/validatingadmissionpolicybindings/{figures_policy.NAME}")
    assert figures_policy.why_not(found, bound) is None
    warnings = found.get("status", {}).get("typeChecking", {}).get("expressionWarnings", [])
    assert not warnings, json.dumps(warnings)


def test_an_object_with_very_many_keys_is_judged_within_the_servers_limits(cluster: Cluster) -> None:
    notes = {f"example.test/key-{number:04}": "x" * 40 for number in range(1500)}
    many = pod("many", namespace="shop", annotations=notes)
    assert create(cluster, many, TENANT) == ""
    many["metadata"]["annotations"]["ecotone.dev/traffic"] = '{"db": 5}'
    assert REASON in create(cluster, many, TENANT)
