"""What the next measurement will show, guessed from the last two."""

from __future__ import annotations

import pytest

from descheduling.applications import chain, nodes
from ecotone.descheduling.plans.rates import Rates
from ecotone.model import ClusterState
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import applications

NAMES = ("one", "two", "cloud")


def measured(users: dict[str, float], memory: dict[str, object] | None = None) -> tuple[ClusterState, CallGraph]:
    state = nodes(*NAMES, rtt=60.0)
    chain(state, ["one"] * 2, users=users)
    state.memory = memory or {}
    (application,) = applications(state)
    return state, application


def after(*measurements: dict[str, float]) -> tuple[CallGraph, CallGraph]:
    """The application as measured last, and as it is taken to become; a measurement takes 30 seconds, asking again 10."""
    memory: dict[str, object] = {}
    moment, last = 0.0, None
    for users in measurements:
        state, application = measured(users, memory)
        moment += 10.0 if users == last else 30.0
        state.now, last = moment, users
        rates = Rates(state)
        rates.note(application)
        memory = rates.write({})
    return application, rates.ahead(application)


def by_site(application: CallGraph) -> dict[str, float]:
    return {name: float(application.users[:, place].sum()) for place, name in enumerate(NAMES)}


def test_users_seen_half_way_are_taken_to_have_moved() -> None:
    _, ahead = after({"one": 20.0}, {"one": 10.0, "two": 10.0})
    assert by_site(ahead) == {"one": 0.0, "two": pytest.approx(20.0), "cloud": 0.0}


def test_a_load_that_only_moved_keeps_its_size() -> None:
    now, ahead = after({"one": 10.0, "two": 10.0}, {"two": 20.0})
    assert by_site(ahead)["two"] == pytest.approx(20.0)
    assert [call.rate for call in ahead.calls] == pytest.approx([20.0, 20.0])
    assert ahead.use == pytest.approx(now.use)


def test_a_load_that_grows_goes_on_growing_and_needs_more_cpu() -> None:
    now, ahead = after({"one": 10.0}, {"one": 10.1}, {"one": 15.0})
    assert ahead.rate == pytest.approx(19.9)
    assert ahead.use == pytest.approx(now.use * 19.9 / 15.0)
    assert [call.rate for call in ahead.calls] == pytest.approx([19.9, 19.9])


@pytest.mark.parametrize("first", [{"one": 10.0}, {"one": 5.0, "two": 5.0}])
def test_a_load_that_has_just_come_is_taken_as_it_is_when_it_has_filled_the_window(first: dict[str, float]) -> None:
    """Users came at once, half a window before the first measurement: the second shows all of them."""
    now, ahead = after(first, {"one": 20.0})
    assert ahead.rate == pytest.approx(20.0)
    assert ahead.use == pytest.approx(now.use)
    assert [call.rate for call in ahead.calls] == pytest.approx([call.rate for call in now.calls])


def test_a_load_that_has_grown_twice_is_taken_as_it_is() -> None:
    now, ahead = after({"one": 10.0}, {"one": 10.1}, {"one": 15.0}, {"one": 20.0})
    assert ahead.rate == pytest.approx(now.rate)
    assert ahead.use == pytest.approx(now.use)


def test_a_load_that_shrinks_is_not_taken_to_vanish() -> None:
    now, ahead = after({"one": 20.0}, {"one": 10.0})
    assert ahead.rate == pytest.approx(now.rate)
    assert ahead.use == pytest.approx(now.use)


def test_small_changes_are_chance() -> None:
    now, ahead = after({"one": 10.0, "two": 10.0}, {"one": 9.0, "two": 10.5})
    assert ahead is now


def test_asking_again_before_anything_is_measured_changes_nothing() -> None:
    _, ahead = after({"one": 20.0}, {"one": 10.0, "two": 10.0}, {"one": 10.0, "two": 10.0})
    assert by_site(ahead)["two"] == pytest.approx(20.0)


def test_a_first_measurement_and_a_memory_from_elsewhere_tell_nothing() -> None:
    now, ahead = after({"one": 20.0})
    assert ahead is now
    state, application = measured({"one": 5.0}, {"rates": {"default/api": [3.0, None], "default/web": "x"}})
    rates = Rates(state)
    rates.note(application)
    assert rates.new(application)
    assert rates.ahead(application) is application


def test_figures_that_have_stood_for_as_long_as_they_took_to_change_have_settled() -> None:
    memory: dict[str, object] = {}
    came = []
    for moment, users in ((0.0, {"one": 20.0}), (30.0, {"one": 10.0, "two": 10.0}), (45.0, None), (60.0, None)):
        state, application = measured(users or {"one": 10.0, "two": 10.0}, memory)
        state.now = moment
        rates = Rates(state)
        rates.note(application)
        memory = rates.write({})
        came.append(by_site(rates.ahead(application))["two"])
    assert came == pytest.approx([0.0, 20.0, 20.0, 10.0])
