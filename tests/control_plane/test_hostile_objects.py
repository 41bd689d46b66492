"""A tenant who may only create pods in one namespace does no harm to anybody else, whatever he writes into them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from control_plane.cluster import Cluster, Refused
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from hostile_objects import NAMED, hostile_pod

NODES = ("n1", "n2", "n3")
SECOND = 1.0
RBAC = "rbac.authorization.k8s.io"


class Tenant:
    """A service account with the right to create pods in its own namespace, and to write figures: else few would get in."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.accepted = 0
        self.refusals: list[str] = []
        role = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": {"name": "builder", "namespace": "tenant"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}],
        }
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "builder", "namespace": "tenant"},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "builder"},
            "subjects": [{"kind": "ServiceAccount", "name": "builder", "namespace": "tenant"}],
        }
        cluster.call("POST", f"/apis/{RBAC}/v1/namespaces/tenant/roles", role)
        cluster.call("POST", f"/apis/{RBAC}/v1/namespaces/tenant/rolebindings", binding)
        self._may_write_figures()
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "builder"}}
        cluster.call("POST", "/api/v1/namespaces/tenant/serviceaccounts", account)
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = cluster.call("POST", "/api/v1/namespaces/tenant/serviceaccounts/builder/token", wanted)
        cluster.add_token("builder", answer["status"]["token"])

    def _may_write_figures(self) -> None:
        name = {"name": "builder-figures"}
        rule = {"apiGroups": ["ecotone.dev"], "resources": ["figures"], "verbs": ["write"]}
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": name, "rules": [rule]}
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", **name},
            "subjects": [{"kind": "ServiceAccount", "name": "builder", "namespace": "tenant"}],
        }
        self._cluster.call("POST", f"/apis/{RBAC}/v1/clusterroles", role)
        self._cluster.call("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)

    def create(self, given: dict[str, Any]) -> bool:
        """True if the API server accepted it."""
        try:
            self._cluster.call("POST", "/api/v1/namespaces/tenant/pods", given, user="builder")
        except Refused as error:
            # It must be the object that is refused, not the tenant.
            assert error.status in (400, 422), error
            self.refusals.append(str(error))
            return False
        self.accepted += 1
        return True

    def leave(self) -> None:
        self._cluster.call("DELETE", "/api/v1/namespaces/tenant/pods?gracePeriodSeconds=0")


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    for name in ("tenant", "victims"):
        shared_cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name in NODES:
        others = {other: 10.0 for other in NODES if other != name}
        notes = {"ecotone.dev/latencies": json.dumps(others)}
        room = {"cpu": "4000", "memory": "1Pi", "pods": "10000"}
        shared_cluster.create(node(name, **room, annotations=notes))
    return shared_cluster


@pytest.fixture(scope="module")
def tenant(cluster: Cluster) -> Tenant:
    return Tenant(cluster)


@pytest.fixture(scope="module")
def programs(cluster: Cluster) -> Iterator[tuple[Program, Program]]:
    both = (scheduler(cluster, policy="ecotone"), Program(cluster, "extender", "--policy=ecotone"))
    for program in both:
        program.wait_ready()
    yield both
    for program in both:
        assert program.stop() == 0


class Innocents:
    """Pods of another namespace, each bound within a second and judged by the extender."""

    def __init__(self, cluster: Cluster, programs: tuple[Program, Program]) -> None:
        self._cluster = cluster
        self._scheduler, self._extender = programs
        self._count = 0
        self.slowest = 0.0

    def one_more_is_bound_within_a_second(self) -> None:
        self._count += 1
        name = f"innocent-{self._count}"
        path = f"/api/v1/namespaces/victims/pods/{name}"
        started = time.monotonic()
        self._cluster.call(
            "POST", "/api/v1/namespaces/victims/pods", pod(name, namespace="victims", cpu="1m", memory="1Mi")
        )

        def bound() -> bool:
            return bool(self._cluster.call("GET", path)["spec"].get("nodeName"))

        wait_until(bound, timeout=SECOND, what=f"binding of {name}", child=self._scheduler.child, every=0.01)
        self.slowest = max(self.slowest, time.monotonic() - started)
        asked = {"Pod": pod("asked", namespace="victims"), "NodeNames": list(NODES)}
        assert {each["Host"] for each in self._extender.post("/prioritize", asked)} == set(NODES)
        self._cluster.call("DELETE", f"{path}?gracePeriodSeconds=0")


@pytest.fixture
def innocents(cluster: Cluster, programs: tuple[Program, Program], tenant: Tenant) -> Iterator[Innocents]:
    innocents = Innocents(cluster, programs)
    innocents.one_more_is_bound_within_a_second()
    yield innocents
    tenant.leave()


def test_each_object_that_once_ended_a_scheduler(tenant: Tenant, innocents: Innocents) -> None:
    for given in NAMED.values():
        assert tenant.create(given)
        bound = {**given, "metadata": {**given["metadata"], "name": given["metadata"]["name"] + "-bound"}}
        assert tenant.create({**bound, "spec": {**bound["spec"], "nodeName": "n1"}})
        innocents.one_more_is_bound_within_a_second()


def _fuzz(count: int, tenant: Tenant, innocents: Innocents) -> None:
    luck = Random(count)
    before = tenant.accepted
    for number in range(count):
        given = hostile_pod(luck, f"hostile-{number}")
        if luck.random() < 0.2:
            given["spec"]["nodeName"] = "n1"
        tenant.create(given)
        innocents.one_more_is_bound_within_a_second()
        if number % 200 == 199:
            tenant.leave()
    assert tenant.accepted - before > count / 2, tenant.refusals


def test_a_sample_of_random_hostile_pods(tenant: Tenant, innocents: Innocents) -> None:
    _fuzz(40, tenant, innocents)


@pytest.mark.slow
def test_two_thousand_random_hostile_pods(tenant: Tenant, innocents: Innocents) -> None:
    _fuzz(2000, tenant, innocents)


def test_the_tenant_may_do_nothing_else(cluster: Cluster, tenant: Tenant) -> None:
    for method, path in (
        ("GET", "/api/v1/namespaces/tenant/pods"),
        ("GET", "/api/v1/nodes"),
        ("DELETE", "/api/v1/namespaces/victims/pods"),
    ):
        with pytest.raises(Refused) as refusal:
            cluster.call(method, path, user="builder")
        assert refusal.value.status == 403
    with pytest.raises(Refused) as refusal:
        cluster.call("POST", "/api/v1/namespaces/victims/pods", NAMED["traffic"], user="builder")
    assert refusal.value.status == 403
