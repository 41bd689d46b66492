from datetime import UTC, datetime

import pytest

from ecotone.model.errors import InputError
from ecotone.scheduling.profiles.windows import is_open, parse_window


def at(text: str) -> float:
    """2026-11-16 is a Monday."""
    return datetime.strptime(f"2026-11-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("window", "moment", "expected"),
    [
        ("Mon-Fri 22:00-06:00", "16 21:59", False),
        ("Mon-Fri 22:00-06:00", "16 22:00", True),
        ("Mon-Fri 22:00-06:00", "17 05:59", True),
        ("Mon-Fri 22:00-06:00", "17 06:00", False),
        ("Mon-Fri 22:00-06:00", "16 05:00", False),  # Sunday's night is no window
        ("Mon-Fri 22:00-06:00", "21 05:00", True),  # Friday's night ends on Saturday
        ("Sat,Sun", "21 00:00", True),
        ("Sat,Sun", "20 23:59", False),
        ("Sat-Mon", "16 12:00", True),
        ("02:00-04:00", "18 03:00", True),
        ("Tue 22:00-24:00", "17 23:59", True),
    ],
)
def test_a_window_is_open_in_its_hours_and_on_its_days(window: str, moment: str, expected: bool) -> None:
    assert is_open((window,), at(moment)) is expected


def test_without_windows_moves_are_always_allowed() -> None:
    assert is_open((), 0.0)


@pytest.mark.parametrize("text", ["", "Mo", "Mon Tue", "25:00-26:00", "10:00", "10:00-10:00", "Mon-", "23:00-24:30"])
def test_what_is_no_window_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"Mon-Fri 22:00-06:00"):
        parse_window(text)
