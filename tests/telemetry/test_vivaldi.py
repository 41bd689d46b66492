"""Network coordinates: laws, and how well they predict."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.telemetry.vivaldi import DIMENSIONS, ERROR_LIMIT, Coordinates, Place, predicted
from telemetry.convergence import median_error
from telemetry.geography import violated, world

ROUNDS = 600

coordinates = st.floats(-1000, 1000)
places = st.builds(
    Place,
    st.lists(coordinates, min_size=DIMENSIONS, max_size=DIMENSIONS).map(tuple),
    st.floats(0, 100),
    st.floats(0, ERROR_LIMIT),
)
anything = st.floats(allow_nan=True, allow_infinity=True)


@given(places, places)
def test_a_prediction_is_the_same_both_ways_and_never_negative(one: Place, other: Place) -> None:
    assert predicted(one, other) == predicted(other, one) >= 0


@given(st.lists(st.tuples(st.sampled_from("abc"), places, anything), max_size=60))
def test_whatever_is_observed_the_place_stays_sane(observations: list[tuple[str, Place, float]]) -> None:
    own = Coordinates("own")
    for peer, place, rtt in observations:
        own.observe(peer, place, rtt)
        assert own.place.sane
        assert 0 <= own.place.error <= ERROR_LIMIT


@given(anything, anything, anything)
def test_nonsense_from_a_peer_is_not_taken(value: float, height: float, error: float) -> None:
    place = Place((value,) * DIMENSIONS, height, error)
    own = Coordinates("own")
    before = own.place
    if not place.sane:
        assert not own.observe("peer", place, 10.0)
        assert own.place == before


@pytest.mark.parametrize("rtt", [0.0, -1.0, math.nan, math.inf, 1e9])
def test_a_round_trip_that_cannot_be_is_not_taken(rtt: float) -> None:
    assert not Coordinates("own").observe("peer", Place((0.0,) * DIMENSIONS, 1.0, 0.5), rtt)


def test_a_place_of_another_dimension_is_not_taken() -> None:
    assert not Coordinates("own").observe("peer", Place((0.0, 0.0), 1.0, 0.5), 10.0)


def test_two_nodes_agree_on_their_distance() -> None:
    one, other = Coordinates("one"), Coordinates("other")
    for _ in range(100):
        one.observe("other", other.place, 50.0)
        other.observe("one", one.place, 50.0)
    assert predicted(one.place, other.place) == pytest.approx(50.0, rel=0.02)
    assert one.place.error < 0.1


def test_one_delayed_packet_does_not_push_a_node_away() -> None:
    one, other = Coordinates("one"), Coordinates("other")
    for _ in range(100):
        one.observe("other", other.place, 50.0)
        other.observe("one", one.place, 50.0)
    before = predicted(one.place, other.place)
    one.observe("other", other.place, 2000.0)
    assert predicted(one.place, other.place) == pytest.approx(before, rel=0.02)


def test_the_median_error_is_below_a_tenth_with_sixteen_neighbours_each() -> None:
    matrix = world(200, seed=1)
    assert violated(matrix) == 0
    assert median_error(matrix, rounds=ROUNDS, seed=1) < 0.10


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_and_with_a_tenth_of_all_triangles_violated(seed: int) -> None:
    matrix = world(200, seed=seed, detours=0.087)
    assert 0.095 <= violated(matrix) <= 0.125
    assert median_error(matrix, rounds=ROUNDS, seed=seed) < 0.10
