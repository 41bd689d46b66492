"""A control plane that modules share is as new for each of them, or it is given up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from control_plane.closed_loop import GROUPS, app_group, install
from control_plane.cluster import Cluster, Refused
from control_plane.objects import claim, deployment, local_volume, node, pod, waiting_class
from control_plane.programs import run_ecotone, scheduler
from control_plane.sharing import Shared, everything
from control_plane.waiting import wait_bound

MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def own(start_cluster: Callable[..., Cluster]) -> Iterator[Shared]:
    """Not the workers': what is tried out here is meant to go wrong."""
    shared = Shared(lambda: start_cluster(controllers=False))
    yield shared
    with lent(shared) as cluster:
        cluster.stop()


@contextmanager
def lent(shared: Shared) -> Iterator[Cluster]:
    yield from shared.lend()


def admission(cluster: Cluster) -> Iterator[dict[str, Any]]:
    code, printed, problems = run_ecotone(cluster, "manifests", "admission", "-o", "json")
    assert code == 0, problems
    # One of them belongs to every test cluster.
    there = {path.rpartition("/")[2] for path in everything(cluster)}
    yield from (one for one in json.loads(printed)["items"] if one["metadata"]["name"] not in there)


def test_whatever_a_module_makes_is_gone_for_the_next_one(own: Shared) -> None:
    with lent(own) as cluster:
        before = set(everything(cluster))
        install(cluster)
        cluster.create(*admission(cluster))
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
        held = pod("held", namespace="elsewhere")
        held["metadata"]["finalizers"] = ["test.ecotone.dev/held"]
        cluster.create(node("n1"), pod("bound"), held, deployment("web"), waiting_class("local", "example.test/none"))
        cluster.create(local_volume("disk", "n1", "1Gi"))
        cluster.call("POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim("data", "local"))
        cluster.call("POST", GROUPS, app_group())
        program = scheduler(cluster)
        wait_bound(cluster, 1, child=program.child)
        assert len(set(everything(cluster)) - before) > 12
    assert not program.child.running
    with lent(own) as again:
        assert set(everything(again)) == before
        with pytest.raises(Refused):
            again.call("GET", GROUPS)
        install(again)
        again.call("POST", GROUPS, app_group())
    with lent(own) as last:
        assert last is cluster
    assert own.started == 1


def test_a_control_plane_that_is_not_as_it_was_is_given_up(own: Shared, caplog: pytest.LogCaptureFixture) -> None:
    before = own.started
    paths = ["/api/v1/namespaces/default", "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"]
    with lent(own) as cluster:
        for path in paths:
            left = {"metadata": {"labels": {"test.ecotone.dev/left": "behind"}}}
            cluster.call("PATCH", path, left, content_type=MERGE)
    assert f"not as it was: {', '.join(paths)}" in caplog.text
    with lent(own) as other:
        for path in paths:
            assert "test.ecotone.dev/left" not in other.call("GET", path)["metadata"].get("labels", {})
    assert own.started == before + 1 and other is not cluster
