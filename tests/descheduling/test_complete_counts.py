"""Calls that a service has just begun to make are counted a window later than those that it makes no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans.complete_counts import CompleteCounts
from ecotone.model import ClusterState
from ecotone.model.arrays import Ints
from ecotone.scheduling.profiles.policies import resolve
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import applications

ECOTONE = resolve("ecotone")
REACH = 120.0


def shop(calls: dict[str, float], *, site: str = "edge") -> ClusterState:
    """A front-end beside its stores, far from its users."""
    state = nodes("cloud", "edge", rtt=80.0)
    put(state, "front", ["cloud"], calls=calls, users={site: 10.0})
    for name in ("carts", "items"):
        put(state, name, ["cloud"], role="database")
        stored = state.workloads[next(key for key in state.workloads if key.name == name)]
        state.put_workload(replace(stored, requests={"front": calls.get(name, 0.0)}))
    return state


def graph(state: ClusterState) -> CallGraph:
    (found,) = applications(state)
    return found


def after(*seen: tuple[float, dict[str, float]], reach: float = REACH) -> bool:
    """True if calls of the front-end may be missing, after these calls were seen at these moments."""
    memory: dict[str, object] = {}
    for moment, calls in seen:
        counts = CompleteCounts(memory, now=moment, reach=reach)
        application = graph(shop(calls))
        counts.note(application)
        memory = counts.write({})
    return counts.missing(application, elsewhere(application)) is not None


def elsewhere(application: CallGraph) -> Ints:
    """The front-end on the other node."""
    target = application.counts.copy()
    front = application.names.index(("default", "front"))
    target[front] = target[front, ::-1]
    return target


USUAL = [(float(at), {"carts": 10.0}) for at in range(-60, 90, 30)]


def test_a_service_that_calls_as_much_as_ever_may_move() -> None:
    assert not after(*USUAL)
    assert not after(*USUAL, (90.0, {"carts": 5.0, "items": 5.0}))


def test_a_service_that_seems_to_call_nobody_any_more_may_not() -> None:
    assert after(*USUAL, (90.0, {"carts": 5.0}))
    assert after(*USUAL, (90.0, {"carts": 5.0}), (120.0, {}), (150.0, {}))


def test_calls_that_end_in_small_steps_are_missed_too() -> None:
    ending = [(60.0 + 10.0 * step, {"carts": 10.0 - step}) for step in range(1, 6)]
    assert after(*USUAL, *ending)


def test_one_figure_that_was_too_high_by_chance_is_forgotten() -> None:
    usual = [(70.0 + 10.0 * step, {"carts": 8.5}) for step in range(12)]
    assert not after(*USUAL, *usual)
    assert after(*USUAL, *usual, (190.0, {"carts": 6.5}))
    assert not after(*USUAL, *usual, (190.0, {"carts": 7.5}))


def test_until_figures_have_had_the_time_to_show_whom_it_calls_instead() -> None:
    silence: list[tuple[float, dict[str, float]]] = [(90.0 + at, {}) for at in range(0, 150, 30)]
    assert not after(*USUAL, *silence)
    assert not after(*USUAL, (90.0, {}), (120.0, {"items": 10.0}))


def test_who_has_just_begun_to_receive_requests_may_not_move_until_its_calls_must_have_been_counted() -> None:
    begun: list[tuple[float, dict[str, float]]] = [(float(at), {}) for at in range(0, 120, 30)]
    assert after(*begun)
    assert not after(*begun, (120.0, {}))


def test_figures_of_the_moment_are_complete_and_nothing_is_remembered() -> None:
    assert not after(*USUAL, (90.0, {}), reach=0.0)
    counts = CompleteCounts({}, now=NOW, reach=0.0)
    counts.note(graph(shop({"carts": 10.0})))
    assert counts.write({"other": 1}) == {"other": 1}


@pytest.mark.parametrize("kept", [None, 3, {"default/front": "often"}, {"default/front": [1, 2]}])
def test_a_memory_that_is_none_is_none(kept: object) -> None:
    counts = CompleteCounts({"leaving": kept}, now=NOW, reach=REACH)
    application = graph(shop({"carts": 10.0}))
    counts.note(application)
    assert counts.missing(application, elsewhere(application)) is not None


def moves(state: ClusterState, memory: dict[str, object], *, reach: float) -> list[str]:
    assert ECOTONE.descheduler is not None
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, bound_at=NOW - 900.0))
    state.memory = memory
    found, _ = deschedule(state.freeze(), ECOTONE, replace(ECOTONE.descheduler, reach=reach))
    return [each.pod for each in found]


def remembered() -> dict[str, object]:
    memory: dict[str, object] = {}
    for moment in (NOW - 90.0, NOW - 60.0, NOW - 30.0):
        counts = CompleteCounts(memory, now=moment, reach=REACH)
        counts.note(graph(shop({"carts": 10.0})))
        memory = counts.write({})
    return memory


def test_users_alone_do_not_take_a_service_away_from_whom_it_is_about_to_call() -> None:
    """They have turned from carts to items, whose calls nobody has counted yet."""
    assert moves(shop({}), {}, reach=0.0) == ["default/front-0"]
    assert moves(shop({}), remembered(), reach=REACH) == []
    assert moves(shop({"items": 10.0}), remembered(), reach=REACH) == []
