"""Figures as people read them: three significant digits, a unit, a dash where there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isfinite, log10

NOTHING = "–"
_GAP = "\N{NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"


def number(value: object) -> float | None:
    """What is a finite number, as one; None otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def pair(value: object) -> tuple[float, float] | None:
    """An interval, if it is one."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return None
    low, high = number(value[0]), number(value[1])
    return None if low is None or high is None else (low, high)


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def middle(values: Sequence[float]) -> float:
    """The median."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2.0


def three_digits(value: float) -> str:
    if value == 0.0:
        return "0"
    decimals = max(0, 2 - floor(log10(abs(value))))
    text = f"{abs(value):,.{min(decimals, 6)}f}".replace(",", _GAP)
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return (_MINUS if value < 0.0 else "") + text


def ms(value: float | None, *, unit: bool = True) -> str:
    if value is None:
        return NOTHING
    return three_digits(value) + (f"{_GAP}ms" if unit else "")


def percent(share: float | None, *, signed: bool = False, exact: bool = False) -> str:
    """Whole from ten on, unless `exact`: the ends of a narrow interval differ behind the point."""
    if share is None:
        return NOTHING
    points = 100.0 * share
    text = f"{abs(points):.0f}" if abs(points) >= 10.0 and not exact else f"{abs(points):.1f}".removesuffix(".0")
    sign = "" if text == "0" else (_MINUS if points < 0.0 else "+" if signed else "")
    return f"{sign}{text}{_GAP}%"


def small_share(share: float | None) -> str:
    """A share that is usually close to 0 %, with enough digits that a few failures do not read as none."""
    if share is None:
        return NOTHING
    if 0.0 < share < 0.0001:
        return f"<{_GAP}0.01{_GAP}%"
    return f"{100.0 * share:.2f}".rstrip("0").rstrip(".") + f"{_GAP}%"


def count(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}".replace(",", _GAP) if value == int(value) else three_digits(value)


def clock(seconds: float) -> str:
    """A moment of the run, as minutes and seconds, or hours when it is long."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
