"""Applications whose parts must be near each other move together, as far as there is room near each other."""

from __future__ import annotations

from dataclasses import replace

from descheduling.applications import nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState
from ecotone.model.decisions import Evict


def queue_application(state: ClusterState, home: str, *, users: str) -> None:
    """A gateway publishes to a queue; two workers, of which one has next to nothing to do, must be within 30 ms of it."""
    put(state, "gateway", [home], calls={"mq": 20.0}, users={users: 20.0}, within=30.0, cpu=500)
    put(state, "mq", [home], calls={"worker-a": 20.0, "worker-b": 0.02}, role="message-queue", cpu=1000)
    put(state, "worker-a", [home], within=30.0, cpu=1000)
    put(state, "worker-b", [home], within=30.0, cpu=1000)


def nearer(state: ClusterState, one: str, other: str, rtt: float) -> None:
    changed = []
    for node in state.nodes.nodes:
        known = dict(node.latencies or {})
        if node.name in (one, other):
            known[other if node.name == one else one] = rtt
        changed.append(replace(node, latencies=known))
    state.set_nodes(changed)


def places(state: ClusterState) -> dict[str, str]:
    moves = deschedule(state.freeze(), "ecotone").decisions
    return {each.pod.rpartition("/")[2]: each.target for each in moves if isinstance(each, Evict)}


def test_what_must_be_near_each_other_leaves_together_for_a_place_too_far_to_go_to_alone() -> None:
    state = nodes("cloud", "edge", rtt=60.0)
    queue_application(state, "cloud", users="edge")
    assert places(state) == dict.fromkeys(("gateway-0", "mq-0", "worker-a-0", "worker-b-0"), "edge")


def test_what_does_not_fit_goes_to_a_node_nearby_and_does_not_stay_behind() -> None:
    """The users' node has room for three of the four; the fourth may not stay where it is, 60 ms away from the queue."""
    state = nodes("cloud", "edge-1", "edge-2", rtt=60.0, small={"edge-1": 2600, "edge-2": 2600})
    nearer(state, "edge-1", "edge-2", 10.0)
    queue_application(state, "cloud", users="edge-1")
    assert places(state) == {
        "gateway-0": "edge-1", "mq-0": "edge-1", "worker-a-0": "edge-1", "worker-b-0": "edge-2",
    }  # fmt: skip
