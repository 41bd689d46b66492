"""What is kept for a replacement is used for everybody else."""

from __future__ import annotations

from ecotone.model import Bind, ClusterState, Node, Pod, PodKind, PodSpec, Wait, WorkloadKey
from ecotone.model.objects import Reservation
from ecotone.scheduling import Profile, Use, decide

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
