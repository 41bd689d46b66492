"""Pods that wait together and must be near each other: placed whichever was created first."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pytest

from ecotone.model import ClusterState, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.decisions import Bind, Wait
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement
from ecotone.scheduling import decide

NOW = 100.0
STREET = ["a", "b", "c", "d"]  # neighbours are 20 ms apart
CHAIN = {"web": "left", "left": "right", "right": "db"}
ORDERS = list(permutations(["web", "left", "right", "db"]))


def street(cpu: Mapping[str, int] | None = None) -> ClusterState:
    state = ClusterState(now=NOW)
    state.set_nodes(
        Node(
            name, {"cpu": size, "memory": 1 << 33, "pods": 50}, available_cpu=float(size), available_memory=float(1 << 33),
            latencies={other: 20.0 * abs(place - at) for at, other in enumerate(STREET) if other != name},
            measured_at=NOW,
        )
        for place, name in enumerate(STREET)
        for size in ((cpu or {}).get(name, 4000),)
    )  # fmt: skip
    return state


def wait(
    state: ClusterState, name: str, *, deadlines: Mapping[str, float], pinned: str | None = None, cpu: int = 100,
    replicas: int = 1, created: float = 1.0,
) -> None:  # fmt: skip
    key = WorkloadKey("default", name)
    state.put_workload(Workload(key, replicas=replicas, affinity=dict.fromkeys(deadlines, 10.0), deadlines=deadlines))
    term = NodeTerm(fields=(Requirement("metadata.name", "In", (pinned or "",)),))
    affinity = NodeAffinity((term,) if pinned else None)
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0), node_affinity=affinity)
    kind = PodKind("default", key, labels=(("app", name),), spec=spec)
    for number in range(replicas):
        state.put_pod(Pod(f"{name}-{number}", f"u-{name}-{number}", kind, owner="rs", created=created))


def chain(order: tuple[str, ...], *, most: float, replicas: int = 1) -> ClusterState:
    """web on a and db on d with two between them, each within the bound of the next; created in this order."""
    state = street()
    for number, name in enumerate(order):
        deadlines = {CHAIN[name]: most} if name in CHAIN else {}
        pinned = {"web": "a", "db": "d"}.get(name)
        wait(state, name, deadlines=deadlines, pinned=pinned, replicas=replicas, created=float(number))
    return state


def nodes_of(state: ClusterState) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in decide(state.freeze(), "ecotone").decisions:
        if isinstance(each, Bind):
            found.setdefault(each.pod.partition("/")[2].rpartition("-")[0], set()).add(each.node)
    return found


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_a_chain_whose_bounds_leave_one_placement_gets_it_in_any_order(order: tuple[str, ...], replicas: int) -> None:
    assert nodes_of(chain(order, most=20.0, replicas=replicas)) == {
        "web": {"a"}, "left": {"b"}, "right": {"c"}, "db": {"d"},
    }  # fmt: skip


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_where_no_placement_keeps_the_bounds_one_pod_waits_and_the_others_keep_them(order: tuple[str, ...]) -> None:
    decisions = decide(chain(order, most=19.0).freeze(), "ecotone").decisions
    waits = [each for each in decisions if isinstance(each, Wait)]
    assert len(waits) == 1
    assert "LatencyBound" in waits[0].plugins
    found = {each.pod.partition("/")[2][:-2]: each.node for each in decisions if isinstance(each, Bind)}
    assert all(found[own] == found[peer] for own, peer in CHAIN.items() if {own, peer} <= found.keys())


@pytest.mark.parametrize("queue_first", [True, False])
def test_room_near_each_other_is_found_for_all(queue_first: bool) -> None:
    """The reader would take the room that the writer, which fits on no other node near the hub, needs."""
    state = street({"b": 1000})
    names = ["hub", "reader", "writer"] if queue_first else ["writer", "reader", "hub"]
    for number, name in enumerate(names):
        match name:
            case "hub":
                wait(state, "hub", deadlines={"reader": 20.0, "writer": 10.0}, pinned="b", created=float(number))
            case _:
                wait(state, name, deadlines={}, cpu=900, created=float(number))
    found = nodes_of(state)
    assert found["hub"] == found["writer"] == {"b"}
    assert found["reader"] <= {"a", "c"}


def test_a_node_that_lacks_what_no_pod_asks_for_takes_them() -> None:
    """More memory is requested on b than it has left to give; the chain asks for CPU alone."""
    state = chain(("left", "right", "db", "web"), most=20.0)
    asks = ("memory", 1 << 34)
    kind = PodKind("other", WorkloadKey("other", "hog"), spec=PodSpec(requests=(asks,), nonzero=(0, 1 << 34)))
    state.put_pod(Pod("hog", "u-hog", kind, node="b", phase="Running", ready=True))
    assert nodes_of(state)["left"] == {"b"}


def test_the_record_says_why_a_pod_left_its_own_best_node() -> None:
    state = chain(("left", "right", "db", "web"), most=20.0)
    why = {each.pod: each.why for each in decide(state.freeze(), "ecotone").decisions}
    assert any("would fit nowhere" in each for each in why.values())
