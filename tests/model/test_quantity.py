"""Kubernetes quantities: exact, rounded up like Kubernetes, and shown as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model import quantity
from ecotone.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("0", 0), ("1", 1), ("+1", 1), ("-3", -3), (".5", Fraction(1, 2)), ("1.", 1), ("0.1", Fraction(1, 10)),
        ("100m", Fraction(1, 10)), ("5n", Fraction(5, 10**9)), ("7u", Fraction(7, 10**6)), ("2k", 2000),
        ("3M", 3 * 10**6), ("4G", 4 * 10**9), ("5T", 5 * 10**12), ("6P", 6 * 10**15), ("7E", 7 * 10**18),
        ("1Ki", 1024), ("1.5Gi", 3 << 29), ("2Mi", 2 << 20), ("1Ti", 1 << 40), ("1Pi", 1 << 50), ("1Ei", 1 << 60),
        ("2e3", 2000), ("2E-3", Fraction(1, 500)), ("1e+2", 100), (7, 7), (0.25, Fraction(1, 4)), (0.1, Fraction(1, 10)),
    ],
)  # fmt: skip
def test_every_form_is_exact(text: str | float, exact: Fraction | int) -> None:
    assert quantity.parse(text) == exact


@pytest.mark.parametrize("text", ["", "m", "1 Gi", "1gi", "1Kib", "1e", "1e3m", "1e99", "0x10", "1,5", "--1", "1" * 80])
def test_what_is_no_quantity_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(InputError, match="quantity"):
        quantity.parse(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_must_be_finite(number: float) -> None:
    with pytest.raises(InputError, match="not a number"):
        quantity.parse(number)


def test_an_unknown_suffix_names_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        quantity.parse("3GB")
    assert "'GB'" in caught.value.message
    assert "Gi" in (caught.value.hint or "")


def test_rounding_is_up() -> None:
    assert quantity.milli("0.0001") == 1
    assert quantity.milli("1") == 1000
    assert quantity.value("1.1") == 2
    assert quantity.value("100m") == 1
    assert quantity.of_resource("cpu", "1500m") == 1500
    assert quantity.of_resource("memory", "1.5Ki") == 1536
    assert quantity.of_resource("example.com/gpu", "2") == 2


@given(st.integers(0, 10**12), st.sampled_from(quantity.SUFFIXES))
def test_a_suffix_multiplies(number: int, suffix: str) -> None:
    assert quantity.parse(f"{number}{suffix}") == number * quantity.parse(f"1{suffix}")


def test_figures_are_shown_as_people_write_them() -> None:
    assert quantity.show_cpu(250) == "250m"
    assert quantity.show_cpu(2000) == "2"
    assert quantity.show_bytes(64 << 20) == "64Mi"
    assert quantity.show_bytes(3 << 29) == "1.5Gi"
    assert quantity.show_bytes(12) == "12"
    assert quantity.show("cpu", 1500) == "1.5"
    assert quantity.show("memory", 1024) == "1Ki"
    assert quantity.show("hugepages-2Mi", 2 << 20) == "2Mi"
    assert quantity.show("example.com/gpu", 3) == "3"
