"""What the descheduler's and the monitor's roles allow and their policies do not; who holds places; how all of it goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from control_plane.admission import ADMINISTRATOR, MERGE, TENANT, binding, install, people, service_account, tried
from control_plane.cluster import Cluster, Refused, collection
from control_plane.objects import deployment, node, pod
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone
from ecotone.services.install.rbac import DESCHEDULER, MONITOR, SCHEDULER

DRY = "?dryRun=All"
PLACE = "ecotone-system"
EXCLUDED = "payroll"
MOVER, READER, PLACER = (service_account(name, PLACE) for name in (DESCHEDULER, MONITOR, SCHEDULER))


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(keeps_figures=False)
    people(cluster, "shop", PLACE, EXCLUDED)
    install(cluster, "-n", PLACE, "--exclude-namespace", EXCLUDED)
    cluster.create(node("n1"))
    for namespace in ("shop", "kube-system", PLACE, EXCLUDED):
        cluster.create(deployment("web", replicas=3, namespace=namespace), pod("one", namespace=namespace))
    yield cluster
    cluster.stop()


def scale(cluster: Cluster, replicas: int, who: str, *, namespace: str = "shop") -> str:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    body = cluster.call("GET", path)
    body["spec"]["replicas"] = replicas
    return tried(cluster, "PUT", path + DRY, body, acting_as=who)


def evict(cluster: Cluster, who: str, *, namespace: str) -> str:
    meta = {"name": "one", "namespace": namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": {"dryRun": ["All"]}}
    return tried(cluster, "POST", f"/api/v1/namespaces/{namespace}/pods/one/eviction{DRY}", body, acting_as=who)


def annotate(cluster: Cluster, path: str, key: str, value: str, who: str) -> str:
    body = {"metadata": {"annotations": {key: value}}}
    return tried(cluster, "PATCH", path + DRY, body, content_type=MERGE, acting_as=who)


def test_the_descheduler_scales_by_one_and_never_to_nothing(cluster: Cluster) -> None:
    assert scale(cluster, 4, MOVER) == "" and scale(cluster, 2, MOVER) == "" and scale(cluster, 3, MOVER) == ""
    for replicas in (0, 1, 5, 500):
        assert "descheduler" in scale(cluster, replicas, MOVER), replicas
    assert scale(cluster, 500, TENANT) == "", "people scale as they like"


def test_the_last_replica_stays(cluster: Cluster) -> None:
    cluster.create(deployment("single", replicas=1, namespace="shop"))
    path = "/apis/apps/v1/namespaces/shop/deployments/single/scale"
    body = cluster.call("GET", path)
    del body["metadata"]["resourceVersion"]
    body["spec"]["replicas"] = 0
    assert "never scales to nothing" in tried(cluster, "PUT", path + DRY, body, acting_as=MOVER)
    body["spec"]["replicas"] = 2
    assert tried(cluster, "PUT", path + DRY, body, acting_as=MOVER) == ""


@pytest.mark.parametrize("namespace", ["kube-system", PLACE, EXCLUDED])
def test_nothing_is_scaled_evicted_or_marked_where_nothing_may_move(cluster: Cluster, namespace: str) -> None:
    assert "in this namespace" in scale(cluster, 4, MOVER, namespace=namespace)
    assert "in this namespace" in evict(cluster, MOVER, namespace=namespace)
    web = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    assert "in this namespace" in annotate(cluster, web, "ecotone.dev/surge", "{}", MOVER)
    one = f"/api/v1/namespaces/{namespace}/pods/one"
    assert "in this namespace" in annotate(cluster, one, "controller.kubernetes.io/pod-deletion-cost", "-9", MOVER)


def test_elsewhere_it_evicts_and_records(cluster: Cluster) -> None:
    assert evict(cluster, MOVER, namespace="shop") == ""
    web = "/apis/apps/v1/namespaces/shop/deployments/web"
    assert annotate(cluster, web, "ecotone.dev/surge", "{}", MOVER) == ""
    assert "nothing here but its own" in annotate(cluster, web, "ecotone.dev/max-latency", "1ms", MOVER)


def test_the_monitor_writes_what_it_measures_and_no_other_key_of_ours(cluster: Cluster) -> None:
    web = "/apis/apps/v1/namespaces/shop/deployments/web"
    assert annotate(cluster, web, "ecotone.dev/traffic", '{"db": 5}', READER) == ""
    for key in ("surge", "max-latency", "affinity", "edge-share", "descheduling", "freeze"):
        assert "nothing here but its own" in annotate(cluster, web, f"ecotone.dev/{key}", "1", READER), key
    here = "/api/v1/nodes/n1"
    assert annotate(cluster, here, "ecotone.dev/available-cpu", "1", READER) == ""
    for key in ("ecotone.dev/tier", "ecotone.dev/price-per-hour"):
        assert "nothing here but its own" in annotate(cluster, here, key, "1", READER), key
        body = {"metadata": {"labels": {key: "1"}}}
        told = tried(cluster, "PATCH", here + DRY, body, content_type=MERGE, acting_as=READER)
        assert "nothing here but its own" in told, key


def reservation(name: str, namespace: str = "shop") -> dict[str, Any]:
    spec = {"kind": "Deployment", "workload": "web", "node": "n1", "replacesUID": name}
    meta = {"name": name, "namespace": namespace}
    spec["expires"] = "2100-01-01T00:00:00Z"
    return {"apiVersion": "ecotone.dev/v1alpha1", "kind": "Reservation", "metadata": meta, "spec": spec}


def test_places_are_held_by_the_descheduler_and_by_who_may_do_anything(cluster: Cluster) -> None:
    """The tenant has every verb on every resource of ours, in his own namespace."""
    one = reservation("held")
    for who in (MOVER, ADMINISTRATOR, "admin"):
        assert attempt(cluster, one, who) == "", who
    assert "only ecotone's programs" in attempt(cluster, one, TENANT)


def attempt(cluster: Cluster, one: dict[str, Any], who: str) -> str:
    return tried(cluster, "POST", collection(one) + DRY, one, acting_as=None if who == "admin" else who)


def test_who_took_a_place_is_told_by_the_scheduler_alone(cluster: Cluster) -> None:
    one = reservation("taken")
    cluster.call("POST", collection(one), one)
    path = f"{collection(one)}/taken/status{DRY}"
    body = {"status": {"takenBy": "somebody"}}
    told = tried(cluster, "PATCH", path, body, content_type=MERGE, acting_as=TENANT)
    assert "only ecotone's programs" in told
    cluster.call("PATCH", path, body, content_type=MERGE, acting_as=PLACER)


@pytest.mark.parametrize("who", [ADMINISTRATOR, service_account("namespace-controller"), "operator-of-no-name"])
def test_reservations_are_removed_by_whoever_rbac_lets(cluster: Cluster, who: str) -> None:
    one = reservation("in-the-way")
    tried(cluster, "POST", collection(one), one)
    if who == "operator-of-no-name":
        cluster.create(binding("RoleBinding", who, "cluster-admin", namespace="shop"))
    cluster.call("DELETE", f"{collection(one)}/in-the-way", acting_as=who)


@pytest.mark.parametrize("name", ["ecotone-control", "ecotone-node"])
def test_our_priorities_stay_in_our_namespace(cluster: Cluster, name: str) -> None:
    urgent = pod("urgent", namespace="shop", priorityClassName=name)
    assert "belong to namespace" in attempt(cluster, urgent, TENANT)
    assert "belong to namespace" in attempt(cluster, urgent, ADMINISTRATOR)
    assert attempt(cluster, pod("own", namespace=PLACE, priorityClassName=name), ADMINISTRATOR) == ""
    assert attempt(cluster, pod("plain", namespace="shop"), TENANT) == ""


def test_a_namespace_with_reservations_goes_and_so_does_the_installation(start_cluster: Callable[..., Cluster]) -> None:
    """Its controllers work under accounts of their own, which no group lifts above the policies."""
    cluster = start_cluster(keeps_figures=False)
    try:
        people(cluster, "leaving", "staying")
        install(cluster)
        cluster.create(reservation("held", "leaving"), reservation("held", "staying"))
        cluster.call("DELETE", "/api/v1/namespaces/leaving", acting_as=ADMINISTRATOR)
        wait_until(
            lambda: gone(cluster, "/api/v1/namespaces/leaving"), timeout=60, what="namespace without reservation"
        )
        code, printed, problems = run_ecotone(
            cluster, "manifests", "crds", "rbac", "priorities", "admission", "-o", "json"
        )
        assert code == 0, problems
        for one in json.loads(printed)["items"]:
            cluster.call("DELETE", f"{collection(one)}/{one['metadata']['name']}", acting_as=ADMINISTRATOR)
        wait_until(lambda: not crds(cluster), timeout=60, what="no custom resources")
        cluster.call("DELETE", "/api/v1/namespaces/staying", acting_as=ADMINISTRATOR)
        wait_until(lambda: gone(cluster, "/api/v1/namespaces/staying"), timeout=60, what="namespace after removal")
    finally:
        cluster.stop()


def crds(cluster: Cluster) -> list[dict[str, Any]]:
    return cluster.list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")


def gone(cluster: Cluster, path: str) -> bool:
    try:
        cluster.call("GET", path)
    except Refused as answer:
        return answer.status == 404
    return False
