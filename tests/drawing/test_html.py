"""Markup: nothing a name contains changes what stands beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.drawing.html import element

CONTROLS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("code", CONTROLS)
def test_controls_of_direction_are_written_out_by_number(code: int) -> None:
    name = f"edge{chr(code)}gpj.exe"
    for found in (element("td", name), element("td", "x", title=name)):
        assert chr(code) not in found
        assert f"edge[U+{code:04X}]gpj.exe" in found


def test_names_from_right_to_left_are_isolated_from_their_neighbours() -> None:
    assert element("td", "שרת-1", ": 3 ms") == "<td>\u2068שרת-1\u2069: 3 ms</td>"
    assert element("td", "Grüße, 日本") == "<td>Grüße, 日本</td>"


@given(st.text(alphabet=[*map(chr, CONTROLS), "a", "א", "<", "1"], max_size=20))
def test_isolates_are_closed_whatever_the_name_holds(name: str) -> None:
    found = element("td", name)
    assert (found.count("\u2068"), found.count("\u2069")) in ((0, 0), (1, 1))
    assert not any(chr(code) in found.replace("\u2068", "").replace("\u2069", "") for code in CONTROLS)
    assert found.endswith("</td>")
