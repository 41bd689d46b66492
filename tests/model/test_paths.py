"""Shortest paths: lengths and ways agree, and ties are broken by hops, then by the order of the links."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model.paths import path_lengths, path_tree

Links = dict[tuple[int, int], float]
SIZE = 6
some_links = st.dictionaries(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).filter(lambda pair: pair[0] != pair[1]),
    st.integers(0, 9).map(float),
)


def neighbours(links: Links) -> list[list[tuple[int, float]]]:
    found: list[list[tuple[int, float]]] = [[] for _ in range(SIZE)]
    for (a, b), length in sorted(links.items()):
        found[a].append((b, length))
    return found


@given(some_links)
def test_the_tree_and_the_table_give_the_same_lengths(links: Links) -> None:
    pairs = np.array(list(links), dtype=np.int64).reshape(-1, 2)
    lengths = np.array(list(links.values()), dtype=np.float64)
    table = path_lengths(SIZE, starts=pairs[:, 0], ends=pairs[:, 1], lengths=lengths, directed=True)
    for source in range(SIZE):
        assert path_tree(neighbours(links), source).length == table[source].tolist()


@given(some_links)
def test_the_way_is_as_long_as_it_is_said_to_be(links: Links) -> None:
    tree = path_tree(neighbours(links), 0)
    for target in range(SIZE):
        if tree.reaches(target):
            assert sum(links[hop] for hop in pairwise(tree.nodes_to(target))) == tree.length[target]


def test_of_two_ways_of_the_same_length_the_one_with_fewer_hops_is_taken() -> None:
    tree = path_tree([[(1, 5.0), (2, 10.0)], [(2, 5.0)], []], 0)
    assert tree.nodes_to(2) == [0, 2]


def test_what_has_no_way_is_infinitely_far() -> None:
    tree = path_tree([[(1, 0.0)], [], []], 0)
    assert tree.length == [0.0, 0.0, inf] and tree.reaches(1) and not tree.reaches(2)


def test_no_nodes_have_no_lengths() -> None:
    nothing = np.zeros(0)
    assert (
        path_lengths(0, starts=nothing.astype(int), ends=nothing.astype(int), lengths=nothing, directed=False).size == 0
    )
