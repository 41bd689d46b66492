"""What a plan says about settings that are the owner's: balancing and numbers of replicas."""

from __future__ import annotations

import pytest

from descheduling.applications import chain, nodes, put
from ecotone.model import ClusterState
from ecotone.planning.advice import Advice, Advised, advice
from ecotone.planning.plan import make_plan, plan_document
from ecotone.scheduling import resolve


def two_sites(replicas: int, near: str | None = None) -> ClusterState:
    state = nodes("one", "two", "cloud", rtt=60.0)
    chain(state, ["one"] * replicas, users={"one": 10.0, "two": 10.0}, near=near)
    return state


def given(state: ClusterState) -> list[Advice]:
    return list(advice(state.freeze(), resolve("ecotone")).found)


def test_users_at_two_sites_gain_by_the_nearest_pod() -> None:
    (found,) = given(two_sites(2))
    assert found.services == ("default/web", "default/api", "default/store")
    assert not found.replicas
    assert found.here == pytest.approx(30.0, abs=1.0), "half of the requests travel, wherever pods are"
    assert found.there < 1.0


def test_a_service_that_earns_nothing_is_not_named() -> None:
    state = two_sites(2)
    put(state, "rare", ["one"] * 2, calls={}, users={"one": 0.001})
    (found,) = given(state)
    assert "default/rare" not in found.services


def test_single_replicas_gain_by_one_more_at_the_other_site() -> None:
    (found,) = given(two_sites(1))
    assert {key.name: count for key, count in found.replicas.items()} == {"web": 2, "api": 2, "store": 2}
    assert found.there < 1.0


def test_where_the_nearest_pod_is_taken_already_nothing_is_said() -> None:
    state = nodes("one", "two", "cloud", rtt=60.0)
    chain(state, ["one", "two"], users={"one": 10.0, "two": 10.0}, near="PreferSameNode")
    assert given(state) == []


def test_users_at_one_site_need_no_advice() -> None:
    state = nodes("one", "two", rtt=60.0)
    chain(state, ["one"] * 2, users={"one": 10.0})
    assert given(state) == []


def test_a_policy_that_does_not_think_in_milliseconds_gives_none() -> None:
    assert advice(two_sites(2).freeze(), resolve("sophos")) == Advised()


def test_a_plan_tells_it_to_people_and_machines() -> None:
    plan = make_plan(two_sites(2).freeze(), "ecotone", moves=True)
    (told,) = plan.advice
    assert "PreferSameNode on Service default/web" in str(told)
    assert "ms per request instead of" in str(told)
    document = plan_document(plan)["advice"][0]
    assert document["trafficDistribution"]["default/api"] == "PreferSameNode"
    assert document["ms"] < document["insteadOfMs"]
    assert "advice" not in plan_document(make_plan(two_sites(2).freeze(), "ecotone"))


def test_other_namespaces_are_not_advised() -> None:
    assert make_plan(two_sites(2).freeze(), "ecotone", moves=True, namespace="elsewhere").advice == ()
