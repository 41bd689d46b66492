"""Pods with targets that wait at the same time: whatever their order, they go where it suits all of them."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from builders import cluster, node, pod
from ecotone.model.decisions import Bind
from ecotone.model.objects import Pod, Reservation, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.placement.qos.from_snapshot import BROKEN_MS
from ecotone.placement.qos.together import together
from ecotone.scheduling import decide
from ecotone.scheduling.costs.targets import lacking

EDGE_MS, CLOUD_MS = 50.0, 300.0


def of(service: str, number: int, where: str | None = None, *, cpu: str = "1", created: float = 0.0) -> Pod:
    return pod(
        f"{service}-{number}",
        node=where,
        cpu=cpu,
        memory="1Gi",
        ready=where is not None,
        owner="ReplicaSet/x",
        created=created,
    )


def state_of(edge: list[int], pods: list[Pod]) -> ClusterState:
    near = [node(f"edge-{i}", cpu=str(cpu), memory="64Gi", tier="edge") for i, cpu in enumerate(edge)]
    names = dict.fromkeys(each.kind.workload.name for each in pods)
    workloads = [Workload(WorkloadKey("default", name), edge_share=1.0) for name in names]
    return cluster([*near, node("cloud", cpu="64", memory="64Gi", tier="cloud")], pods, workloads=workloads)


def bound(state: ClusterState) -> dict[str, str]:
    return {
        each.pod.split("/")[1]: each.node
        for each in decide(state.freeze(), "ecotone").decisions
        if isinstance(each, Bind)
    }


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_room_goes_to_the_promises_that_need_it_most_whoever_stands_first(order: tuple[int, ...]) -> None:
    """Three small pods of one service or one of another that is as large as all three: together they gain more."""
    waiting = [("big", 0, "3"), ("small", 0, "1"), ("small", 1, "1"), ("small", 2, "1")]
    running = [of("big", 9, "cloud", cpu="3")]
    pods = [of(name, i, cpu=cpu, created=float(place)) for (name, i, cpu), place in zip(waiting, order, strict=True)]
    found = bound(state_of([3], [*running, *pods]))
    assert found == {"big-0": "cloud", **{f"small-{i}": "edge-0" for i in range(3)}}


@pytest.mark.parametrize("seed", range(25))
def test_what_is_bound_misses_targets_by_no_more_than_the_best_way_to_bind(seed: int) -> None:
    draw = np.random.default_rng(seed)
    edge = [int(each) for each in draw.integers(1, 5, 2)]
    sizes = {name: int(draw.integers(1, 4)) for name in ("a", "b", "c")}
    waiting = [str(draw.choice(list(sizes))) for _ in range(4)]
    pods = [of(name, i, cpu=str(sizes[name]), created=float(draw.random())) for i, name in enumerate(waiting)]
    pods += [of(name, 100, "cloud", cpu=str(size)) for name, size in sizes.items() if draw.random() < 0.5]
    state = state_of(edge, pods)
    found = bound(state)
    assert len(found) == 4
    places = ["edge-0", "edge-1", "cloud"]
    room = dict(zip(places, [*edge, 64], strict=True))

    def missed(where: tuple[str, ...]) -> float | None:
        used = dict.fromkeys(places, 0)
        for name, place in zip(waiting, where, strict=True):
            used[place] += sizes[name]
        if any(used[place] > room[place] for place in ("edge-0", "edge-1")):
            return None
        total = 0.0
        for name in {each.kind.workload.name for each in pods}:
            there = [place for each, place in zip(waiting, where, strict=True) if each == name]
            there += ["cloud"] * sum(each.node == "cloud" and each.kind.workload.name == name for each in pods)
            far = there.count("cloud") / len(there)
            total += far * (CLOUD_MS - EDGE_MS) + (BROKEN_MS if far else 0.0)
        return total

    ours = missed(tuple(found[f"{name}-{i}"] for i, name in enumerate(waiting)))
    best = min(value for where in product(places, repeat=4) if (value := missed(where)) is not None)
    assert ours == pytest.approx(best)


def test_a_pod_whose_place_is_reserved_is_not_planned_for() -> None:
    state = state_of([1], [of("a", 0, "cloud"), of("a", 1)])
    key = WorkloadKey("default", "a")
    held = Reservation("r", "default", key, "", "edge-0", (("cpu", 1000),), "uid", expires=state.now + 60)
    state.reservations = (held,)
    assert together(state) == {}


def test_what_was_worked_out_holds_until_other_pods_come() -> None:
    state = state_of([4], [of("a", 0), of("a", 1), of("b", 9, "cloud")])
    first = lacking(state, state.pending["default/a-0"])
    assert first is not None
    assert first.tolist() == [2, 0]
    state.assume(state.pending["default/a-0"], "edge-0")
    second = lacking(state, state.pending["default/a-1"])
    assert second is not None
    assert second.tolist() == [1, 0]
    state.put_pod(of("b", 0))
    third = lacking(state, state.pending["default/b-0"])
    assert third is not None
    assert third.tolist() == [1, 0]


def test_a_pod_that_runs_has_nothing_to_be_guided_by() -> None:
    state = state_of([4], [of("a", 0, "cloud"), of("a", 1)])
    assert lacking(state, of("a", 0, "cloud")) is None
