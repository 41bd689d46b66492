"""The queue's promises: order, back-off, gates, and waking up exactly those that a change could help."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.model.objects import Pod, PodKind, PodSpec, WorkloadKey
from ecotone.services.scheduler.queue import Entry, Place, SchedulingQueue


def pod(name: str, *, priority: int = 0, workload: str = "w", gates: tuple[str, ...] = ()) -> Pod:
    spec = PodSpec(priority=priority, gates=gates)
    return Pod(name, f"uid-{name}", PodKind("default", WorkloadKey("default", workload), spec=spec))


def queue(let_in: Container[str] = (), **options: float) -> SchedulingQueue[str]:
    """Events are plugin names; an event helps a pod that this plugin rejected."""
    return SchedulingQueue(
        key=lambda pod: -pod.spec.priority,
        helps=lambda event, entry: event in entry.rejected_by,
        gate=lambda pod: "Gates" if pod.spec.gates and pod.name not in let_in else None,
        **options,
    )


def names(entries: list[Entry]) -> list[str]:
    return [entry.pod.name for entry in entries]


def test_higher_priority_first_then_the_longest_waiting() -> None:
    line = queue()
    for at, (name, priority) in enumerate([("a", 0), ("b", 5), ("c", 0), ("d", 5)]):
        line.add(pod(name, priority=priority), now=at)
    assert names(line.pop(now=9, limit=10, same=lambda _: 1)) == ["b", "d", "a", "c"]


def test_a_batch_is_the_run_of_equals_at_the_head() -> None:
    line = queue()
    for name, workload in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")]:
        line.add(pod(name, workload=workload), now=0)
    same = lambda pod: pod.kind  # noqa: E731
    assert names(line.pop(now=0, limit=10, same=same)) == ["a", "b"]
    assert names(line.pop(now=0, limit=10, same=same)) == ["c"]
    assert names(line.pop(now=0, limit=10)) == ["d"]
    assert line.pop(now=0, limit=10) == []


def test_an_unschedulable_pod_wakes_only_for_what_helps_and_after_its_back_off() -> None:
    line = queue()
    line.add(pod("a"), now=0)
    (entry,) = line.pop(now=0, limit=1)
    line.unschedulable(entry, rejected_by=frozenset({"Fit"}), now=0)
    assert line.happened("Taints", now=0.5, name="x") == 0
    assert line.size(Place.UNSCHEDULABLE) == 1
    assert line.happened("Fit", now=0.5, name="x") == 1
    assert line.pop(now=0.9, limit=1) == []
    assert line.next_moment() == 1.0
    (entry,) = line.pop(now=1.0, limit=1)
    assert entry.attempts == 2


def test_back_off_doubles_up_to_ten_seconds() -> None:
    line = queue()
    line.add(pod("a"), now=0)
    now, delays = 0.0, []
    for _ in range(6):
        (entry,) = line.pop(now=now, limit=1)
        line.retry(entry, now=now)
        moment = line.next_moment()
        assert moment is not None
        delays.append(moment - now)
        now = moment
    assert delays == [1, 2, 4, 8, 10, 10]


def test_a_change_during_the_decision_is_not_missed() -> None:
    line = queue()
    line.add(pod("a"), now=0)
    (entry,) = line.pop(now=0, limit=1)
    line.happened("Fit", now=0, name="x")
    line.unschedulable(entry, rejected_by=frozenset({"Fit"}), now=0)
    assert line.size(Place.BACKOFF) == 1
    (entry,) = line.pop(now=1, limit=1)
    line.happened("Taints", now=1, name="x")
    line.unschedulable(entry, rejected_by=frozenset({"Fit"}), now=1)
    assert line.size(Place.UNSCHEDULABLE) == 1


def test_the_safety_flush_after_five_minutes() -> None:
    line = queue()
    line.add(pod("a"), now=0)
    (entry,) = line.pop(now=0, limit=1)
    line.unschedulable(entry, rejected_by=frozenset({"Fit"}), now=0)
    assert line.pop(now=299, limit=1) == []
    assert names(line.pop(now=300, limit=1)) == ["a"]


def test_a_gated_pod_waits_until_its_gates_are_gone() -> None:
    line = queue()
    line.add(pod("a", gates=("wait",)), now=0)
    line.happened("Fit", now=0, name="x")
    assert line.pop(now=1_000, limit=1) == []
    line.add(pod("a"), now=1_000)
    assert names(line.pop(now=1_000, limit=1)) == ["a"]


def test_an_event_that_helps_the_plugin_at_the_gate_has_it_asked_again() -> None:
    let_in: set[str] = set()
    line = queue(let_in)
    for name in ("a", "b"):
        line.add(pod(name, gates=("wait",)), now=0)
    let_in.add("a")
    assert line.happened("Fit", now=1, name="x") == 0
    assert line.happened("Gates", now=2, name="x") == 1
    assert names(line.pop(now=2, limit=5, same=lambda _: 1)) == ["a"]
    assert line.size(Place.GATED) == 1


def test_a_change_of_the_pod_itself_wakes_it() -> None:
    line = queue()
    line.add(pod("a"), now=0)
    (entry,) = line.pop(now=0, limit=1)
    line.unschedulable(entry, rejected_by=frozenset({"Fit"}), now=0)
    line.add(pod("a"), now=5)
    assert line.size(Place.UNSCHEDULABLE) == 1
    changed = pod("a")
    line.add(replace(changed, kind=replace(changed.kind, labels=(("size", "small"),))), now=5)
    assert names(line.pop(now=5, limit=1)) == ["a"]


def test_a_removed_pod_never_comes_back() -> None:
    line = queue()
    line.add(pod("a"), now=0)
    (entry,) = line.pop(now=0, limit=1)
    line.remove("uid-a")
    line.unschedulable(entry, rejected_by=frozenset(), now=0)
    assert len(line) == 0
    assert line.pop(now=999, limit=1) == []


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "pop", "fail", "retry", "done", "event", "remove", "gate", "time"]), st.integers(0, 5)
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(ACTIONS)
def test_every_pod_is_in_exactly_one_place(actions: list[tuple[str, int]]) -> None:
    line = queue(flush_after=7)
    now = 0.0
    expected: set[str] = set()
    flying: list[Entry] = []
    for action, number in actions:
        now += 0.5
        name = f"p{number}"
        match action:
            case "add" | "gate":
                line.add(pod(name, gates=("g",) if action == "gate" else ()), now=now)
                expected.add(f"uid-{name}")
            case "pop":
                flying += line.pop(now=now, limit=2, same=lambda _: 1)
            case "fail" if flying:
                line.unschedulable(flying.pop(), rejected_by=frozenset({f"f{number % 2}"}), now=now)
            case "retry" if flying:
                entry = flying.pop()
                if entry.pod.uid in expected:
                    line.retry(entry, now=now)
            case "done" if flying:
                entry = flying.pop()
                line.done(entry.pod.uid)
                expected.discard(entry.pod.uid)
                flying = [one for one in flying if one.pod.uid != entry.pod.uid]
            case "remove":
                line.remove(f"uid-{name}")
                expected.discard(f"uid-{name}")
                flying = [one for one in flying if one.pod.uid != f"uid-{name}"]
            case "event":
                line.happened(f"f{number % 2}", now=now, name="x")
            case "time":
                now += number
        assert {entry.pod.uid for entry in line} == expected
        assert sum(line.size(place) for place in Place) == len(expected)
        assert line.size(Place.IN_FLIGHT) == len(flying)
    for entry in flying:
        line.done(entry.pod.uid)
    free = {entry.pod.uid for entry in line if entry.place is not Place.GATED}
    popped: set[str] = set()
    while batch := line.pop(now=now + 1_000, limit=100, same=lambda _: 1):
        assert not popped & {entry.pod.uid for entry in batch}
        popped |= {entry.pod.uid for entry in batch}
    assert popped == free
