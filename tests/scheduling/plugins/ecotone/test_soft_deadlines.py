"""Soft deadlines: a node beyond one stays a candidate and costs more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asking import passing, raw_scores
from builders import cluster, edge_fog_cloud, pod
from ecotone.model.decisions import Bind
from ecotone.model.errors import InputError
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, Profile, decide
from ecotone.scheduling.costs.deadlines import Lateness
from ecotone.scheduling.explanation import explain
from ecotone.scheduling.plugins.ecotone.latency_bound import LatencyBound
from ecotone.scheduling.plugins.ecotone.response_time import ResponseTime
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction

EVERYWHERE = {"edge", "fog", "cloud"}
SOFTENED = POLICIES["ecotone"].with_args("LatencyBound", hard=False)


def key(name: str) -> WorkloadKey:
    return WorkloadKey("default", name)


def between(*, soft: dict[str, float] | None = None, hard: dict[str, float] | None = None) -> ClusterState:
    """An API that talks mostly to a database in the cloud, and is called from the edge."""
    web = Workload(key("web"), deadlines=hard or {}, soft_deadlines=soft or {})
    api = Workload(key("api"), traffic={"web": 10.0, "db": 100.0})
    pods = [pod("web-0", node="edge"), pod("db-0", node="cloud"), pod("api-0")]
    return cluster(edge_fog_cloud(), pods, workloads=[web, api])


def place(state: ClusterState, profile: Profile) -> str | None:
    found = decide(state.freeze(), profile).decisions[0]
    return found.node if isinstance(found, Bind) else None


def test_a_soft_deadline_turns_no_node_away() -> None:
    state = between(soft={"api": 20.0})
    assert passing(LatencyBound(), state, pod("api-0")) == EVERYWHERE
    assert passing(LatencyBound(), between(hard={"api": 20.0}), pod("api-0")) == {"edge", "fog"}


def test_each_millisecond_beyond_it_has_a_price() -> None:
    plain = raw_scores(ResponseTime(), between(), pod("api-0"))
    priced = raw_scores(ResponseTime(latePerMs=3.0, lateMs=7.0), between(soft={"api": 20.0}), pod("api-0"))
    assert {name: plain[name] - priced[name] for name in plain} == pytest.approx(
        {"edge": 0.0, "fog": 0.0, "cloud": 3.0 * 80.0 + 7.0}
    )


def test_the_price_decides_where_the_pod_goes() -> None:
    ecotone = POLICIES["ecotone"]
    assert place(between(), ecotone) == "cloud"
    assert place(between(soft={"api": 20.0}), ecotone) == "fog"
    assert place(between(soft={"api": 20.0}), ecotone.with_args("ResponseTime", latePerMs=0.1)) == "cloud"
    assert place(between(soft={"api": 20.0}), ecotone.with_args("ResponseTime", latePerMs=0.0, lateMs=1e4)) == "fog"


def test_a_profile_can_make_all_bounds_soft() -> None:
    state = between(hard={"api": 20.0})
    assert place(state, SOFTENED) == "fog"
    assert place(state, SOFTENED.with_args("ResponseTime", latePerMs=0.1)) == "cloud"
    api = pod("api-0", app_group="shop", max_latency_ms=5.0)
    assert passing(LatencyBound(hard=False), between(), api) == EVERYWHERE


def test_a_pod_that_can_be_in_time_nowhere_is_placed_all_the_same() -> None:
    state = between(hard={"api": 20.0})
    state.put_workload(replace(state.workloads[key("api")], deadlines={"db": 20.0}))
    assert place(state, POLICIES["ecotone"]) is None
    assert place(state, SOFTENED) is not None


def test_pods_of_a_peer_share_the_price() -> None:
    state = between(soft={"api": 20.0})
    state.put_pod(pod("web-1", node="cloud"))
    plain = raw_scores(ResponseTime(latePerMs=0.0), state, pod("api-0"))
    priced = raw_scores(ResponseTime(latePerMs=1.0), state, pod("api-0"))
    assert {name: plain[name] - priced[name] for name in plain} == pytest.approx(
        {"edge": 40.0, "fog": 35.0, "cloud": 40.0}
    )


def test_explain_says_what_being_late_costs() -> None:
    answer = explain(between(soft={"api": 20.0}).freeze(), "ecotone", "default/api-0")
    told = {each.name: each.scores["ResponseTime"].told for each in answer.nodes}
    assert "800 ms for a missed soft deadline" in (told["cloud"] or "")
    assert "deadline" not in (told["fog"] or "")


def test_the_price_of_a_plan_is_that_of_a_pod() -> None:
    state = between(soft={"api": 20.0})
    state.put_workload(
        replace(state.workloads[key("web")], traffic={"users@edge": 10.0}, requests={"users@edge": 1.0, "api": 1.0})
    )
    state.put_workload(replace(state.workloads[key("api")], requests={"web": 1.0, "db": 1.0}))
    state.put_pod(pod("api-0", node="cloud"))
    costs = []
    for lateness in (Lateness(0.0), Lateness(2.0, 5.0)):
        (application,) = applications(state, lateness=lateness)
        costs.append(float(Prediction(application).cost(application.counts[np.newaxis].astype(np.float64))[0]))
    assert costs[1] - costs[0] == pytest.approx(2.0 * 80.0 + 5.0)


@pytest.mark.parametrize("name", ["latePerMs", "lateMs"])
def test_a_price_below_nothing_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} -1 must be a number of at least 0"):
        decide(between().freeze(), POLICIES["ecotone"].with_args("ResponseTime", **{name: -1.0}))
