import math

import pytest

from asking import raw_scores
from builders import cluster, node, pod
from ecotone.model.errors import InputError
from ecotone.scheduling.plugins.kubernetes.balanced_allocation import NodeResourcesBalancedAllocation

plugin = NodeResourcesBalancedAllocation()


def test_a_pod_that_keeps_the_balance_scores_75_one_that_mends_it_more_one_that_breaks_it_less():
    state = cluster(
        [node(name, cpu="4", memory="4Gi") for name in ("even", "mended", "broken")],
        [pod("old-0", node="mended", memory="2Gi"), pod("old-1", node="broken", cpu="2")],
    )
    # even: 0 -> |1/4 - 0|/2 = 0.125: 87 - 100; mended: 0.25 -> 0.125: 87 - 75; broken: 0.25 -> 0.375: 62 - 75
    assert raw_scores(plugin, state, pod("web-0", cpu="1")) == {
        "even": 50 + (50 + 87 - 100) // 2,
        "mended": 50 + (50 + 87 - 75) // 2,
        "broken": 50 + (50 + 62 - 75) // 2,
    }
    assert raw_scores(plugin, state, pod("web-0", cpu="1", memory="1Gi"))["even"] == 75


def test_fractions_stop_at_one_and_a_missing_resource_is_left_out():
    state = cluster(
        [node("full", cpu="1", memory="4Gi"), node("none", cpu="0", memory="4Gi")],
        [pod("old-0", node="full", cpu="3")],
    )
    # full: |1 - 0|/2 before, |1 - 1/4|/2 = 0.375 after; none: one resource has no deviation
    assert raw_scores(plugin, state, pod("web-0", cpu="1", memory="1Gi")) == {
        "full": 50 + (50 + 62 - 50) // 2,
        "none": 75,
    }


def test_requests_count_as_they_are_and_pods_without_are_not_scored():
    state = cluster([node("a", cpu="4", memory="4Gi")])
    assert raw_scores(plugin, state, pod("web-0")) is None
    assert raw_scores(plugin, state, pod("web-0", extended={"example.com/gpu": 1})) is None


def test_three_resources_use_the_standard_deviation():
    three = NodeResourcesBalancedAllocation(
        resources=[{"name": "cpu"}, {"name": "memory"}, {"name": "example.com/gpu", "weight": 1}]
    )
    state = cluster(
        [
            node("a", cpu="4", memory="4Gi", extended={"example.com/gpu": 4}),
            node("b", cpu="4", memory="4Gi"),
            node("c", cpu="0", memory="4Gi"),
        ],
        [pod("old-0", node="a", cpu="2", memory="1Gi", extended={"example.com/gpu": 1})],
    )

    def balance(*fractions: float) -> int:
        mean = sum(fractions) / len(fractions)
        return int((1 - math.sqrt(sum((each - mean) ** 2 for each in fractions) / len(fractions))) * 100)

    wants = pod("web-0", cpu="1", memory="1Gi", extended={"example.com/gpu": 1})
    expected = 50 + (50 + balance(0.75, 0.5, 0.5) - balance(0.5, 0.25, 0.25)) // 2
    assert raw_scores(three, state, wants) == {"a": expected, "b": 75, "c": 75}


def test_wrong_resources_are_input_errors():
    with pytest.raises(InputError, match="weight"):
        NodeResourcesBalancedAllocation(resources=[{"name": "cpu", "weight": 101}])
