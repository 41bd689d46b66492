"""Links as a graph: distances and paths that must carry more than delay."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.placement.problem.links import Link, LinkGraph, QosRequirement

NAMES = [f"n{k}" for k in range(7)]
PAIRS = [(a, b) for k, a in enumerate(NAMES) for b in NAMES[k + 1 :]]
BANDWIDTHS = st.sampled_from([1e6, 1e7, inf])

links_of = st.lists(st.sampled_from(PAIRS), unique=True, max_size=15).flatmap(
    lambda pairs: st.tuples(
        *(
            st.builds(
                Link,
                st.just(a),
                st.just(b),
                latency_ms=st.integers(0, 40).map(float),
                bandwidth=BANDWIDTHS,
                jitter_ms=st.sampled_from([0.0, 5.0]),
                loss=st.sampled_from([0.0, 0.01]),
            )
            for a, b in pairs
        )
    )
)
requirements = st.builds(
    QosRequirement,
    max_latency_ms=st.one_of(st.none(), st.integers(0, 80).map(float)),
    min_bandwidth=st.one_of(st.none(), st.just(1e7)),
    max_jitter_ms=st.one_of(st.none(), st.just(1.0)),
    max_loss=st.one_of(st.none(), st.just(0.001)),
)


def floyd_warshall(links: tuple[Link, ...]) -> np.ndarray:
    table = np.full((len(NAMES), len(NAMES)), inf)
    np.fill_diagonal(table, 0.0)
    for link in links:
        a, b = NAMES.index(link.a), NAMES.index(link.b)
        table[a, b] = table[b, a] = min(table[a, b], link.latency_ms)
    for k in range(len(NAMES)):
        table = np.minimum(table, table[:, [k]] + table[[k], :])
    return table


@settings(max_examples=60, deadline=None)
@given(links_of)
def test_distances_are_those_of_the_textbook(links: tuple[Link, ...]) -> None:
    np.testing.assert_allclose(LinkGraph(NAMES, links).distances(), floyd_warshall(links))


@settings(max_examples=100, deadline=None)
@given(links_of, requirements)
def test_a_path_is_found_exactly_when_one_is_admissible_and_it_is_the_fastest(
    links: tuple[Link, ...], requirement: QosRequirement
) -> None:
    graph = LinkGraph(NAMES, links)
    allowed = tuple(link for link in links if requirement.admits(link))
    expected = floyd_warshall(allowed)[0, -1]
    limit = inf if requirement.max_latency_ms is None else requirement.max_latency_ms
    path = graph.best_path(NAMES[0], NAMES[-1], requirement)
    if expected == inf or expected > limit:
        assert path is None
    else:
        assert path is not None and path.latency_ms == pytest.approx(expected)
        assert path.nodes[0] == NAMES[0] and path.nodes[-1] == NAMES[-1]
        assert requirement.min_bandwidth is None or path.bandwidth >= requirement.min_bandwidth


def test_a_slower_path_that_carries_the_bandwidth_is_used() -> None:
    graph = LinkGraph(
        ["a", "b", "c"],
        [Link("a", "b", 10.0, bandwidth=1e6), Link("a", "c", 20.0, bandwidth=1e8), Link("c", "b", 20.0, bandwidth=5e7)],
    )
    assert graph.best_path("a", "b").nodes == ("a", "b")
    wide = graph.best_path("a", "b", QosRequirement(min_bandwidth=1e7))
    assert wide is not None and (wide.nodes, wide.latency_ms, wide.bandwidth) == (("a", "c", "b"), 40.0, 5e7)
    assert graph.best_path("a", "b", QosRequirement(min_bandwidth=1e7, max_latency_ms=30.0)) is None


@pytest.mark.parametrize(
    "links",
    [[Link("a", "x", 1.0)], [Link("a", "a", 1.0)], [Link("a", "b", -1.0)], [Link("a", "b", 1.0), Link("b", "a", 2.0)]],
)
def test_links_that_make_no_sense_are_refused(links: list[Link]) -> None:
    with pytest.raises(ValueError, match="link"):
        LinkGraph(["a", "b"], links)
