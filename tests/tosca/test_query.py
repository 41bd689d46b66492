"""Questions to the graph, from a template or from a stored graph."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model.errors import InputError
from ecotone.tosca import ApplicationGraph, Channel, GraphStore, application_graph, read_graph
from ecotone.tosca.graph import GraphService

SHOP = Path(__file__).parent.parent.parent / "examples" / "tosca" / "sock-shop.tosca.yaml"


@pytest.fixture(scope="module")
def shop() -> GraphStore:
    return GraphStore(application_graph(SHOP))


def test_who_depends_on_a_service(shop: GraphStore) -> None:
    assert shop.dependents("user-db") == ["front-end", "user", "orders"]
    assert shop.dependents("user-db", direct=True) == ["user"]
    assert shop.dependents("front-end") == []


def test_what_a_service_depends_on(shop: GraphStore) -> None:
    assert shop.dependencies("shipping") == ["rabbitmq", "queue-master"]


def test_the_heaviest_chains_from_entry_to_leaf(shop: GraphStore) -> None:
    best = shop.chains(3)
    assert best[0].services == ("front-end", "orders", "carts", "carts-db")
    assert best[0].priority == 285
    assert [chain.priority for chain in best] == [285, 285, 260]
    assert shop.entries() == ["front-end"]


def test_the_most_critical_channels(shop: GraphStore) -> None:
    assert {channel.type for channel in shop.critical(8)} == {"HTTPRoute"}
    assert shop.critical(1)[0].priority == 100


def test_an_unknown_service_is_an_error_with_the_nearest(shop: GraphStore) -> None:
    with pytest.raises(InputError, match="did you mean `catalogue`"):
        shop.dependents("catalog")


def test_a_stored_graph_answers_the_same(tmp_path: Path, shop: GraphStore) -> None:
    file = tmp_path / "shop.json"
    file.write_text(shop.graph.as_json())
    stored = GraphStore(read_graph(file))
    assert stored.chains(50) == shop.chains(50)
    assert stored.graph == shop.graph


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"name": "a", "services": 3}', '{"name": 1, "services": [], "channels": []}',
     '{"name": "a", "services": [], "channels": [{"source": "x", "target": "y", "type": "t", "priority": 1}]}'],
)  # fmt: skip
def test_wrong_stored_graphs_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "g.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"g\.json:1:"):
        read_graph(file)


def graph(edges: dict[tuple[int, int], int]) -> ApplicationGraph:
    names = sorted({end for edge in edges for end in edge}) or [0]
    channels = tuple(Channel(f"s{a}", f"s{b}", "HTTPRoute", priority) for (a, b), priority in edges.items())
    return ApplicationGraph("g", tuple(GraphService(f"s{i}", False, 0) for i in names), channels)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] < e[1]), st.integers(0, 9), max_size=14
    )
)
def test_the_best_chains_are_those_of_brute_force(edges: dict[tuple[int, int], int]) -> None:
    store = GraphStore(graph(edges))
    whole = nx.DiGraph()
    whole.add_nodes_from(f"s{i}" for i in {end for edge in edges for end in edge} or {0})
    whole.add_edges_from((f"s{a}", f"s{b}", {"w": w}) for (a, b), w in edges.items())
    entries = [n for n in whole if whole.in_degree(n) == 0]
    leaves = [n for n in whole if whole.out_degree(n) == 0]
    paths = [[n] for n in entries if n in leaves]
    for entry, leaf in itertools.product(entries, leaves):
        if entry != leaf:
            paths += nx.all_simple_paths(whole, entry, leaf)
    sums = sorted((sum(whole.edges[a, b]["w"] for a, b in itertools.pairwise(path)) for path in paths), reverse=True)
    assert [chain.priority for chain in store.chains(5)] == sums[:5]
