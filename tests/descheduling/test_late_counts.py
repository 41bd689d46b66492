"""While a load grows, some counters show it before others: no pod moves because the rest of a chain was not counted yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState

WATCHED: Mapping[str, object] = {"rates": {}}
"""There was a round before, in which nothing was measured."""


def mall(home: str, *, users: float, onward: float, last: float) -> ClusterState:
    """web stays with its users at the edge, db in the cloud; api between them is on this node."""
    state = nodes("edge", "cloud", rtt=50.0)
    put(state, "web", ["edge"], users={"edge": users}, calls={"api": onward})
    put(state, "api", [home], calls={"db": last})
    put(state, "db", ["cloud"])
    for pod in list(state.usage.pods()):
        if pod.kind.workload.name != "api":
            state.put_pod(replace(pod, pinned="it asks to stay"))
    return state


def after(*rounds: tuple[float, ClusterState], memory: Mapping[str, object] | None) -> list[str]:
    """Who moves in the last of these rounds, each at its moment."""
    moved: list[str] = []
    for moment, state in rounds:
        state.now = NOW + moment
        state.memory = dict(memory or {})
        found, memory = deschedule(state.freeze(), "ecotone")
        moved = sorted(each.pod for each in found)
    return moved


LAST_CALLS_LATE = mall("cloud", users=4.0, onward=4.0, last=2.0)
CALLS_IN_THE_MIDDLE_LATE = mall("edge", users=4.0, onward=2.0, last=4.0)


@pytest.mark.parametrize("state", [LAST_CALLS_LATE, CALLS_IN_THE_MIDDLE_LATE])
def test_a_chain_that_has_just_come_is_not_torn_apart_by_what_is_counted_late(state: ClusterState) -> None:
    assert after((0.0, state), memory=WATCHED) == []


@pytest.mark.parametrize("state", [LAST_CALLS_LATE, CALLS_IN_THE_MIDDLE_LATE])
def test_figures_that_were_there_before_anybody_looked_are_taken_as_they_are(state: ClusterState) -> None:
    assert after((0.0, state), memory=None) == ["default/api-0"]


def test_figures_that_have_stood_for_a_while_are_taken_as_they_are() -> None:
    assert after((0.0, LAST_CALLS_LATE), (60.0, LAST_CALLS_LATE), memory=WATCHED) == []
    assert after((0.0, LAST_CALLS_LATE), (120.0, LAST_CALLS_LATE), memory=WATCHED) == ["default/api-0"]


def test_a_load_that_grows_from_measurement_to_measurement_moves_nobody_by_halves() -> None:
    first = mall("cloud", users=2.0, onward=2.0, last=2.0)
    whole = mall("cloud", users=6.0, onward=6.0, last=6.0)
    assert after((0.0, first), (5.0, LAST_CALLS_LATE), memory=WATCHED) == []
    assert after((0.0, first), (5.0, LAST_CALLS_LATE), (10.0, whole), memory=WATCHED) == []


def test_a_load_that_does_not_grow_is_not_late() -> None:
    before = mall("cloud", users=4.2, onward=4.1, last=2.1)
    assert after((0.0, before), (130.0, LAST_CALLS_LATE), memory=WATCHED) == ["default/api-0"]


def test_calls_that_only_every_other_request_leads_to_are_not_late_for_long() -> None:
    """They were half as many the time before, too: that is what they are, however much the load grows."""
    first = mall("cloud", users=1.0, onward=1.0, last=0.5)
    assert after((0.0, first), memory=WATCHED) == []
    assert after((0.0, first), (5.0, LAST_CALLS_LATE), memory=WATCHED) == ["default/api-0"]


def test_messages_that_nobody_waits_for_are_not_missed() -> None:
    state = nodes("edge", "cloud", rtt=50.0)
    put(state, "web", ["cloud"], users={"edge": 4.0}, calls={"queue": 4.0}, waited=False)
    put(state, "queue", ["cloud"])
    assert after((0.0, state), memory=WATCHED) == ["default/web-0"]


def test_whoever_gains_however_late_the_rest_is_counted_moves_at_once() -> None:
    state = nodes("edge", "cloud", rtt=50.0)
    put(state, "web", ["cloud"], users={"edge": 4.0})
    assert after((0.0, state), memory=WATCHED) == ["default/web-0"]
