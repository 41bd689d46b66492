from typing import Any

import pytest

from asking import passing, raw_scores, reasons
from builders import cluster, node, pod
from ecotone.model.errors import InputError
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.node_resources_fit import NodeResourcesFit

plugin = NodeResourcesFit()


def strategy(kind: str, *resources: tuple[str, int], shape=None) -> NodeResourcesFit:
    given: dict[str, Any] = {"type": kind}
    if resources:
        given["resources"] = [{"name": name, "weight": weight} for name, weight in resources]
    if shape is not None:
        given["requestedToCapacityRatio"] = {"shape": [{"utilization": use, "score": score} for use, score in shape]}
    return NodeResourcesFit(scoringStrategy=given)


def test_what_is_requested_must_be_free():
    state = cluster(
        [node("a", cpu="2", memory="4Gi"), node("b", cpu="1", memory="4Gi"), node("c", cpu="4", memory="1Gi")],
        [pod("old-0", node="a", cpu="1500m", memory="1Gi")],
    )
    assert passing(plugin, state, pod("web-0", cpu="500m", memory="2Gi")) == {"a", "b"}
    assert passing(plugin, state, pod("web-0", cpu="501m")) == {"b", "c"}
    assert reasons(plugin, state, pod("web-0", cpu="1001m", memory="2Gi")) == {
        "a": [("Insufficient cpu", False)],
        "b": [("Insufficient cpu", True)],
        "c": [("Insufficient memory", True)],
    }


def test_one_resource_the_node_is_too_small_for_makes_every_reason_final_there():
    state = cluster([node("a", cpu="2", memory="1Gi", pods=1)], [pod("old-0", node="a", cpu="2")])
    assert sorted(reasons(plugin, state, pod("web-0", cpu="1", memory="2Gi"))["a"]) == [
        ("Insufficient cpu", True),
        ("Insufficient memory", True),
        ("Too many pods", True),
    ]


def test_a_node_takes_only_so_many_pods():
    state = cluster([node("a", pods=1), node("b", pods=2)], [pod("old-0", node="a"), pod("old-1", node="b")])
    assert passing(plugin, state, pod("web-0")) == {"b"}
    assert reasons(plugin, state, pod("web-0")) == {"a": [("Too many pods", False)]}


def test_extended_resources_count_and_unknown_ones_are_insufficient_everywhere():
    state = cluster(
        [node("a", extended={"example.com/gpu": 2}), node("b")],
        [pod("old-0", node="a", extended={"example.com/gpu": 1})],
    )
    assert passing(plugin, state, pod("web-0", extended={"example.com/gpu": 1})) == {"a"}
    assert reasons(plugin, state, pod("web-0", extended={"example.com/gpu": 2})) == {
        "a": [("Insufficient example.com/gpu", False)],
        "b": [("Insufficient example.com/gpu", True)],
    }
    assert reasons(plugin, state, pod("web-0", extended={"example.com/fpga": 1})) == {
        "a": [("Insufficient example.com/fpga", True)],
        "b": [("Insufficient example.com/fpga", True)],
    }
    assert passing(plugin, state, pod("web-0", extended={"example.com/fpga": 0})) == {"a", "b"}


def test_ignored_resources_and_groups_are_somebody_elses_business():
    state = cluster([node("a")])
    wants = pod("web-0", extended={"example.com/gpu": 1})
    assert passing(NodeResourcesFit(ignoredResources=["example.com/gpu"]), state, wants) == {"a"}
    assert passing(NodeResourcesFit(ignoredResourceGroups=["example.com"]), state, wants) == {"a"}
    assert passing(NodeResourcesFit(ignoredResourceGroups=["other.com"]), state, wants) == set()
    # Kubernetes' own resources cannot be ignored.
    assert passing(NodeResourcesFit(ignoredResources=["cpu"]), state, pod("web-0", cpu="9")) == set()


def test_least_allocated_is_the_mean_share_left_cut_off_at_each_step():
    state = cluster(
        [node("a", cpu="3", memory="3Gi"), node("b", cpu="1", memory="3Gi"), node("c", cpu="0", memory="3Gi")],
        [pod("old-0", node="a", cpu="1", memory="1Gi")],
    )
    # a: cpu (3000-2000)*100//3000 = 33, memory (3-1.5)*100//3 = 50 -> 41; b: cpu 0, memory 83 -> 41; c: memory alone
    assert raw_scores(plugin, state, pod("web-0", cpu="1", memory="512Mi")) == {"a": 41, "b": 41, "c": 83}


def test_a_container_that_asks_for_nothing_scores_as_100m_and_200_mebibytes():
    state = cluster([node("a", cpu="1", memory="2000Mi")])
    assert raw_scores(plugin, state, pod("web-0")) == {"a": 90}


def test_more_than_there_is_scores_nothing():
    state = cluster([node("a", cpu="1", memory="100Mi")])
    assert raw_scores(plugin, state, pod("web-0", cpu="500m")) == {"a": 25}
    assert raw_scores(strategy("MostAllocated"), state, pod("web-0", cpu="500m")) == {"a": 75}


