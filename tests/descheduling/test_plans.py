"""Groups that move together: what one pod at a time cannot reach."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecotone.descheduling import deschedule
from ecotone.descheduling.plans.plan import under_way
from ecotone.model import ClusterState, Evict, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.objects import Measured
from ecotone.scheduling import DeschedulerSettings

NODES = ("cloud", "near", "far")


def cluster(*, rtt: float = 50.0, cpu: int = 4000, counted: bool = True, home: str = "far") -> ClusterState:
    """web calls api twice for each of 10 requests/s; the users are at `near`, everything else is at home."""
    state = ClusterState(now=100.0)
    state.set_nodes(
        Node(
            name, {"cpu": cpu, "memory": 1 << 33, "pods": 50}, available_cpu=float(cpu), available_memory=float(1 << 33),
            latencies={other: rtt for other in NODES if other != name}, measured_at=100.0,
        )
        for name in NODES
    )  # fmt: skip
    talk = {
        "web": ({"api": 40_000.0, "users@near": 20_000.0}, {"api": 20.0, "users@near": 10.0}, {"api": True}),
        "api": ({"web": 40_000.0}, {"web": 20.0}, {}),
    }
    for index, (name, (traffic, requests, synchronous)) in enumerate(talk.items()):
        key = WorkloadKey("default", name)
        state.put_workload(
            Workload(
                key,
                replicas=1,
                index=index,
                cpu_usage=Measured(50.0, 100.0),
                memory_usage=Measured(1e6, 100.0),
                traffic=traffic,
                synchronous=synchronous,
                measured_at=100.0,
                requests=requests if counted else None,
            )
        )
        kind = PodKind(
            "default", key, labels=(("app", name),), spec=PodSpec(requests=(("cpu", 600),), nonzero=(600, 0))
        )
        state.put_pod(
            Pod(f"{name}-1", f"u-{name}", kind, node=home, phase="Running", ready=True, owner="rs", bound_at=1.0)
        )
    return state


def moves(state: ClusterState, settings: DeschedulerSettings | None = None) -> list[tuple[str, str]]:
    found = deschedule(state.freeze(), "ecotone", settings).decisions
    return [(each.pod, each.target) for each in found if isinstance(each, Evict)]


def test_a_settled_chain_moves_as_a_whole() -> None:
    assert moves(cluster()) == [("default/api-1", "near"), ("default/web-1", "near")]


def test_one_by_one_nobody_would_go() -> None:
    assert moves(cluster(), DeschedulerSettings(rule="best-gain")) == []


def test_the_gain_is_the_round_trip_saved_per_request() -> None:
    found = deschedule(cluster(rtt=50.0).freeze(), "ecotone").decisions
    assert sum(each.gain for each in found if isinstance(each, Evict)) == pytest.approx(50.0, abs=1.0)


def test_where_the_group_does_not_fit_it_stays() -> None:
    state = cluster(cpu=1500)
    other = PodKind(
        "default", WorkloadKey("default", "big"), spec=PodSpec(requests=(("cpu", 1000),), nonzero=(1000, 0))
    )
    state.put_pod(Pod("big-1", "u-big", other, node="near", phase="Running", ready=True, owner=None))
    assert ("default/web-1", "near") not in moves(state)
    assert ("default/api-1", "near") not in moves(state)


def test_without_counted_requests_nothing_is_added_up() -> None:
    assert moves(cluster(counted=False)) == []


def test_a_small_gain_moves_nobody() -> None:
    assert moves(cluster(rtt=1.0)) == []


def test_the_only_replicas_are_protected_when_asked() -> None:
    assert moves(cluster(), DeschedulerSettings(single_replicas="never")) == []


@pytest.mark.parametrize("ends", ["deleted", "ending"])
def test_a_plan_whose_workloads_are_deleted_on_the_way_harms_no_later_round(ends: str) -> None:
    state = cluster()
    begun = deschedule(state.freeze(), "ecotone")
    assert under_way(begun.memory)
    state.memory.update(begun.memory)
    for pod in list(state.freeze().pods()):
        if ends == "deleted":
            state.drop_pod(pod.key)
        else:
            state.put_pod(replace(pod, deleting=True))
    state.now += 2.0
    assert moves(state) == []
