"""What nobody waits for, and what only costs less, takes no room from users: it stays where it is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from descheduling.applications import nodes, put
from ecotone.descheduling import deschedule
from ecotone.manifests.configuration import configuration_document, parse_configuration
from ecotone.model import ClusterState, Evict
from ecotone.model.errors import InputError
from ecotone.scheduling import resolve
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.response.graph import applications


def cluster(*, price: float | None = None) -> ClusterState:
    """Users at `near`; web and its queue are far from them, and so is the reader of the queue."""
    state = nodes("near", "far", rtt=50.0)
    if price is not None:
        state.set_nodes(
            replace(node, price_per_hour=price if node.name == "far" else 0.0) for node in tuple(state.nodes.nodes)
        )
    put(state, "web", ["far"], calls={"queue": 10.0}, users={"near": 10.0})
    put(state, "queue", ["far"], calls={"reader": 10.0}, waited=False)
    put(state, "reader", ["far"])
    return state


def movers(state: ClusterState, profile: Profile | str = "ecotone") -> list[str]:
    found = deschedule(state.freeze(), profile).decisions
    return sorted(each.pod for each in found if isinstance(each, Evict))


def weighing(unawaited: float) -> Profile:
    return resolve("ecotone").with_args("ResponseTime", unawaited=unawaited)


def test_the_reader_of_a_queue_stays_when_the_queue_goes_to_the_users() -> None:
    assert movers(cluster()) == ["default/queue-0", "default/web-0"]


def test_it_follows_where_a_profile_says_that_its_messages_count() -> None:
    assert movers(cluster(), weighing(1.0)) == ["default/queue-0", "default/reader-0", "default/web-0"]


def test_it_does_not_follow_for_a_cheaper_node() -> None:
    assert movers(cluster(price=20.0)) == ["default/queue-0", "default/web-0"]


def test_unawaited_calls_still_tell_placements_apart_that_are_alike_to_users() -> None:
    (application,) = applications(cluster())
    assert all(call.rate > 0.0 for call in application.calls)


def test_a_weight_below_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="unawaited"):
        movers(cluster(), weighing(-1.0))


def test_the_weight_is_written_and_read_back() -> None:
    document = configuration_document([weighing(0.5)])
    (read,) = parse_configuration(json.dumps(document), file="mine.yaml")
    assert movers(cluster(), read) == movers(cluster(), weighing(0.5))
