"""Numbers as they are written down: six significant digits, nothing where there is nothing."""

from __future__ import annotations

from math import isfinite, log10, sqrt


def significant(value: float | None, digits: int = 6) -> float | None:
    """Rounded to significant digits, so that equal runs give equal bytes; None for what is not a number."""
    if value is None or not isfinite(value):
        return None
    if value == 0.0:
        return 0.0
    rounded = round(value, digits - 1 - int(log10(abs(value)) // 1))
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else significant(1000.0 * seconds)


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def interval95(values: list[float]) -> tuple[float, float] | None:
    """Student's interval for the mean; None for fewer than two values."""
    count = len(values)
    if count < 2:
        return None
    from scipy.special import stdtrit

    middle = sum(values) / count
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, 0.975)) * spread / sqrt(count)
    return middle - half, middle + half
