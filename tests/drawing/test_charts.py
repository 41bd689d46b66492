"""The drawing helpers: scales, layouts, lanes, colours, numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.drawing import palette
from ecotone.drawing.charts.scale import Scale, TimeAxis, from_zero, reaching
from ecotone.drawing.charts.swimlanes import Piece, pieces
from ecotone.drawing.html import Markup, element
from ecotone.drawing.layout import layered
from ecotone.drawing.numbers import clock, ms, number, percent, small_share
from ecotone.sim.scenario.schema import NodeSpec

LIGHT_SURFACE, DARK_SURFACE = "#ffffff", "#18202a"

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
EYES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "all cones": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
}


@given(st.floats(1e-6, 1e9), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_every_value_has_a_place_and_ticks_stay_inside(top: float, shares: list[float]) -> None:
    values = [top * share for share in shares]
    scale = from_zero(values, least=top * 1e-3)
    assert all(0.0 <= scale.at(value) <= 1.0 for value in values)
    assert scale.at(max(values)) > 0.3 or max(values) < top * 1e-3
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 20
    assert all(scale.low * 0.99 <= tick <= scale.high * 1.01 for tick in ticks)


def test_one_giant_among_many_gets_a_logarithmic_scale() -> None:
    assert not from_zero([10.0, 20.0, 30.0]).logarithmic
    giant = from_zero([10.0, 20.0, 30.0, 60_000.0])
    assert giant.logarithmic
    assert giant.at(20.0) > 0.05


def test_an_interval_far_beyond_the_values_does_not_flatten_them() -> None:
    assert reaching([100.0, 200.0], ends=[210.0, 9000.0]) == Scale(0.0, 400.0)
    assert reaching([100.0, 200.0], ends=[210.0, 240.0]) == Scale(0.0, 250.0)


def test_time_is_labelled_in_a_unit_that_fits() -> None:
    assert TimeAxis(Scale(0.0, 100.0)).labels()[-1] == (100.0, "100 s")
    assert TimeAxis(Scale(0.0, 2430.0)).labels()[-1] == (2400.0, "40 min")
    assert TimeAxis(Scale(0.0, 86400.0)).labels()[-1][1].endswith(" h")


def test_callers_stand_left_of_the_called_and_nobody_shares_a_place() -> None:
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("a", "d"), ("c", "d")]
    layout = layered(["d", "c", "b", "a"], edges)
    assert {name: place[0] for name, place in layout.places.items()} == {"a": 0, "b": 1, "c": 1, "d": 2}
    assert len(set(layout.places.values())) == 4
    way = layout.ways["a", "d"]
    assert len(way) == 3
    assert way[1] not in layout.places.values()


def test_a_cycle_of_services_is_laid_out_too() -> None:
    layout = layered(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "b"), ("b", "b")])
    assert layout.places["b"][0] == layout.places["c"][0] == 1


@given(
    st.permutations(["a", "b", "c", "d", "e"]),
    st.permutations([("a", "b"), ("a", "c"), ("c", "d"), ("b", "e"), ("a", "e")]),
)
def test_a_layout_does_not_depend_on_the_order_of_its_input(nodes: list[str], edges: list[tuple[str, str]]) -> None:
    assert layered(nodes, edges) == layered(sorted(nodes), sorted(edges))


def test_a_tree_is_drawn_without_crossings() -> None:
    layout = layered(
        ["r", "a", "b", "a1", "a2", "b1", "b2"],
        [("r", "b"), ("r", "a"), ("b", "a1"), ("b", "a2"), ("a", "b1"), ("a", "b2")],
    )
    rows = {name: place[1] for name, place in layout.places.items()}
    under_a, under_b = sorted((rows["b1"], rows["b2"])), sorted((rows["a1"], rows["a2"]))
    assert (under_a[1] < under_b[0]) == (rows["a"] < rows["b"])


def test_samples_that_repeat_are_one_piece() -> None:
    samples = [(0.0, {"x": 1}), (15.0, {"x": 1}), (30.0, {"y": 1}), (45.0, {})]
    assert pieces(samples, 60.0) == [Piece(0.0, 30.0, {"x": 1}), Piece(30.0, 45.0, {"y": 1}), Piece(45.0, 60.0, {})]


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", "<a&b>", element("b", "x"), title='"') == '<p title="&quot;">&lt;a&amp;b&gt;<b>x</b></p>'
    assert isinstance(element("p"), Markup)
    assert element("p", "\x00\ud800") == "<p>\ufffd\ufffd</p>"


def test_numbers_read_well() -> None:
    assert ms(0.3) == "0.3\u00a0ms"
    assert ms(123.456) == "123\u00a0ms"
    assert ms(12345.6) == "12\u00a0346\u00a0ms"
    assert ms(None) == "–"
    assert percent(-0.564, signed=True) == "−56\u00a0%"
    assert percent(0.0, signed=True) == "0\u00a0%"
    assert small_share(0.00001) == "<\u00a00.01\u00a0%"
    assert clock(3725) == "1:02:05"
    assert number(float("nan")) is None
    assert number(True) is None


def test_without_tiers_nodes_still_differ() -> None:
    nodes = [NodeSpec(f"worker-{place}", cpu=1000, memory=1) for place in range(8)]
    assert len(set(palette.node_classes(nodes).values())) == 8


def test_nodes_of_a_tier_share_its_hue() -> None:
    nodes = [
        NodeSpec("a", cpu=1, memory=1, tier="edge"),
        NodeSpec("b", cpu=1, memory=1, tier="cloud"),
        NodeSpec("c", cpu=1, memory=1, tier="edge"),
    ]
    assert dict(palette.node_classes(nodes, also=["fog-9", "a"])) == {
        "a": "edge0",
        "b": "cloud0",
        "c": "edge1",
        "fog-9": "fog0",
    }


@pytest.mark.parametrize(
    ("colours", "surface"), [(palette.POLICY_LIGHT, LIGHT_SURFACE), (palette.POLICY_DARK, DARK_SURFACE)]
)
def test_policies_can_be_read_on_the_page(colours: tuple[str, ...], surface: str) -> None:
    assert min(palette.contrast(colour, surface) for colour in colours) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("colours", [palette.POLICY_LIGHT, palette.POLICY_DARK])
def test_the_first_policies_stay_apart_for_all_eyes(eyes: str, colours: tuple[str, ...]) -> None:
    assert min(apart(one, other, eyes) for one, other in combinations(colours[:4], 2)) > 20.0


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("tiers", [palette.NODES_LIGHT, palette.NODES_DARK])
def test_tiers_stay_apart_for_all_eyes(eyes: str, tiers: dict[str, tuple[str, ...]]) -> None:
    shown = [colour for tier in ("cloud", "fog", "edge") for colour in tiers[tier][:3]]
    assert min(apart(one, other, eyes) for one, other in combinations(shown, 2)) > 15.0


def apart(one: str, other: str, eyes: str) -> float:
    """Distance in CIELAB as such eyes see it; 2 is just noticeable."""
    return float(np.linalg.norm(_lab(one, eyes) - _lab(other, eyes)))


def _lab(colour: str, eyes: str) -> np.ndarray:
    shares = np.array([int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(EYES[eyes]) @ linear, 0.0, 1.0)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])
