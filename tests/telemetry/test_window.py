"""How long a window is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model.errors import InputError
from ecotone.telemetry.window import LONGEST, SCRAPES, next_window, parse_window, promql_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2m", 120), ("1m30s", 90), ("1500ms", 1.5), ("1h", 3600), ("1.5m", 90)]
)
def test_durations_are_read_as_prometheus_writes_them(text: str, seconds: float) -> None:
    assert parse_window(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "2", "m", "-2m", "2m ", "2d", "0s", "2h", "2m]", "1m) or vector(1", "9" * 40 + "s"]
)
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_window(text)


@given(st.floats(1, 3600))
def test_a_window_survives_being_written(seconds: float) -> None:
    assert abs(parse_window(promql_duration(seconds)) - seconds) <= 0.0005


@given(interval=st.floats(0.5, 600), wanted=st.floats(1, 600))
def test_the_window_grows_until_it_holds_four_scrapes_and_no_further(interval: float, wanted: float) -> None:
    window = wanted
    for _ in range(40):
        window = next_window(window, wanted=wanted, samples=float(int(window / interval)))
    assert window >= wanted
    assert int(window / interval) >= SCRAPES or window == LONGEST
    assert window <= max(wanted, 2 * (SCRAPES + 1) * interval)


def test_nothing_is_learnt_from_series_that_do_not_fill_it() -> None:
    assert next_window(120, wanted=60, samples=None) == 120
