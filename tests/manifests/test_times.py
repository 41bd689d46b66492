import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.manifests.times import parse_time, show_time, time_or_none
from ecotone.model.errors import InputError


def test_zones_and_fractions():
    assert parse_time("1970-01-01T00:00:00Z") == 0.0
    assert parse_time("1970-01-01T02:00:00.25+02:00") == 0.25
    assert parse_time("2026-01-01T00:00:00.123456789Z") == 1767225600.123456789
    assert parse_time("1969-12-31T23:59:59.5Z") == -0.5


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "12", "0001-01-01T00:00:00+23:59",
     "9999-12-31T23:59:59-23:59"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InputError, match="not a time"):
        parse_time(text)
    assert time_or_none(text) is None


def test_nothing_said_is_no_time():
    assert time_or_none(None) is None


@given(st.floats(min_value=0, max_value=4e9, allow_nan=False))
def test_a_time_survives_writing_and_reading(seconds):
    assert parse_time(show_time(seconds)) == seconds


@given(st.floats(min_value=-1e9, max_value=0, allow_nan=False))
def test_a_time_before_1970_survives_to_the_nanosecond(seconds):
    assert parse_time(show_time(seconds)) == pytest.approx(seconds, abs=1e-6, rel=0)
