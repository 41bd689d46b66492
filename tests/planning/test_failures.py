"""What a plan says about the failure of one node."""

from __future__ import annotations

from builders import cluster, node, pod
from ecotone.planning.failures import single_points_of_failure


def test_a_node_that_holds_all_replicas_is_named_with_them() -> None:
    state = cluster(
        [node("a"), node("b")],
        [
            pod("web-0", node="a"), pod("web-1", node="a"), pod("api-0", node="a"), pod("api-1", node="b"),
            pod("db-0", node="b"),
        ],
    )  # fmt: skip
    (told,) = single_points_of_failure(state)
    assert told.startswith("if node a fails, all replicas of default/web are gone")


def test_spread_replicas_and_single_ones_are_no_news() -> None:
    state = cluster([node("a"), node("b")], [pod("web-0", node="a"), pod("web-1", node="b"), pod("db-0", node="b")])
    assert single_points_of_failure(state) == []
