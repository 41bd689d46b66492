"""When a running pod is moved, and above all when it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from descheduling.priced import PROFILE, cluster, running
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState, Evict, Pod, WorkloadKey
from ecotone.model.errors import InputError
from ecotone.model.objects import DisruptionBudget, PodSpec, Reservation
from ecotone.model.selectors import LabelSelector
from ecotone.scheduling import POLICIES, Objective
from ecotone.scheduling.profiles.descheduler import BEST_GAIN, TARGETS, THESIS, DeschedulerSettings
from ecotone.scheduling.profiles.policies import ALGORITHM_1

WEB = WorkloadKey("default", "web")


def moves(state: ClusterState, settings: DeschedulerSettings = BEST_GAIN) -> list[tuple[str, str, str]]:
    found = deschedule(state.freeze(), PROFILE, settings).decisions
    return [(each.pod.split("/")[1], each.origin, each.target) for each in found if isinstance(each, Evict)]


def one_far_pod(**costs: float) -> ClusterState:
    state = cluster(**(costs or {"near": 10, "far": 100}))
    state.put_pod(running("a", "far"))
    return state


def test_a_pod_far_from_the_best_node_moves_there_and_says_why() -> None:
    (move,) = deschedule(one_far_pod().freeze(), PROFILE, BEST_GAIN).decisions
    assert move == Evict(
        "default/a", "far", "near", 90.0, "ms", "costs 100 ms on far and 10 ms on near: 90% less", uid="uid-a"
    )


def test_a_pod_on_the_best_node_stays() -> None:
    state = cluster(near=10, far=100)
    state.put_pod(running("a", "near"))
    assert moves(state) == []
    assert moves(state, THESIS) == []


def test_a_small_gain_is_not_worth_a_disruption_to_us_but_is_to_the_thesis() -> None:
    state = one_far_pod(near=95, far=100)
    assert moves(state) == []
    assert moves(state, THESIS) == [("a", "far", "near")]


def test_the_last_replica_needs_a_larger_gain_than_one_of_two() -> None:
    alone = one_far_pod(near=85, far=100)
    assert moves(alone) == []
    alone.put_pod(running("b", "near"))
    assert moves(alone) == [("a", "far", "near")]


def test_the_last_replica_can_be_protected_altogether() -> None:
    assert moves(one_far_pod(), DeschedulerSettings(single_replicas="never")) == []


def test_one_pod_of_a_workload_moves_per_run() -> None:
    state = cluster(near=10, far=100)
    for name in ("a", "b", "c"):
        state.put_pod(running(name, "far"))
    assert len(moves(state)) == len(moves(state, THESIS)) == 1


def test_a_move_holds_its_place_for_the_moves_that_follow() -> None:
    state = cluster(near=10, middle=50, far=100, farther=110)
    state.put_pod(running("a", "far", app="one", cpu=1500))
    state.put_pod(running("b", "farther", app="two", cpu=1500))
    assert sorted(target for _, _, target in moves(state)) == ["middle", "near"]


def test_what_is_reserved_for_an_earlier_move_is_not_free_for_a_new_one() -> None:
    state = one_far_pod()
    kept = Reservation("r", "default", WorkloadKey("default", "x"), "", "near", (("cpu", 2000),), "u", 2000.0)
    state.reservations = (kept,)
    assert moves(state) == []


def test_a_cooling_workload_stays_until_its_time_is_up() -> None:
    state = one_far_pod()
    state.last_moves[WEB] = state.now - 59
    assert moves(state) == []
    state.last_moves[WEB] = state.now - 60
    assert moves(state) == [("a", "far", "near")]


def test_a_move_is_not_undone_while_it_is_remembered() -> None:
    first = one_far_pod()
    memory = deschedule(first.freeze(), PROFILE, BEST_GAIN).memory
    back = cluster(near=100, far=10)
    back.now += 299
    back.put_pod(running("a", "near"))
    back.memory = dict(memory)
    assert moves(back) == []
    back.now += 2
    assert moves(back) == [("a", "near", "far")]


def budget(allowed: int, name: str = "keep") -> DisruptionBudget:
    return DisruptionBudget("default", name, LabelSelector.of_labels({"app": "web"}), allowed)


def test_a_disruption_budget_without_room_stops_the_move() -> None:
    state = one_far_pod()
    state.budgets = (budget(0),)
    assert moves(state) == moves(state, THESIS) == []
    state.budgets = (budget(1),)
    assert moves(state) == moves(state, THESIS) == [("a", "far", "near")]


def test_a_pod_under_two_budgets_is_never_touched() -> None:
    state = one_far_pod()
    state.budgets = (budget(5), budget(5, "other"))
    assert moves(state) == []


def with_spec(pod: Pod, **fields: object) -> Pod:
    return replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, **fields)))  # type: ignore[arg-type]


PLAIN = running("a", "far")
UNTOUCHABLE = {
    "mirror": replace(PLAIN, mirror=True),
    "bare": replace(PLAIN, owner=None),
    "daemon": replace(PLAIN, kind=replace(PLAIN.kind, workload=WorkloadKey("default", "web", "DaemonSet"))),
    "critical": with_spec(PLAIN, priority=2_000_000_000),
    "terminating": replace(PLAIN, deleting=True),
    "local storage": with_spec(PLAIN, local_storage=True),
    "volume claim": with_spec(PLAIN, claims=("data",)),
    "resource claim": with_spec(PLAIN, resource_claims=("gpu",)),
}


@pytest.mark.parametrize("pod", UNTOUCHABLE.values(), ids=UNTOUCHABLE.keys())
def test_some_pods_are_never_moved(pod: Pod) -> None:
    state = cluster(near=10, far=100)
    state.put_pod(pod)
    assert moves(state) == moves(state, THESIS) == []


def test_pods_of_other_schedulers_are_left_to_them() -> None:
    state = one_far_pod()
    assert moves(state, DeschedulerSettings(scheduler_names=frozenset({"ecotone"}))) == []
    assert moves(state, DeschedulerSettings(scheduler_names=frozenset({PodSpec().scheduler_name}))) == [
        ("a", "far", "near")
    ]


def test_a_young_pod_may_be_spared() -> None:
    state = cluster(near=10, far=100)
    state.put_pod(running("a", "far", bound_at=state.now - 5))
    assert moves(state, DeschedulerSettings(min_pod_age=60)) == []


def test_a_full_target_is_no_target() -> None:
    state = one_far_pod()
    state.put_pod(running("big", "near", app="big", cpu=2000))
    assert moves(state) == []


def test_the_number_of_moves_is_bounded() -> None:
    state = cluster(near=10, far=100)
    for number in range(8):
        state.put_pod(running(f"p{number}", "far", app=f"app{number}"))
    assert len(moves(state, DeschedulerSettings(max_moves=3))) == 3


def test_the_snapshot_is_not_changed_by_looking() -> None:
    state = one_far_pod()
    before = [pod.node for pod in state.usage.pods()]
    assert moves(state) == moves(state)
    assert [pod.node for pod in state.usage.pods()] == before


def test_each_policy_has_its_own_descheduler_or_none() -> None:
    assert POLICIES["kube-default"].descheduler is None
    assert POLICIES["sophos"].descheduler == replace(THESIS, score=ALGORITHM_1)
    assert POLICIES["ecotone"].descheduler == TARGETS
    assert deschedule(one_far_pod().freeze(), PROFILE).decisions == ()


def test_nothing_moves_outside_the_maintenance_windows() -> None:
    state = one_far_pod()  # its clock stands at Thursday 00:16 UTC
    assert moves(state, DeschedulerSettings(windows=("Fri",))) == []
    assert moves(state, DeschedulerSettings(windows=("Fri", "00:00-01:00"))) == [("a", "far", "near")]


def test_limits_set_by_hand_hold_under_the_thesis_rule_too() -> None:
    assert moves(one_far_pod(near=95, far=100), replace(THESIS, min_gain=10.0)) == []


def test_gains_are_measured_in_the_unit_of_the_objective() -> None:
    in_points = replace(PROFILE, objective=Objective(unit="points"))
    (move,) = deschedule(one_far_pod().freeze(), in_points, BEST_GAIN).decisions
    assert isinstance(move, Evict)
    assert move.unit == "points"
    with pytest.raises(InputError, match="its objective in watts"):
        deschedule(one_far_pod().freeze(), replace(PROFILE, objective=Objective(unit="watts")), BEST_GAIN)
