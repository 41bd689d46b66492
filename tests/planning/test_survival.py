"""What a cluster survives: by node and zone, whom the loss takes, and what share of requests fails until they are replaced."""

from __future__ import annotations

import pytest

from builders import cluster, node, pod
from descheduling.applications import nodes, put
from ecotone.model.state import ClusterState
from ecotone.planning.survival import Survival, survival_of
from ecotone.scheduling.costs.channels import UNAWAITED
from ecotone.scheduling.costs.deadlines import DEFAULT


def survival(state: ClusterState, namespace: str | None = None) -> Survival:
    return survival_of(state, lateness=DEFAULT, unawaited=UNAWAITED, namespace=namespace)


def test_who_stands_on_one_node_or_in_one_zone_goes_with_it() -> None:
    places = {"a1": "a", "a2": "a", "b1": "b"}
    state = cluster(
        [node(name, zone=zone) for name, zone in places.items()],
        [
            pod("web-0", node="a1"), pod("web-1", node="a1"), pod("api-0", node="a1"), pod("api-1", node="a2"),
            pod("db-0", node="a2"), pod("db-1", node="b1"),
        ],
    )  # fmt: skip
    found = survival(state)
    assert found.nodes == {"a1": ("default/web",)}
    assert found.zones == {"a": ("default/api", "default/web")}
    assert str(found) == ("survives the loss of any node: no (default/web); of any zone: no (default/api, default/web)")


def test_spread_replicas_survive_and_where_there_are_no_zones_none_is_spoken_of() -> None:
    state = cluster([node("a"), node("b")], [pod("web-0", node="a"), pod("web-1", node="b")])
    found = survival(state)
    assert str(found) == "survives the loss of any node: yes"
    assert found.as_document() == {"node": True, "zone": None, "lost": {}, "failing": {}}


def test_workloads_of_one_replica_are_counted_and_not_named() -> None:
    state = cluster([node("a"), node("b")], [pod("web-0", node="a"), pod("db-0", node="b")])
    assert str(survival(state)) == "survives the loss of any node: no (2 workloads of one replica)"


def test_other_namespaces_are_not_spoken_of() -> None:
    state = cluster([node("a"), node("b")], [pod("web-0", node="a"), pod("db-0", node="b", namespace="other")])
    assert survival(state, "other").as_document()["lost"] == {"b": ["other/db"]}


def test_a_loss_fails_the_requests_that_need_whom_it_takes() -> None:
    """Every tenth request asks the store, and every second one the cache."""
    state = nodes("a", "b", rtt=10.0)
    put(state, "web", ["a", "b"], calls={"store": 1.0, "cache": 5.0}, users={"a": 10.0})
    put(state, "store", ["b", "b"])
    put(state, "cache", ["b", "b"])
    found = survival(state)
    assert found.nodes == {"b": ("default/cache", "default/store")}
    assert found.failing["b"] == pytest.approx(1.0 - 0.9 * 0.5)
    assert "the loss of b fails 55% of requests until replaced" in str(found)
