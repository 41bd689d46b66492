"""Pods that fit nowhere are made way for whatever keeps them out, and room that waiting pods need is no room for a plan."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.applications import nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.decisions import Bind, Evict
from ecotone.model.objects import HostPort, Reservation
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement, Taint, Toleration
from ecotone.scheduling import decide


def only(*names: str) -> NodeAffinity:
    return NodeAffinity((NodeTerm(fields=(Requirement("metadata.name", "In", names),)),))


def waiting(state: ClusterState, name: str, *, cpu: int = 100, namespace: str = "default", **spec: Any) -> None:
    made = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0), **spec)
    kind = PodKind(namespace, WorkloadKey(namespace, name), labels=(("app", name),), spec=made)
    state.put_pod(Pod(f"{name}-0", f"u-{name}-0", kind, owner="rs"))


def moves(state: ClusterState) -> list[tuple[str, str]]:
    decided = deschedule(state.freeze(), "ecotone").decisions
    return [(each.pod, each.target) for each in decided if isinstance(each, Evict)]


def spec_of(state: ClusterState, name: str, **changes: Any) -> None:
    """The pod of that name with something else in its spec."""
    pod = state.find_pod(f"default/{name}-0")
    assert pod is not None
    state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, **changes))))


def test_a_pod_that_takes_the_room_of_one_that_can_run_nowhere_else_leaves() -> None:
    state = nodes("a", "b", cpu=1000)
    put(state, "store", ["b"], cpu=800)
    waiting(state, "db", cpu=500, node_affinity=only("b"))
    assert moves(state) == [("default/store-0", "a")]


def test_a_pod_that_holds_the_host_port_leaves() -> None:
    state = nodes("a", "b")
    put(state, "store", ["b"])
    spec_of(state, "store", host_ports=(HostPort(80),))
    waiting(state, "edge", host_ports=(HostPort(80),), node_affinity=only("b"))
    assert moves(state) == [("default/store-0", "a")]


def test_who_could_live_with_the_taint_leaves_the_node_without_it() -> None:
    state = nodes("a", "b", cpu=1000)
    taint = Taint("special", "yes", "NoSchedule")
    state.set_nodes(replace(node, taints=(taint,) if node.name == "a" else ()) for node in list(state.nodes.nodes))
    put(state, "store", ["b"], cpu=800)
    spec_of(state, "store", tolerations=(Toleration("special", "Exists"),))
    waiting(state, "db", cpu=500)
    assert moves(state) == [("default/store-0", "a")]


def test_as_few_as_possible_leave_and_not_for_a_pod_of_another_namespace() -> None:
    state = nodes("a", "b", cpu=1000)
    put(state, "store", ["b"], cpu=500)
    put(state, "small", ["b"], cpu=100)
    put(state, "other", ["b"], cpu=400)
    waiting(state, "db", cpu=450, node_affinity=only("b"))
    assert moves(state) == [("default/store-0", "a")]
    state = nodes("a", "b", cpu=1000)
    put(state, "store", ["b"], cpu=800, namespace="theirs")
    waiting(state, "db", cpu=500, node_affinity=only("b"))
    assert moves(state) == []


def test_who_has_no_other_place_is_made_way_for_in_turn() -> None:
    """The store fits on c alone, where the cache stands, which fits on a."""
    state = nodes("a", "b", "c", small={"a": 300, "b": 1000, "c": 800})
    put(state, "store", ["b"], cpu=800)
    put(state, "cache", ["c"], cpu=300)
    waiting(state, "db", cpu=500, node_affinity=only("b"))
    assert moves(state)[0] == ("default/cache-0", "a")


def test_a_pod_whose_place_is_only_taken_by_one_that_ends_waits_for_it() -> None:
    state = nodes("a", "b", cpu=1000)
    put(state, "store", ["b"], cpu=500)
    put(state, "leaver", ["b"], cpu=500)
    leaver = state.find_pod("default/leaver-0")
    assert leaver is not None
    state.put_pod(replace(leaver, deleting=True, ready=False))
    waiting(state, "db", cpu=500, node_affinity=only("b"))
    assert moves(state) == []


def test_a_higher_priority_does_not_make_way() -> None:
    state = nodes("a", "b", cpu=1000)
    put(state, "store", ["b"], cpu=800)
    spec_of(state, "store", priority=5)
    waiting(state, "db", cpu=500, node_affinity=only("b"))
    assert moves(state) == []


def users_at_b(room: int) -> ClusterState:
    """An application on a, whose users are at b: there is room for both of its pods, and it is needed for nothing else."""
    state = nodes("a", "b", small={"b": room})
    put(state, "front", ["a"], users={"b": 20.0}, calls={"back": 20.0}, cpu=400)
    put(state, "back", ["a"], cpu=400)
    return state


def test_a_plan_leaves_the_room_that_a_waiting_pod_will_take() -> None:
    assert sorted(moves(users_at_b(1000))) == [("default/back-0", "b"), ("default/front-0", "b")]
    state = users_at_b(1000)
    waiting(state, "db", cpu=500, node_affinity=only("b"))
    assert len(moves(state)) < 2


def test_a_plan_leaves_the_room_of_a_pod_that_does_not_fit_yet() -> None:
    """Of b 900 are free, the waiting pod needs 1,000; whoever stands there may not move."""
    state = users_at_b(1800)
    put(state, "store", ["b"], cpu=900, group=None)
    spec_of(state, "store", claims=("data",))
    waiting(state, "db", cpu=1000, node_affinity=only("b"))
    assert moves(state) == []


def test_what_a_move_holds_for_its_replacement_is_not_held_twice() -> None:
    state = users_at_b(1000)
    waiting(state, "cache", cpu=100)
    held = Reservation(
        name="r", namespace="default", workload=WorkloadKey("default", "cache"), template_hash="", node="a",
        requests=(("cpu", 100),), replaces_uid="gone", expires=1e9,
    )  # fmt: skip
    state.set_reservations([held])
    assert sorted(moves(state)) == [("default/back-0", "b"), ("default/front-0", "b")]


def bound(state: ClusterState) -> dict[str, str]:
    return {each.pod: each.node for each in decide(state.freeze(), "ecotone").decisions if isinstance(each, Bind)}


def test_of_pods_that_came_together_the_one_with_one_node_gets_it() -> None:
    """By itself each of the others likes b as well as a; db comes last and fits on b alone."""
    state = nodes("a", "b", cpu=1300)
    for number in range(3):
        waiting(state, f"any{number}", cpu=400)
    waiting(state, "db", cpu=1000, node_affinity=only("b"))
    assert bound(state)["default/db-0"] == "b"
    assert len(bound(state)) == 4


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_of_pods_that_came_together_all_are_placed_where_few_choices_are_left(seed: int) -> None:
    """Pods are drawn into nodes first, so there is a place for each; some may run on that node only."""
    luck = Random(seed)
    names = ["a", "b", "c", "d"]
    state = nodes(*names, cpu=1000)
    drawn = []
    for name in names:
        left = 1000 - luck.choice((0, 100, 200))
        while left >= 100:
            cpu = luck.choice([each for each in (100, 200, 300, 500) if each <= left])
            left -= cpu
            drawn.append((name, cpu, luck.random() < 0.4))
    luck.shuffle(drawn)
    for number, (name, cpu, pinned) in enumerate(drawn):
        waiting(state, f"w{number}", cpu=cpu, node_affinity=only(name) if pinned else NodeAffinity())
    pinned_pods = {f"default/w{number}-0" for number, (_, _, pinned) in enumerate(drawn) if pinned}
    assert pinned_pods <= bound(state).keys()
