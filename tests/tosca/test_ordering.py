"""The index: longest distance from an entry point, circles broken where it hurts least."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from ecotone.tosca.ordering import order


def test_the_longest_way_counts() -> None:
    found = order(["a", "b", "c", "d"], {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 9, ("c", "d"): 1})
    assert found.index == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert found.broken == ()


def test_a_circle_is_broken_at_its_lowest_priority() -> None:
    found = order(["a", "b", "c"], {("a", "b"): 30, ("b", "c"): 100, ("c", "a"): 80})
    assert found.broken == (("a", "b"),)
    assert found.index == {"b": 0, "c": 1, "a": 2}


def test_equal_priorities_break_towards_the_entry_point() -> None:
    found = order(["orders", "front"], {("orders", "front"): 100, ("front", "orders"): 100})
    assert found.broken == (("front", "orders"),)
    found = order(["x", "orders", "front"], {("x", "front"): 1, ("orders", "front"): 100, ("front", "orders"): 100})
    assert found.broken == (("orders", "front"),)


def test_a_self_route_changes_nothing() -> None:
    assert order(["a", "b"], {("a", "a"): 5, ("a", "b"): 1}) == order(["a", "b"], {("a", "b"): 1})


GRAPHS = st.integers(1, 9).flatmap(
    lambda n: st.dictionaries(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), st.integers(0, 5)).map(
        lambda pairs: ([f"s{i}" for i in range(n)], {(f"s{a}", f"s{b}"): w for (a, b), w in pairs.items()})
    )
)


@given(GRAPHS)
def test_what_remains_is_acyclic_maximal_and_indexed_by_longest_paths(
    data: tuple[list[str], dict[tuple[str, str], int]],
) -> None:
    names, pairs = data
    found = order(names, pairs)
    kept = nx.DiGraph()
    kept.add_nodes_from(names)
    kept.add_edges_from(pair for pair in pairs if pair not in found.broken and pair[0] != pair[1])
    assert nx.is_directed_acyclic_graph(kept)
    for source, target in found.broken:
        strong = kept.edge_subgraph([pair for pair in kept.edges if pairs[pair] >= pairs[source, target]])
        assert target in strong
        assert nx.has_path(strong, target, source), "only the weakest channel of a circle is left out"
    for name in names:
        callers = [found.index[caller] for caller in kept.predecessors(name)]
        assert found.index[name] == (max(callers) + 1 if callers else 0)


@given(GRAPHS)
def test_the_order_does_not_depend_on_how_channels_are_listed(
    data: tuple[list[str], dict[tuple[str, str], int]],
) -> None:
    names, pairs = data
    assert order(names, pairs) == order(names, dict(reversed(pairs.items())))
