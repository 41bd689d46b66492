"""What a plan may ask for is known when it begins: replacements that land elsewhere, lost room, the clock, its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from descheduling.applications import NOW, chain, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import plan as plans_in
from ecotone.descheduling.plans import under_way
from ecotone.descheduling.plans.plan import MovePlan, Step
from ecotone.descheduling.plans.trial import settle
from ecotone.model import ClusterState, Evict, Pod, WorkloadKey
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.profiles.descheduler import PLANS, DeschedulerSettings
from ecotone.scheduling.profiles.policies import resolve


def far_chain(replicas: int = 2, **more: Any) -> ClusterState:
    state = nodes("near", "far", "cloud", rtt=80.0, **more)
    chain(state, ["far"] * replicas, users={"near": 10.0})
    return state


def round_of(state: ClusterState, settings: DeschedulerSettings | None = None) -> list[Evict]:
    found, memory = deschedule(state.freeze(), "ecotone-fast", settings)
    state.memory = dict(memory)
    return [each for each in found if isinstance(each, Evict)]


def carried_out(state: ClusterState, moves: list[Evict], *, to: str | None = None) -> None:
    """The pods are gone, and their replacements are Ready at `to`, or where they were meant to be."""
    for move in moves:
        pod = state.find_pod(move.pod)
        assert pod is not None
        state.last_moves[pod.kind.workload] = state.now
        state.drop_pod(pod.key)
        state.put_pod(replace(pod, name=f"{pod.name}x", uid=f"{pod.uid}x", node=to or move.target))


def why_ended(state: ClusterState) -> list[str]:
    return [plan.why for plan in plans_in.read_ended(state.memory)]


def test_a_replacement_that_binds_back_is_not_asked_to_go_again() -> None:
    state = far_chain()
    moves = round_of(state)
    carried_out(state, moves, to="far")
    gone = {move.pod for move in moves}
    for _ in range(20):
        again = round_of(state)
        assert not {move.pod for move in again} & {f"{pod}x" for pod in gone}
        carried_out(state, again, to="far")
        gone |= {move.pod for move in again}
    assert len(gone) <= 6, "as many pods as it had to move"
    assert not under_way(state.memory)


def test_what_is_left_goes_on_from_where_replacements_landed_if_it_still_pays() -> None:
    state = far_chain(3)
    (plan,) = plans_in.read(deschedule(state.freeze(), "ecotone-fast").memory)
    first = round_of(state)
    strays = first[:1]
    carried_out(state, first[1:])
    carried_out(state, strays, to="cloud")
    second = round_of(state)
    (judged,) = plans_in.read(state.memory)
    assert second and judged.anew
    assert (judged.begun, judged.deadline) == (plan.begun, plan.deadline)
    assert not {move.pod for move in second} & {f"{move.pod}x" for move in first}


def test_the_second_time_it_ends() -> None:
    state = far_chain(5)
    carried_out(state, round_of(state), to="cloud")
    second = round_of(state)
    assert second
    carried_out(state, second, to="cloud")
    assert round_of(state) == []
    assert why_ended(state) == ["replacements landed elsewhere once more"]
    assert not under_way(state.memory)


def test_what_no_longer_pays_ends_and_says_why() -> None:
    state = far_chain()
    moves = round_of(state)
    carried_out(state, moves, to="near")
    for key, known in list(state.workloads.items()):
        if key.name == "web":  # users have gone to where the pods were
            flows = {
                **{peer: rate for peer, rate in (known.requests or {}).items() if peer == "api"},
                "users@far": 10.0,
            }
            state.put_workload(
                replace(known, requests=flows, traffic={peer: 2000.0 * rate for peer, rate in flows.items()})
            )
    (plan,) = plans_in.read(state.memory)
    stray = next(pod for pod in state.usage.pods() if pod.uid.endswith("x"))
    state.drop_pod(stray.key)
    state.put_pod(replace(stray, node="cloud"))
    assert plan.pods > len(moves), "something is left of it"
    assert round_of(state) == []
    (why,) = why_ended(state)
    assert why.startswith("replacements landed elsewhere, and what is left saves")


def test_new_pods_do_not_renew_its_time() -> None:
    state = far_chain(3)
    (plan,) = plans_in.read(deschedule(state.freeze(), "ecotone-fast").memory)
    assert plan.deadline == NOW + len(plan.stages) * 70.0
    moves = round_of(state)
    for _ in range(40):
        carried_out(state, moves)
        state.now += 20.0
        for pod in list(state.usage.pods()):
            state.put_pod(replace(pod, ready=not pod.uid.endswith("x")))
        moves = round_of(state)
        if not under_way(state.memory):
            break
    assert plan.deadline < state.now <= plan.deadline + 20.0
    assert why_ended(state) == [f"it was not done within {plan.deadline - plan.begun:.0f} s"]


def test_a_clock_that_is_set_back_does_not_give_it_more_time() -> None:
    state = far_chain()
    round_of(state)
    state.now -= 3600.0
    assert round_of(state) == []
    assert not under_way(state.memory)


def test_a_pod_does_not_leave_for_a_place_that_somebody_has_taken_meanwhile() -> None:
    state = far_chain(cpu=1000)
    carried_out(state, round_of(state))
    put(state, "other", ["near"], cpu=650, group="elsewhere", use=1.0)
    assert round_of(state) == []
    assert under_way(state.memory), "it waits for the place, as long as it may"
    state.drop_pod("default/other-0")
    assert len(round_of(state)) == 3


def crowded() -> tuple[ClusterState, dict[WorkloadKey, list[Pod]]]:
    """`big` fits on one when `out` has left, and `out` fits nowhere until `big` has left two."""
    state = nodes("one", "two", cpu=1000)
    put(state, "big", ["two", "two"], cpu=450)
    put(state, "out", ["one", "one"], cpu=300)
    put(state, "rest", ["one"], cpu=300)
    pods: dict[WorkloadKey, list[Pod]] = {}
    for pod in state.usage.pods():
        pods.setdefault(pod.kind.workload, []).append(pod)
    return state, pods


def settled(state: ClusterState, steps: list[Step], pods: dict[WorkloadKey, list[Pod]], most: int | None = None) -> Any:
    return settle(framework_of(resolve("ecotone")), state, (tuple(steps),), pods, most=most)


def test_a_step_that_waits_keeps_its_room_and_nobody_gets_it_meanwhile() -> None:
    """All leave in one stage: `big` would fit only if both of `out` had left, of which one cannot."""
    state, pods = crowded()
    big, out = (next(key for key in pods if key.name == name) for name in ("big", "out"))
    steps = [Step(big, "two", "one"), Step(out, "one", "two"), Step(out, "one", "two")]
    before = state.usage.requested.copy()
    assert isinstance(settled(state, steps, pods), Step)
    assert (state.usage.requested == before).all(), "only tried"


def test_pods_that_take_each_others_places_leave_together() -> None:
    state = nodes("one", "two", cpu=1000)
    put(state, "left", ["one", "one"], cpu=500)
    put(state, "right", ["two", "two"], cpu=500)
    pods: dict[WorkloadKey, list[Pod]] = {}
    for pod in state.usage.pods():
        pods.setdefault(pod.kind.workload, []).append(pod)
    left, right = sorted(pods)
    steps = [Step(left, "one", "two"), Step(right, "two", "one")]
    assert settled(state, steps, pods) == (tuple(steps),)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_stage_has_more_moves_than_a_run_may_make(most: int) -> None:
    state = far_chain(4)
    settings = replace(PLANS, max_moves=most)
    seen = []
    for _ in range(20):
        moves = round_of(state, settings)
        assert len(moves) <= most
        seen.append(len(moves))
        for move in moves:
            assert not any(pod.uid.endswith("x") and not pod.ready for pod in state.usage.pods()), move
        carried_out(state, moves)
    assert sum(seen) == 12
    assert {pod.node for pod in state.usage.pods()} == {"near"}


def test_the_next_moves_of_a_stage_wait_for_those_before() -> None:
    state = far_chain(4)
    settings = replace(PLANS, max_moves=2)
    first = round_of(state, settings)
    carried_out(state, first)
    for pod in list(state.usage.pods()):
        if pod.uid.endswith("x"):
            state.put_pod(replace(pod, ready=False))
    assert len(first) == 2
    assert round_of(state, settings) == []


def test_no_moves_a_run_is_no_plan() -> None:
    state = far_chain()
    assert round_of(state, replace(PLANS, max_moves=0)) == []
    assert not under_way(state.memory)


OLD = {
    "stages": [[["default", "web", "Deployment", "far", "near", False]]],
    "start": [["default", "web", "Deployment", {"far": 2}]],
    "here": 100.0, "there": 20.0, "excess": 0.0, "order": "waves", "since": 90.0, "issued": ["u-web-0"], "safe": True,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{}, {"begun": 90.0}, {"begun": 90.0, "deadline": float("nan"), "leaving": [], "issued": {}, "anew": False}],
)
def test_plans_of_earlier_versions_are_no_plans_and_no_errors(change: dict[str, object]) -> None:
    assert plans_in.read({"plans": [{**OLD, **change}]}) == []
    state = far_chain()
    state.memory = {"plans": [{**OLD, **change}]}
    round_of(state)
    assert all(isinstance(plan, MovePlan) for plan in plans_in.read(state.memory))


@pytest.mark.parametrize(("within", "happens"), [(10.0, False), (100.0, True)])
def test_no_stage_ends_with_a_bound_broken_that_held_before(within: float, happens: bool) -> None:
    """A caller that leaves is bound to nobody, but what it calls must be near to it."""
    state = nodes("one", "two", rtt=50.0)
    put(state, "web", ["one", "one"], calls={"api": 10.0}, users={"two": 10.0})
    put(state, "api", ["one"], within=within)
    pods = {key: [pod for pod in state.usage.pods() if pod.kind.workload == key] for key in state.workloads}
    step = Step(next(key for key in pods if key.name == "web"), "one", "two")
    assert settled(state, [step], pods) == (((step,),) if happens else step)
