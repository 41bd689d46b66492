"""What a request of the application's users costs: neither what others wait for each other, nor what messages set going."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from descheduling.applications import nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState, Evict
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction

NAMES = ("near", "far", "elsewhere")


def web_beside(others: float, *, where: str) -> ClusterState:
    """Users at `near`, their service at `far`; on some node others are at work that have nothing to do with them."""
    state = nodes(*NAMES, rtt=20.0, cpu=1000)
    used = {"far": 20.0, where: others + 20.0 * (where == "far")}
    state.set_nodes(replace(node, available_cpu=1000.0 - used.get(node.name, 0.0)) for node in tuple(state.nodes.nodes))
    put(state, "web", ["far"], users={"near": 5.0}, use=20.0)
    return state


def seen(state: ClusterState) -> CallGraph:
    (application,) = applications(state)
    return application


def cost(application: CallGraph) -> float:
    return float(Prediction(application).cost(application.counts[np.newaxis].astype(np.float64))[0])


def movers(state: ClusterState) -> list[str]:
    return [each.pod for each in deschedule(state.freeze(), "ecotone").decisions if isinstance(each, Evict)]


@pytest.mark.parametrize("others", [100.0, 500.0, 900.0])
def test_a_busy_node_that_nothing_of_it_is_on_does_not_make_a_request_dearer(others: float) -> None:
    assert cost(seen(web_beside(others, where="elsewhere"))) == pytest.approx(cost(seen(web_beside(0.0, where="far"))))


def test_what_it_makes_others_wait_for_counts() -> None:
    assert cost(seen(web_beside(500.0, where="far"))) > cost(seen(web_beside(500.0, where="elsewhere"))) + 1.0


def test_a_move_that_pays_is_made_however_busy_other_nodes_are() -> None:
    assert movers(web_beside(0.0, where="elsewhere")) == ["default/web-0"]
    assert movers(web_beside(980.0, where="elsewhere")) == ["default/web-0"]


def told_by_messages(*, reader: str, waited: bool = False, use: float = 300.0) -> ClusterState:
    """Users ask `web`, which tells a queue, which tells a reader, which asks its store and waits for the answer."""
    state = nodes(*NAMES, rtt=0.0, cpu=1000)
    put(state, "web", ["near"], calls={"queue": 5.0}, users={"near": 5.0})
    put(state, "queue", ["near"], calls={"reader": 5.0}, waited=waited)
    put(state, "reader", [reader], calls={"store": 5.0}, use=use)
    put(state, "store", ["elsewhere"], use=use)
    return state


def test_nobody_waits_for_what_a_message_sets_going() -> None:
    alone = cost(seen(told_by_messages(reader="far", use=1.0)))
    assert cost(seen(told_by_messages(reader="far"))) == pytest.approx(alone, rel=0.01)
    assert cost(seen(told_by_messages(reader="far", waited=True))) > alone + 10.0


def test_what_a_message_sets_going_makes_others_wait() -> None:
    assert cost(seen(told_by_messages(reader="near"))) > cost(seen(told_by_messages(reader="far"))) + 1.0


def test_calls_that_follow_from_messages_count_as_little_as_the_messages() -> None:
    graph = seen(told_by_messages(reader="far"))
    names = [name for _, name in graph.names]
    rates = {(names[call.caller], names[call.callee]): (call.rate, call.awaited) for call in graph.calls}
    assert rates["web", "queue"] == (5.0, True)
    assert rates["queue", "reader"] == rates["reader", "store"] == (pytest.approx(0.0005), False)


def test_a_store_that_users_wait_for_as_well_is_waited_for() -> None:
    state = told_by_messages(reader="far")
    put(state, "web", ["near"], calls={"queue": 5.0, "store": 5.0}, users={"near": 5.0})
    graph = seen(state)
    awaited = {name: waits for (_, name), waits in zip(graph.names, graph.awaited.tolist(), strict=True)}
    assert awaited == {"web": True, "queue": True, "reader": False, "store": True}


def test_what_messages_set_going_goes_where_it_is_done_sooner_if_that_costs_nobody_anything() -> None:
    """Its waiting counts a little, so that readers do not pile up on one node."""
    slow = seen(told_by_messages(reader="elsewhere", use=450.0))
    assert cost(slow) > cost(seen(told_by_messages(reader="far", use=450.0)))
