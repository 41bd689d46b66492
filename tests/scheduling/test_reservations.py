"""What is kept for a replacement is used for everybody else."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model import Bind, ClusterState, Node, Pod, PodKind, PodSpec, Wait, WorkloadKey
from ecotone.model.decisions import Preempt
from ecotone.model.objects import Reservation
from ecotone.scheduling import Profile, Use, decide
from ecotone.scheduling.explanation import explain
from ecotone.scheduling.reservations import Reservations

PROFILE = Profile("fit", enabled=(Use("PrioritySort"), Use("NodeResourcesFit"), Use("FirstFit", 1000)))
SPEC = PodSpec(requests=(("cpu", 1000),), nonzero=(1000, 0))
MOVED, OTHER = WorkloadKey("default", "moved"), WorkloadKey("default", "other")


def pod(name: str, workload: WorkloadKey, *, created: float = 0.0, template: str = "h1") -> Pod:
    return Pod(name, f"uid-{name}", PodKind("default", workload, spec=SPEC), created=created, template_hash=template)


def cluster(*pods: Pod, expires: float = 60.0) -> ClusterState:
    """One core on each of two nodes; `b` is kept for the replacement of a pod of `moved`."""
    state = ClusterState(now=10.0)
    state.set_nodes(Node(name, {"cpu": 1000, "memory": 1 << 30, "pods": 10}) for name in ("a", "b"))
    state.reservations = (Reservation("keep", "default", MOVED, "h1", "b", SPEC.requests, "gone", expires),)
    for each in pods:
        state.put_pod(each)
    return state


def outcome(state: ClusterState) -> dict[str, str | None]:
    found = decide(state.freeze(), PROFILE).decisions
    return {each.pod.split("/")[1]: each.node if isinstance(each, Bind) else None for each in found}


def test_another_workload_does_not_get_the_reserved_place() -> None:
    assert outcome(cluster(pod("x", OTHER), pod("y", OTHER, created=1))) == {"x": "a", "y": None}


def test_the_replacement_takes_it_though_another_node_ranks_higher() -> None:
    found = decide(cluster(pod("new", MOVED)).freeze(), PROFILE).decisions
    assert found == (Bind("default/new", "b", "takes the place reserved for it by keep", uid="uid-new"),)


def test_a_pod_of_another_template_is_not_the_replacement() -> None:
    assert outcome(cluster(pod("new", MOVED, template="h2"), pod("x", OTHER, created=1))) == {"new": "a", "x": None}


def test_one_reservation_serves_one_pod() -> None:
    assert outcome(cluster(pod("r1", MOVED), pod("r2", MOVED, created=1))) == {"r1": "b", "r2": "a"}


def test_an_expired_reservation_holds_nothing() -> None:
    assert outcome(cluster(pod("x", OTHER), pod("y", OTHER, created=1), expires=5.0)) == {"x": "a", "y": "b"}


def test_a_reserved_node_that_no_longer_fits_falls_back_to_the_best_other() -> None:
    state = cluster(pod("new", MOVED))
    state.put_pod(Pod("squatter", "s", PodKind("default", OTHER, spec=SPEC), node="b", phase="Running"))
    assert outcome(state) == {"new": "a"}


def test_waiting_pods_say_that_nothing_is_free() -> None:
    (_, second) = decide(cluster(pod("x", OTHER), pod("y", OTHER, created=1)).freeze(), PROFILE).decisions
    assert isinstance(second, Wait)
    assert second.why == "0/2 nodes are available: 2 Insufficient cpu."


def ending(name: str, *, node: str = "b", deleting: bool = True) -> Pod:
    kind = PodKind("default", OTHER, spec=SPEC)
    return Pod(name, f"uid-{name}", kind, node=node, phase="Running", deleting=deleting)


def test_a_replacement_waits_for_its_place_while_pods_that_are_ending_still_take_it() -> None:
    state = cluster(pod("new", MOVED))
    state.put_pod(ending("old"))
    (wait,) = decide(state.freeze(), PROFILE).decisions
    assert isinstance(wait, Wait) and wait.seconds == 50.0
    assert wait.why == "waits for the place reserved for it by keep: pods that are ending still take room on b"
    state.drop_pod("default/old")
    assert outcome(state) == {"new": "b"}


def test_a_place_that_others_take_too_is_not_waited_for() -> None:
    state = cluster(pod("new", MOVED))
    state.put_pod(ending("old"))
    state.put_pod(ending("stays", deleting=False))
    assert outcome(state) == {"new": "a"}


def test_a_place_that_is_waited_for_is_kept_from_others() -> None:
    half = PodSpec(requests=(("cpu", 500),), nonzero=(500, 0))
    state = cluster(pod("new", MOVED), Pod("x", "uid-x", PodKind("default", OTHER, spec=half), created=1.0))
    state.put_pod(Pod("old", "uid-old", PodKind("default", OTHER, spec=half), node="b", phase="Running", deleting=True))
    state.put_pod(ending("full", node="a", deleting=False))
    assert outcome(state) == {"new": None, "x": None}


def test_what_is_waited_for_has_an_end() -> None:
    state = cluster(pod("new", MOVED), expires=5.0)
    state.put_pod(ending("old"))
    assert outcome(state) == {"new": "a"}


def urgent(name: str, priority: int, *, cpu: int = 1000) -> Pod:
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0), priority=priority)
    return Pod(name, f"uid-{name}", PodKind("default", OTHER, spec=spec))


def full(*pods: Pod, kept_for: int = 0) -> ClusterState:
    """Node `a` is full, and `b` is kept for a replacement of this priority."""
    state = cluster(*pods)
    held = replace(SPEC, priority=500)
    state.put_pod(Pod("squatter", "s", PodKind("default", OTHER, spec=held), node="a", phase="Running"))
    state.reservations = (msgspec.structs.replace(state.reservations[0], priority=kept_for),)
    return state


def test_a_pod_of_higher_priority_does_not_wait_behind_what_is_kept_for_a_lesser_one() -> None:
    state = full(urgent("urgent", 1_000_000))
    (found,) = decide(state.freeze(), PROFILE).decisions
    assert isinstance(found, Bind) and found.node == "b" and "lower priority" in found.why
    assert explain(state.freeze(), PROFILE, "default/urgent").node == "b"


@pytest.mark.parametrize("priority", [-5, 0, 7])
def test_who_is_no_more_important_waits(priority: int) -> None:
    assert outcome(full(urgent("x", priority), kept_for=7)) == {"x": None}


def test_free_room_is_taken_before_kept_room() -> None:
    state = cluster(urgent("urgent", 9), urgent("second", 9))
    assert outcome(state) == {"urgent": "a", "second": "b"} or outcome(state) == {"second": "a", "urgent": "b"}


def test_the_replacement_of_room_that_was_taken_looks_elsewhere() -> None:
    state = full(urgent("urgent", 9), pod("new", MOVED))
    assert outcome(state) == {"urgent": "b", "new": None}


def test_where_kept_room_is_not_enough_it_is_preempted_together_with_pods() -> None:
    """A pod of 1500 millicores on a node where 1000 run and 1000 are kept."""
    state = ClusterState(now=10.0)
    state.set_nodes([Node("b", {"cpu": 2000, "memory": 1 << 30, "pods": 10})])
    state.put_pod(Pod("low", "low", PodKind("default", OTHER, spec=SPEC), node="b", phase="Running"))
    state.reservations = (Reservation("keep", "default", MOVED, "", "b", SPEC.requests, "gone", 60.0),)
    state.put_pod(urgent("urgent", 9, cpu=1500))
    enabled = (Use("PrioritySort"), Use("NodeResourcesFit"), Use("DefaultPreemption"), Use("FirstFit", 1000))
    (found,) = decide(state.freeze(), Profile("fit", enabled=enabled)).decisions
    assert isinstance(found, Preempt) and (found.node, found.victims) == ("b", ("default/low",))


def many(count: int, *, cpu: int) -> ClusterState:
    """Places of so many replacements on one node of four cores."""
    state = ClusterState(now=10.0)
    state.set_nodes([Node("b", {"cpu": 4000, "memory": 1 << 30, "pods": 10})])
    state.reservations = tuple(
        Reservation(
            f"keep-{number}", "default", WorkloadKey("default", f"w{number}"), "", "b", (("cpu", cpu),), "u", 60.0
        )
        for number in range(count)
    )
    return state


@pytest.mark.parametrize(("count", "cpu", "held"), [(4, 1000, 2000), (1, 3000, 3000), (2, 3000, 3000), (5, 500, 2000)])
def test_moves_hold_one_place_of_a_node_or_half_of_it(count: int, cpu: int, held: int) -> None:
    state = many(count, cpu=cpu)
    kept = Reservations(state)
    assert state.usage.requested[0, 0] == held
    taken = [kept.claim(pod("new", WorkloadKey("default", f"w{number}"))) for number in range(count)]
    assert all(taken), "also those that hold nothing show the way"
    assert state.usage.requested[0, 0] == 0


def test_whoever_makes_moves_counts_all_places_that_are_kept() -> None:
    state = many(4, cpu=1000)
    Reservations(state, share=None)
    assert state.usage.requested[0, 0] == 4000


@given(
    places=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 900)), max_size=12),
    steps=st.lists(st.tuples(st.sampled_from(["claim", "back", "push"]), st.integers(0, 3)), max_size=20),
)
def test_what_is_held_and_given_back_comes_out_even(
    places: list[tuple[int, int, int]], steps: list[tuple[str, int]]
) -> None:
    state = ClusterState(now=10.0)
    state.set_nodes(Node(f"n{number}", {"cpu": 1000, "memory": 1 << 30, "pods": 10}) for number in range(4))
    state.reservations = tuple(
        Reservation(
            f"r{number}",
            "default",
            WorkloadKey("default", f"w{place}"),
            "",
            f"n{place}",
            (("cpu", cpu),),
            "u",
            60.0,
            "",
            priority,
        )
        for number, (place, priority, cpu) in enumerate(places)
    )
    kept = Reservations(state)
    claimed: list[Reservation] = []
    for step, number in steps:
        if step == "claim":
            found = kept.claim(pod("new", WorkloadKey("default", f"w{number}")))
            claimed += [found] if found is not None else []
        elif step == "back" and claimed:
            kept.give_back(claimed.pop())
        elif step == "push":
            kept.hold_again(kept.release(number), but=f"n{number}")
    for number in range(4):
        while kept.claim(pod("new", WorkloadKey("default", f"w{number}"))):
            pass
    assert not state.usage.requested.any() and not state.usage.pod_count.any()
