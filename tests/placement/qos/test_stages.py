"""Plans for promises go by stages: so many moves at a time, the next when these are ready, and what is promised is kept."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from builders import cluster, node, pod
from ecotone.descheduling import deschedule
from ecotone.descheduling.steps import Step, StepPlan, from_memory
from ecotone.model.decisions import Evict
from ecotone.model.objects import Pod, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import resolve
from ecotone.scheduling.costs.targets import target_of
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings


def of(name: str, where: str) -> Pod:
    return pod(name, node=where, cpu="1", memory="1Gi", ready=True, owner="ReplicaSet/x")


def state_of(edges: list[str], pods: list[Pod], shares: dict[str, float]) -> ClusterState:
    near = [node(f"edge-{i}", cpu=cpu, memory=f"{cpu}Gi", tier="edge") for i, cpu in enumerate(edges)]
    workloads = [Workload(WorkloadKey("default", name), edge_share=share) for name, share in shares.items()]
    cloud = node("cloud", cpu="64", memory="64Gi", tier="cloud")
    state = cluster([*near, cloud], pods, workloads=workloads)
    state.now = 1000.0
    return state


def limited(most: int | None, **arguments: float) -> DeschedulerSettings:
    ours = resolve("ecotone").descheduler
    assert ours is not None
    return replace(ours, max_moves=most, args={**ours.args, "moveSeconds": 0.0, **arguments})


def round_of(state: ClusterState, settings: DeschedulerSettings) -> list[Evict]:
    found = deschedule(state.freeze(), "ecotone", settings)
    state.memory = dict(found.memory)
    return [each for each in found.decisions if isinstance(each, Evict)]


def carried_out(state: ClusterState, moves: list[Evict], *, ready: bool) -> None:
    """By surge: replacements are there, and the old pods go when those are ready."""
    for move in moves:
        old = state.find_pod(move.pod)
        assert old is not None
        name = f"{old.name}x"
        state.put_pod(replace(old, name=name, uid=f"u-{name}-{state.now}", node=move.target, ready=ready))
        if ready:
            state.drop_pod(old.key)


def come(state: ClusterState) -> None:
    """Replacements are ready, and those that they replace are gone."""
    for each in [each for each in state.usage.pods() if not each.ready]:
        state.put_pod(replace(each, ready=True))
        state.drop_pod(f"{each.namespace}/{each.name.removesuffix('x')}")


def in_the_cloud(number: int) -> ClusterState:
    names = [f"s{i}" for i in range(number)]
    return state_of(["32"], [of(f"{name}-0", "cloud") for name in names], dict.fromkeys(names, 1.0))


@pytest.mark.parametrize("most", [1, 3, 5])
def test_no_more_pods_are_on_their_way_than_a_run_may_move(most: int) -> None:
    state, settings = in_the_cloud(8), limited(most)
    moved = 0
    for _ in range(12):
        moves = round_of(state, settings)
        assert len(moves) <= most
        moved += len(moves)
        carried_out(state, moves, ready=False)
        state.now += 0.5
        assert round_of(state, settings) == [], "the next stage waits until replacements are ready"
        come(state)
        state.now += 0.5
    assert moved == 8


def test_without_a_limit_all_go_at_once() -> None:
    assert len(round_of(in_the_cloud(8), limited(None))) == 8


def test_a_replacement_that_never_becomes_ready_holds_nobody_up_for_ever() -> None:
    state, settings = in_the_cloud(3), limited(1, planSeconds=120.0)
    carried_out(state, round_of(state, settings), ready=False)
    state.now += 100.0
    assert round_of(state, settings) == []
    state.now += 30.0
    assert len(round_of(state, settings)) == 1


def kept(state: ClusterState) -> set[str]:
    found = set()
    for kind in state.kind_counts:
        target = target_of(state, kind)
        rows: dict[int, int] = state.usage.peers.get(kind, {})
        pods = sum(rows.values())
        if target is not None and pods > 0:
            mean = sum(count * target.latency[row] for row, count in rows.items()) / pods
            if mean <= target.promised + 1e-6:
                found.add(kind.workload.name)
    return found


def test_a_promise_that_holds_is_not_given_up_for_two_others() -> None:
    """`wide` holds by two pods; in their place two workloads of one pod each could hold."""
    pods = [of("wide-0", "edge-0"), of("wide-1", "edge-0"), of("one-0", "cloud"), of("two-0", "cloud")]
    state = state_of(["2"], pods, {"wide": 1.0, "one": 1.0, "two": 1.0})
    for _ in range(10):
        carried_out(state, round_of(state, limited(None, moveCostMs=0.1)), ready=True)
        state.now += 30.0
        assert "wide" in kept(state)


@pytest.mark.parametrize("seed", range(40))
def test_at_the_end_of_every_stage_what_was_kept_is_kept(seed: int) -> None:
    draw = Random(seed)
    names = [f"s{i}" for i in range(draw.randint(2, 6))]
    edges = [str(draw.randint(1, 5)) for _ in range(draw.randint(1, 3))]
    room = {f"edge-{i}": int(cpu) for i, cpu in enumerate(edges)} | {"cloud": 64}
    pods = []
    for name in names:
        for number in range(draw.randint(1, 4)):
            where = draw.choice([place for place, left in room.items() if left])
            room[where] -= 1
            pods.append(of(f"{name}-{number}", where))
    state = state_of(edges, pods, {name: draw.choice((0.25, 0.5, 0.75, 1.0)) for name in names})
    settings = limited(draw.choice((1, 2, 5, None)), moveCostMs=draw.choice((0.1, 5.0)))
    begun = kept(state)
    for _ in range(30):
        carried_out(state, round_of(state, settings), ready=True)
        assert begun <= kept(state)
        begun = kept(state)
        state.now += 30.0


def test_the_workloads_of_a_stage_are_remembered_and_older_memories_know_of_none() -> None:
    plan = StepPlan((Step("default/a", "x", "y"), Step("default/b", "x", "y")), 5.0, 1.0, 2)
    left = plan.after([plan.steps[0]])
    assert (left.steps, left.moving) == (plan.steps[1:], ("default/a",))
    assert from_memory(left.as_memory()) == left
    old = {name: value for name, value in plan.as_memory().items() if name != "moving"}
    assert from_memory(old) == plan
