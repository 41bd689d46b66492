"""Of every pod that stays though another node is better, what keeps it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from descheduling.applications import chain, nodes, put
from descheduling.priced import PROFILE, cluster, running
from ecotone.descheduling import deschedule
from ecotone.descheduling.staying import Stay, staying
from ecotone.model import ClusterState, Evict, WorkloadKey
from ecotone.model.objects import DisruptionBudget
from ecotone.model.selectors import LabelSelector
from ecotone.planning.plan import make_plan, plan_document
from ecotone.scheduling import POLICIES
from ecotone.scheduling.profiles.descheduler import BEST_GAIN, DeschedulerSettings


def kept(state: ClusterState, settings: DeschedulerSettings | None = BEST_GAIN) -> dict[str, str]:
    profile = replace(PROFILE, descheduler=settings)
    snapshot = state.freeze()
    moves = [each for each in deschedule(snapshot, profile).decisions if isinstance(each, Evict)]
    return {each.pod.removeprefix("default/"): each.why for each in staying(snapshot, profile, moves, {})}


def far(*names: str, near: float = 10.0, **fields: Any) -> ClusterState:
    """Pods `a`, `b`, ... of `web` on a node that costs 100."""
    state = cluster(near=near, far=100)
    for name in names or ("a",):
        state.put_pod(running(name, "far", **fields))
    return state


def test_a_pod_that_moves_or_is_where_it_should_be_is_not_mentioned() -> None:
    state = far("a")
    state.put_pod(running("b", "near", app="api"))
    assert kept(state) == {}


@pytest.mark.parametrize(
    ("settings", "near", "why"),
    [
        (replace(BEST_GAIN, min_gain=95.0), 10, "it would gain 90 ms, less than minGain 95"),
        (BEST_GAIN, 85, "it would gain 15.00% of its cost, less than lastReplicaGain 0.2"),
        (
            replace(BEST_GAIN, single_replicas="never"),
            10,
            "the only Ready pod of its workload, and singleReplicas is never",
        ),
        (replace(BEST_GAIN, windows=("Sat",)), 10, "moves are made in the windows Sat only"),
        (replace(BEST_GAIN, max_moves=0), 10, "maxMovesPerRun 0 is reached"),
        (replace(BEST_GAIN, scheduler_names=frozenset({"ours"})), 10, "would place its replacement"),
        (None, 10, "its policy has no descheduler"),
    ],
)
def test_the_setting_that_keeps_it_is_named(settings: DeschedulerSettings | None, near: float, why: str) -> None:
    assert why in kept(far("a", near=near), settings)["a"]


def test_a_relative_threshold_of_one_of_several() -> None:
    state = far("a", "b", near=95.0)
    assert kept(state) == dict.fromkeys("ab", "it would gain 5.00% of its cost, less than minRelativeGain 0.1")


def test_what_the_pod_itself_brings() -> None:
    assert kept(far("a", owner=None)) == {"a": "a bare pod would not come back"}
    assert kept(far("a", ready=False)) == {"a": "it is not Ready"}


def test_cool_downs_and_budgets_are_named_with_their_figures() -> None:
    state = far("a")
    state.last_moves = {WorkloadKey("default", "web"): 980.0}
    assert kept(state) == {"a": "its workload moved 20 s ago, less than coolDownSeconds 60"}
    state = far("a")
    state.budgets = (DisruptionBudget("default", "steady", LabelSelector.of_labels({"app": "web"}), allowed=0),)
    assert kept(state) == {"a": "disruption budget steady allows no more"}


def test_another_replica_goes_first() -> None:
    assert list(kept(far("a", "b")).values()) == ["a pod of its workload moves in this run already"]


def test_a_plan_shows_them_and_says_what_its_application_decides() -> None:
    """Judged alone each of the two would go to the other's node; the application as a whole gains less than it has to."""
    state = nodes("edge", "cloud")
    put(state, "web", ["cloud"], calls={"api": 10.0}, users={"edge": 10.0})
    put(state, "api", ["edge"])
    eager = POLICIES["ecotone"]
    assert eager.descheduler is not None
    slow = replace(eager, descheduler=replace(eager.descheduler, min_gain=1000.0))
    made = make_plan(state.freeze(), slow, moves=True)
    assert made.decisions == ()
    assert [each.pod for each in made.stays] == ["default/api-0", "default/web-0"]
    assert all("its whole application saves" in each.why for each in made.stays)
    assert all("less than the 1000 ms of minGain 1000" in each.why for each in made.stays)
    document = plan_document(made)
    assert document["stays"] == [each.as_document() for each in made.stays]
    assert "stays" not in plan_document(make_plan(state.freeze(), slow))


def test_once_a_plan_moves_the_application_its_other_pods_are_told_so() -> None:
    state = nodes("edge", "cloud")
    chain(state, ["cloud"], users={"edge": 10.0})
    made = make_plan(state.freeze(), "ecotone", moves=True)
    moved = {each.pod for each in made.decisions}
    assert moved and not moved & {each.pod for each in made.stays}
    assert all("its application moves as a whole" in each.why for each in made.stays)


def test_the_line_for_people() -> None:
    assert str(Stay("default/a", "far", "near", 90.0, "ms", "so it is")) == (
        "default/a stays on far, 90 ms better on near: so it is"
    )
