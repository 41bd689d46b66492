"""Round trips: which source counts for a pair, and what stands in for the unknown."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from ecotone.model.columns.network import Network, NetworkMap, Way
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Coordinates, Node
from reference.random_worlds import worlds
from reference.world import World, latency


def table(*nodes: Node) -> NodeTable:
    return NodeTable(nodes)


def plain(name: str, **more: object) -> Node:
    return Node(name, {"cpu": 1000, "memory": 1 << 30}, **more)  # type: ignore[arg-type]


def test_own_measurement_then_the_other_direction_then_map_then_coordinates_then_the_largest() -> None:
    here, there = Coordinates((0.0, 0.0), 1.0), Coordinates((3.0, 4.0), 2.0)
    nodes = table(
        plain("a", latencies={"b": 1.0}, labels={"zone": "x"}, coordinates=here),
        plain("b", latencies={"a": 2.0, "c": 3.0}, labels={"zone": "y"}, coordinates=there),
        plain("c", labels={"zone": "x"}),
        plain("d", coordinates=there),
        plain("e"),
    )
    network = Network(nodes, maps=[NetworkMap("zone", {"x": {"x": 4.0, "y": 50.0}})])
    a, b, c, d, e = range(5)
    assert network.between(a, a) == 0.0
    assert network.between(a, b) == 1.0
    assert network.between(b, a) == 2.0
    assert network.between(c, b) == 3.0
    assert network.between(a, c) == 4.0
    assert network.between(a, d) == pytest.approx(8.0)
    assert network.between(a, e) is None
    assert network.toward(e)[a] == 50.0
    assert network.unknown_toward(e).tolist() == [True, True, True, True, False]
    assert network.unknown_share(np.array([d, e])).tolist() == [0.5, 0.5, 1.0, 0.5, 0.5]


def test_old_measurements_do_not_count() -> None:
    nodes = table(
        plain("a", latencies={"b": 1.0}, measured_at=0.0), plain("b", latencies={"a": 9.0}, measured_at=290.0)
    )
    assert Network(nodes, now=301.0).between(0, 1) == 9.0
    assert Network(nodes, now=300.0).between(0, 1) == 1.0


def test_nothing_known_is_nothing_known() -> None:
    network = Network(
        table(plain("a"), plain("b", latencies={"a": math.nan}), plain("c", coordinates=Coordinates((1.0,))))
    )
    assert not network.anything_known
    assert network.toward(0).tolist() == [0.0, 0.0, 0.0]


def test_coordinates_alone_say_how_far_the_farthest_is() -> None:
    where = [Coordinates((0.0,)), Coordinates((30.0,)), Coordinates((1.0, 1.0)), None]
    network = Network(table(*(plain(name, coordinates=each) for name, each in zip("abcd", where, strict=True))))
    assert network.worst == 30.0
    assert network.toward(3)[0] == 30.0


@settings(max_examples=150)
@given(world=worlds)
def test_every_pair_equals_the_straightforward_rule(world: World) -> None:
    state = world.state()
    for row, origin in enumerate(world.nodes):
        for column, target in enumerate(world.nodes):
            expected = latency(world, origin, target)
            assert state.network.toward(column)[row] == pytest.approx(0.0 if expected is None else expected)


@pytest.mark.parametrize("targets", [1, 7, 300])
def test_zones_give_what_pairs_would_give(targets: int) -> None:
    """The shortcut over domains, few and many targets, against the sum pair by pair."""
    dice = np.random.default_rng(targets)
    zones = [f"z{number}" for number in range(6)]
    rtt = {a: {b: float(dice.integers(1, 90)) for b in zones[place:]} for place, a in enumerate(zones)}
    nodes = table(*(plain(f"n{number}", labels={"zone": zones[number % 6]}) for number in range(400)))
    network = Network(nodes, maps=[NetworkMap("zone", rtt)])
    rows = dice.choice(400, size=targets, replace=False)
    weights = dice.uniform(0.1, 5.0, size=targets)
    expected = sum(weight * network.toward(int(row)) for row, weight in zip(rows, weights, strict=True))
    np.testing.assert_allclose(network.weighted(rows, weights), expected, rtol=1e-9)
    assert network.unknown_share(rows).max() == 0.0


def test_a_pair_says_where_it_is_known_from_and_how_sure_that_is() -> None:
    nodes = table(
        plain("a", latencies={"b": 7.0}, coordinates=Coordinates((0.0, 0.0), 1.0, 0.1), labels={"z": "one"}),
        plain("b", labels={"z": "one"}),
        plain("c", coordinates=Coordinates((3.0, 4.0), 2.0, 0.25), labels={"z": "two"}),
        plain("d", labels={"z": "nowhere"}),
    )
    network = Network(nodes, maps=[NetworkMap("z", {"one": {"two": 30.0}})])
    assert network.way(0, 1) == network.way(1, 0) == Way(7.0, "measured")
    assert network.way(0, 2) == Way(30.0, "map")
    assert network.way(0, 3) == Way(30.0, "unknown")
    assert network.way(2, 2) == Way(0.0, "measured")
    without = Network(nodes)
    assert without.way(0, 2) == Way(8.0, "predicted", error_ms=2.0)
