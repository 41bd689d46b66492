"""A pod makes room for another one that needs its place more."""

from __future__ import annotations

import pytest

from ecotone.descheduling import Settings, deschedule
from ecotone.descheduling.together import Application
from ecotone.model import ClusterState, Evict, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.objects import Measured

NODES = ("near", "far", "other")


def cluster(*, mails: float = 0.5, free: int = 0, users: float = 10.0) -> ClusterState:
    """web serves users at `near` from `far`, because mail, which the same users ask for seldom, fills `near`."""
    state = ClusterState(now=100.0)
    state.set_nodes(
        Node(
            name, {"cpu": 1000 + (free if name == "near" else 0), "memory": 1 << 33, "pods": 50}, available_cpu=900.0,
            available_memory=float(1 << 33), latencies={other: 50.0 for other in NODES if other != name}, measured_at=100.0,
        )
        for name in NODES
    )  # fmt: skip
    _put(state, "web", "far", {"users@near": users}, cpu=600)
    _put(state, "mail", "near", {"users@near": mails}, cpu=700)
    return state


def _put(state: ClusterState, name: str, node: str, requests: dict[str, float], *, cpu: int) -> None:
    key = WorkloadKey("default", name)
    state.put_workload(
        Workload(
            key,
            replicas=1,
            cpu_usage=Measured(20.0, 100.0),
            memory_usage=Measured(1e6, 100.0),
            traffic={peer: 1000.0 * rate for peer, rate in requests.items()},
            requests=requests,
            measured_at=100.0,
        )
    )
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0))
    kind = PodKind("default", key, labels=(("app", name),), spec=spec)
    state.put_pod(Pod(f"{name}-1", f"u-{name}", kind, node=node, phase="Running", ready=True, owner="rs", bound_at=1.0))


def moves(state: ClusterState, settings: Settings | None = None) -> list[tuple[str, str]]:
    found = deschedule(state.freeze(), "ecotone", settings).decisions
    return [(each.pod, each.target) for each in found if isinstance(each, Evict)]


def test_the_pod_that_loses_less_goes_and_the_other_one_follows() -> None:
    state = cluster()
    found, memory = deschedule(state.freeze(), "ecotone")
    assert [(each.pod, each.target) for each in found if isinstance(each, Evict)] == [("default/mail-1", "other")]
    mail = next(pod for pod in state.usage.pods() if pod.key == "default/mail-1")
    state.drop_pod(mail.key)
    state.assume(mail, "other")
    state.memory = dict(memory)  # or mail would simply come back
    assert moves(state) == [("default/web-1", "near")]


def test_it_says_for_whom() -> None:
    (move,) = deschedule(cluster().freeze(), "ecotone").decisions
    assert isinstance(move, Evict)
    assert move.why.startswith("makes room on near for web: a request costs ")
    # 10 of 10.5 requests per second save a round trip of 50 ms, the rest lose one.
    assert move.gain == pytest.approx(50 * (10 - 0.5) / 10.5, abs=1.0)


def test_nobody_goes_for_one_who_gains_less() -> None:
    assert moves(cluster(mails=10.0)) == []


def test_nobody_goes_where_there_is_room() -> None:
    assert moves(cluster(free=600)) == [("default/web-1", "near")]


def test_nobody_goes_when_moves_of_several_are_switched_off() -> None:
    assert moves(cluster(), Settings(max_group=0)) == []


def test_a_guest_that_fits_nowhere_else_stays() -> None:
    state = cluster()
    for number in range(2):
        key = WorkloadKey("default", f"full-{number}")
        kind = PodKind("default", key, spec=PodSpec(requests=(("cpu", 350),), nonzero=(350, 0)))
        where = ("far", "other")[number]
        state.put_pod(Pod(f"full-{number}", f"u{number}", kind, node=where, phase="Running", ready=True, owner=None))
    assert moves(state) == []


def test_bytes_are_taken_at_the_size_of_counted_requests() -> None:
    """A queue that nobody counts requests on weighs as many requests as its bytes make, not as many as it has bytes."""
    state = cluster()
    for name, node, peer in (("queue", "far", "worker"), ("worker", "other", "queue")):
        _put(state, name, node, {}, cpu=10)
        key = WorkloadKey("default", name)
        state.put_workload(
            Workload(key, replicas=1, index=0 if name == "queue" else 1, traffic={peer: 5000.0}, measured_at=100.0)
        )
    application = Application(state, list(state.usage.pods()))
    network = application.network_of(("default", "worker"), application.place)
    # 5,000 bytes per second are five requests of 1,000 bytes, each a round trip of 50 ms; none beside the queue.
    assert network.tolist() == pytest.approx([250.0, 0.0, 250.0])