def test_weights_of_resources():
    state = cluster(
        [node("a", cpu="4", memory="4Gi", extended={"example.com/gpu": 4}), node("b", cpu="4", memory="4Gi")],
        [pod("old-0", node="a", cpu="2", memory="1Gi", extended={"example.com/gpu": 3})],
    )
    wants = pod("web-0", cpu="1", memory="1Gi", extended={"example.com/gpu": 1})
    weighted = strategy("LeastAllocated", ("cpu", 1), ("memory", 3), ("example.com/gpu", 4))
    # a: (25*1 + 50*3 + 0*4) // 8; b has no such device: (75*1 + 75*3) // 4
    assert raw_scores(weighted, state, wants) == {"a": 21, "b": 75}
    # A pod that does not ask for the device is not judged by it: (25 + 150) // 4
    assert raw_scores(weighted, state, pod("web-0", cpu="1", memory="1Gi")) == {"a": 43, "b": 75}
    assert raw_scores(strategy("LeastAllocated", ("example.com/none", 1)), state, wants) == {"a": 0, "b": 0}


def test_most_allocated_is_the_mean_share_taken():
    state = cluster([node("a", cpu="3", memory="3Gi")], [pod("old-0", node="a", cpu="1", memory="1Gi")])
    # cpu 2000*100//3000 = 66, memory 1.5*100//3 = 50
    assert raw_scores(strategy("MostAllocated"), state, pod("web-0", cpu="1", memory="512Mi")) == {"a": 58}


def test_requested_to_capacity_ratio_follows_the_shape_and_rounds_half_up():
    state = cluster([node("a", cpu="4", memory="4Gi"), node("b", cpu="4", memory="8Gi")])
    packing = strategy("RequestedToCapacityRatio", ("cpu", 1), ("memory", 1), shape=[(0, 0), (100, 10)])
    # a: cpu 25 -> 25, memory 12 (512Mi of 4Gi, 12.5 cut off) -> 12; 18.5 rounds to 19. b: (25 + 6) / 2 = 15.5 -> 16
    assert raw_scores(packing, state, pod("web-0", cpu="1", memory="512Mi")) == {"a": 19, "b": 16}


def test_a_falling_shape_cuts_off_towards_zero_and_nought_does_not_count_in_the_mean():
    state = cluster([node("a", cpu="4", memory="4Gi")])
    falling = strategy("RequestedToCapacityRatio", ("cpu", 1), ("memory", 2), shape=[(20, 10), (50, 3), (90, 0)])
    # cpu 25 %: 100 - (70*5)//30 = 89. memory 100 %: 0, left out of the mean.
    assert raw_scores(falling, state, pod("web-0", cpu="1", memory="4Gi")) == {"a": 89}
    # cpu 10 %: 100. memory 50 %: 30. (100 + 60) / 3 = 53.3
    assert raw_scores(falling, state, pod("web-0", cpu="400m", memory="2Gi")) == {"a": 53}
    assert raw_scores(falling, state, pod("web-0", cpu="4", memory="4Gi")) == {"a": 0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scoringStrategy": {"type": "LeastAllocatd"}}, "LeastAllocatd"),
        ({"scoringStrategy": {"resources": [{"weight": 1}]}}, "name"),
        ({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 0}]}}, "weight"),
        ({"scoringStrategy": {"resources": []}}, "weight"),
        ({"scoringStrategy": {"type": "RequestedToCapacityRatio"}}, "shape"),
        (
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": [{"utilization": 0}]},
                }
            },
            "score",
        ),
        (
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 11}]},
                }
            },
            "0..10",
        ),
    ],
)
def test_wrong_arguments_are_input_errors(arguments, said):
    with pytest.raises(InputError, match=said):
        NodeResourcesFit(**arguments)


def test_what_may_help():
    waiting = pod("web-0", cpu="2")
    small, big = node("a", cpu="2"), node("a", cpu="4")
    assert plugin.hint(Event("node", "add", None, small), waiting)
    assert not plugin.hint(Event("node", "add", None, node("a", cpu="1")), waiting)
    assert plugin.hint(Event("node", "update", small, big), waiting)
    assert plugin.hint(Event("node", "update", small, node("a", cpu="2", pods=200)), waiting)
    assert not plugin.hint(Event("node", "update", big, small), waiting)
    assert not plugin.hint(Event("node", "update", small, node("a", cpu="2", memory="64Gi")), waiting)
    running = pod("old-0", node="a", cpu="1")
    assert plugin.hint(Event("pod", "delete", running, None), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("old-0", cpu="1"), None), waiting)
    assert plugin.hint(Event("pod", "update", running, pod("old-0", node="a", cpu="500m")), waiting)
    assert not plugin.hint(Event("pod", "update", running, running), waiting)
    assert not plugin.hint(Event("pod", "add", None, running), waiting)
    assert plugin.hint(Event("pod", "update", waiting, pod("web-0", cpu="1")), waiting)
