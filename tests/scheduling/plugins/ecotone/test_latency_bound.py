"""Hard bounds on round trips: to the message queue, to callers, and by channel deadlines."""

from __future__ import annotations

from msgspec.structs import replace

from asking import passing, reasons
from builders import cluster, edge_fog_cloud, node, pod
from ecotone.model.objects import Reservation, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.ecotone.latency_bound import LatencyBound

EVERYWHERE = {"edge", "fog", "cloud"}


def key(name: str) -> WorkloadKey:
    return WorkloadKey("default", name)


def queue_app(*, queue_on: str | None = "edge") -> ClusterState:
    queue = pod("mq-0", node=queue_on, app_group="iot", role="message-queue", max_latency_ms=50.0)
    return cluster(edge_fog_cloud(), [queue])


def test_a_microservice_stays_near_its_queue() -> None:
    worker = pod("worker-0", app_group="iot", max_latency_ms=50.0)
    assert passing(LatencyBound(), queue_app(), worker) == {"edge", "fog"}
    assert reasons(LatencyBound(), queue_app(), worker) == {
        "cloud": [("node(s) were farther than 50 ms from mq", True)]
    }


def test_the_queue_stays_near_the_members_already_placed() -> None:
    state = cluster(edge_fog_cloud(), [pod("worker-0", node="cloud", app_group="iot", max_latency_ms=95.0)])
    queue = pod("mq-0", app_group="iot", role="message-queue", max_latency_ms=95.0)
    assert passing(LatencyBound(), state, queue) == {"fog", "cloud"}


def test_another_groups_queue_binds_nobody() -> None:
    assert passing(LatencyBound(), queue_app(), pod("worker-0", app_group="shop", max_latency_ms=50.0)) == EVERYWHERE


def test_an_unplaced_queue_binds_nobody_yet() -> None:
    state = queue_app(queue_on=None)
    assert passing(LatencyBound(), state, pod("worker-0", app_group="iot", max_latency_ms=1.0)) == EVERYWHERE


def test_without_a_queue_the_bound_is_to_callers_and_users() -> None:
    state = cluster(
        edge_fog_cloud(),
        [pod("web-0", node="fog"), pod("db-0", node="cloud")],
        workloads=[
            Workload(key("web"), affinity={"api": 100.0}),
            Workload(key("api"), traffic={"users@edge": 5.0, "db": 50.0}, affinity={"db": 85.0}),
        ],
    )
    api = pod("api-0", app_group="shop", max_latency_ms=20.0)
    assert passing(LatencyBound(), state, api) == {"edge", "fog"}


def test_deadlines_hold_from_both_ends() -> None:
    state = cluster(
        edge_fog_cloud(),
        [pod("web-0", node="edge"), pod("db-0", node="cloud")],
        workloads=[Workload(key("web"), deadlines={"api": 20.0}), Workload(key("api"), deadlines={"db": 95.0})],
    )
    assert passing(LatencyBound(), state, pod("api-0")) == {"fog"}
    assert passing(LatencyBound(), state, pod("other-0")) == EVERYWHERE


def test_replicas_that_are_their_own_peers_are_followed() -> None:
    state = cluster(edge_fog_cloud(), workloads=[Workload(key("ring"), deadlines={"ring": 20.0})])
    for number in range(3):
        state.put_pod(pod(f"ring-{number}"))
    for batch in (True, False):
        where = {each.node for each in decide(state.freeze(), "ecotone", batch=batch).decisions}
        assert where <= {"edge", "fog"} or where == {"cloud"}


def test_nothing_is_filtered_while_nothing_is_known() -> None:
    state = cluster([node("a"), node("b")], [pod("mq-0", node="a", app_group="iot", role="message-queue")])
    assert passing(LatencyBound(), state, pod("worker-0", app_group="iot", max_latency_ms=1.0)) == {"a", "b"}


def test_an_unknown_latency_counts_as_the_largest_known() -> None:
    state = cluster([*edge_fog_cloud(), node("new")], [pod("mq-0", node="edge", app_group="iot", role="message-queue")])
    assert "new" not in passing(LatencyBound(), state, pod("worker-0", app_group="iot", max_latency_ms=50.0))
    assert "new" in passing(LatencyBound(), state, pod("worker-0", app_group="iot", max_latency_ms=100.0))


def test_a_peer_that_is_being_moved_binds_by_where_its_replacement_will_be() -> None:
    """Else two that must be near each other could never leave a place together."""
    state = queue_app(queue_on="cloud")
    worker = pod("worker-0", app_group="iot", max_latency_ms=50.0)
    assert passing(LatencyBound(), state, worker) == {"cloud"}
    moved = state.usage.pods()
    held = Reservation("move", "default", key("mq"), "", "edge", (), next(iter(moved)).uid, state.now + 60.0)
    state.set_reservations([held])
    assert passing(LatencyBound(), state, worker) == {"edge", "fog"}
    state.set_reservations([replace(held, taken_by="mq-1")])
    state.put_pod(pod("mq-1", node="edge", app_group="iot", role="message-queue", max_latency_ms=50.0))
    assert passing(LatencyBound(), state, worker) == {"edge", "fog"}
    state.set_reservations([replace(held, expires=state.now)])
    assert passing(LatencyBound(), state, worker) == set()


def test_any_event_may_help() -> None:
    assert LatencyBound().hint(Event("node", "update"), pod("worker-0"))
