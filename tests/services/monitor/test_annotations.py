"""What is written, and what is left alone."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from ecotone.manifests import keys
from ecotone.manifests.times import show_time
from ecotone.services.monitor.annotations import NODE_KEYS, SCALAR, WORKLOAD_KEYS, Measured, Rules, plan
from ecotone.telemetry.families import Figure

RULES = Rules(dead_band=0.05, max_age=300)
NOW = 1_800_000_000.0


def latencies(at: float = NOW - 5, **peers: float) -> dict[str, Measured]:
    return {keys.LATENCIES: Measured({peer: Figure(value, at) for peer, value in peers.items()})}


def written(*, age: float = 10, **peers: float) -> dict[str, str]:
    return {keys.LATENCIES: json.dumps(peers), keys.MEASURED_AT: show_time(NOW - age)}


def node_plan(measured: dict[str, Measured], there: dict[str, str]) -> dict[str, str] | None:
    return plan(measured, there, of=NODE_KEYS, now=NOW, rules=RULES)


def test_the_first_measurement_is_written_with_the_time_of_its_sample() -> None:
    found = node_plan(
        {
            keys.AVAILABLE_CPU: Measured({SCALAR: Figure(1500.4, NOW - 7)}),
            keys.AVAILABLE_MEMORY: Measured({SCALAR: Figure(1e9, NOW - 3)}),
            **latencies(b=25.0),
        },
        {},
    )
    assert found == {
        keys.AVAILABLE_CPU: "1500m",
        keys.AVAILABLE_MEMORY: "1000000000",
        keys.LATENCIES: '{"b":25.0}',
        keys.MEASURED_AT: show_time(NOW - 7),
    }


def test_nothing_measured_and_nothing_written_is_nothing_to_do() -> None:
    assert node_plan({}, {}) is None
    assert node_plan({}, {"other/key": "1"}) is None


def test_a_value_within_the_dead_band_is_left_alone() -> None:
    assert node_plan(latencies(b=10.4), written(b=10.0)) is None


def test_a_value_beyond_the_dead_band_is_written() -> None:
    found = node_plan(latencies(b=10.6), written(b=10.0))
    assert found is not None and json.loads(found[keys.LATENCIES]) == {"b": 10.6}


def test_a_new_peer_is_written_though_the_others_did_not_move() -> None:
    found = node_plan(latencies(b=10.0, c=5.0), written(b=10.0))
    assert found is not None and json.loads(found[keys.LATENCIES]) == {"b": 10.0, "c": 5.0}


def test_measured_at_is_refreshed_every_third_of_the_age_although_nothing_changed() -> None:
    assert node_plan(latencies(at=NOW, b=10.0), written(age=99, b=10.0)) is None
    found = node_plan(latencies(at=NOW, b=10.0), written(age=101, b=10.0))
    assert found is not None and found[keys.MEASURED_AT] == show_time(NOW)


def test_a_value_that_was_not_measured_is_kept_with_its_time() -> None:
    assert node_plan(latencies(c=5.0), written(age=100, b=10.0, c=5.0)) is None
    found = node_plan(latencies(c=6.0), written(age=100, b=10.0, c=5.0))
    assert found is not None
    assert json.loads(found[keys.LATENCIES]) == {"b": 10.0, "c": 6.0}
    assert found[keys.MEASURED_AT] == show_time(NOW - 100)


def test_a_value_that_is_measured_no_more_goes_before_it_makes_the_others_stale() -> None:
    found = node_plan(latencies(c=5.0), written(age=201, b=10.0, c=5.0))
    assert found is not None
    assert json.loads(found[keys.LATENCIES]) == {"c": 5.0}
    assert found[keys.MEASURED_AT] == show_time(NOW - 5)


def test_when_everything_is_old_everything_goes() -> None:
    assert node_plan({}, written(age=199, b=10.0)) is None
    assert node_plan({}, written(age=201, b=10.0)) == {}


def test_a_peer_that_is_gone_is_not_kept() -> None:
    measured = {keys.LATENCIES: Measured({"c": Figure(5.0, NOW)}, carries={"c"}.__contains__)}
    found = node_plan(measured, written(b=10.0, c=5.0))
    assert found is not None and json.loads(found[keys.LATENCIES]) == {"c": 5.0}


def test_traffic_that_ended_is_removed_at_once() -> None:
    there = {keys.TRAFFIC: '{"db":100,"cache":7}', keys.MEASURED_AT: show_time(NOW - 10)}
    measured = {
        keys.TRAFFIC: Measured({"db": Figure(0.0, NOW), "cache": Figure(7.0, NOW)}, zero_is_absent=True),
    }
    found = plan(measured, there, of=WORKLOAD_KEYS, now=NOW, rules=RULES)
    assert found is not None and json.loads(found[keys.TRAFFIC]) == {"cache": 7.0}


def test_nan_and_infinity_are_never_written() -> None:
    found = node_plan(latencies(b=math.nan, c=math.inf, d=3.0), {})
    assert found is not None and json.loads(found[keys.LATENCIES]) == {"d": 3.0}


def test_values_without_a_time_or_with_one_from_the_future_are_replaced() -> None:
    for there in ({keys.LATENCIES: '{"b":10}'}, {**written(b=10.0), keys.MEASURED_AT: show_time(NOW + 60)}):
        found = node_plan(latencies(b=10.0), there)
        assert found is not None and found[keys.MEASURED_AT] == show_time(NOW - 5)


def test_half_a_write_of_somebody_else_is_replaced() -> None:
    found = node_plan(latencies(b=10.0), {keys.LATENCIES: '{"b": ', keys.MEASURED_AT: show_time(NOW - 10)})
    assert found is not None and json.loads(found[keys.LATENCIES]) == {"b": 10.0}


def test_coordinates_are_read_back_as_they_were_written() -> None:
    axes = {"0": -1.5, "1": 2.0, "10": 0.25, "2": 3.0, "height": 0.5, "error": 0.1}
    measured = {keys.COORDINATES: Measured({axis: Figure(value, NOW) for axis, value in axes.items()})}
    found = node_plan(measured, {})
    assert found is not None
    assert json.loads(found[keys.COORDINATES]) == {"vector": [-1.5, 2.0, 3.0, 0.25], "height": 0.5, "error": 0.1}


values = st.dictionaries(st.sampled_from("abcde"), st.floats(0, 1e9), max_size=5)


@given(values, values, st.floats(0, 600), st.floats(0, 200))
def test_a_plan_carried_out_leaves_nothing_to_plan(
    old: dict[str, float], new: dict[str, float], age: float, sample_age: float
) -> None:
    there = written(age=age, **old) if old else {}
    measured = latencies(at=NOW - sample_age, **new)
    first = node_plan(measured, there)
    after = there if first is None else first
    if sample_age < RULES.refresh:
        assert node_plan(measured, after) is None
    at = keys.measured_at(after)
    assert (at is None) == (keys.LATENCIES not in after)
    assert at is None or at <= NOW - min(age, sample_age) + 0.001


@given(values, values, st.floats(0, 600))
def test_what_readers_see_is_never_older_than_two_thirds_of_the_age_and_never_off_by_more_than_the_band(
    old: dict[str, float], new: dict[str, float], age: float
) -> None:
    there = written(age=age, **old) if old else {}
    found = node_plan(latencies(at=NOW, **new), there)
    after = there if found is None else found
    shown = keys.latencies(after) or {}
    at = keys.measured_at(after)
    if shown:
        assert at is not None and NOW - at <= RULES.keep
    for peer, exact in new.items():
        value = keys.number(exact) or 0.0
        assert abs(shown[peer] - value) <= 0.0501 * max(shown[peer], value)
    assert set(shown) <= set(old) | set(new)
