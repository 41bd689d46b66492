"""One tenant's objects, however written, leave the scheduler at work for everybody else."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from builders import node as model_node
from ecotone.manifests import wire
from ecotone.manifests.store import ObjectStore
from ecotone.model.decisions import Bind
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, decide
from ecotone.services.feeds import KindSink, LeftOut
from ecotone.services.live_cache import LiveCache
from hostile_objects import KINDS, NAMED, hostile_object, hostile_pod, pod

NODES = ("n1", "n2", "n3")
SCORING = [name for name, profile in POLICIES.items() if profile.solver is None]


class Live:
    """A live cache behind the sinks that watch streams feed."""

    def __init__(self) -> None:
        self.cache = LiveCache(ClusterState(now=1000.0))
        self.left_out = LeftOut()
        self.store = ObjectStore(self.cache)
        self._sinks = {kind: KindSink(kind, self.store, self.left_out) for kind in ("Pod", *KINDS)}
        self.unread = 0
        for name in NODES:
            other = {each: 10.0 for each in NODES if each != name}
            self.cache.put_node(model_node(name, latencies=other))
        self.cache.settle_nodes()

    def show(self, given: dict[str, Any], *, namespace: str = "tenant") -> None:
        given = {**given, "metadata": {**given["metadata"], "namespace": namespace}}
        self._sinks["Pod"].upsert(msgspec.json.decode(msgspec.json.encode(given), type=wire.Pod))

    def show_other(self, kind: str, given: dict[str, Any]) -> None:
        """As a mirror does: what is no object of its kind does not come this far."""
        try:
            item = msgspec.json.decode(msgspec.json.encode(given), type=wire.KINDS[kind].shape)
        except msgspec.ValidationError:
            self.unread += 1
            return
        self._sinks[kind].upsert(item)

    def where_an_innocent_goes(self, policy: str) -> str | None:
        asked = pod("innocent", spec={"schedulerName": "ecotone"})
        asked["metadata"]["namespace"] = "victims"
        pending = self.store.convert(msgspec.convert(asked, type=wire.Pod))
        view = self.cache.view(1000.0)
        (decision,) = decide(view, policy, pods=[pending]).decisions
        return decision.node if isinstance(decision, Bind) else None


def on_a_node(given: dict[str, Any], node: str = "n1") -> dict[str, Any]:
    return {**given, "spec": {**given["spec"], "nodeName": node}, "status": {"phase": "Running"}}


@pytest.mark.parametrize("policy", SCORING)
@pytest.mark.parametrize("bound", [False, True])
def test_each_object_that_once_ended_a_scheduler_does_no_harm(policy: str, bound: bool) -> None:
    live = Live()
    for given in NAMED.values():
        live.show(on_a_node(given) if bound else given)
        assert live.where_an_innocent_goes(policy) is not None
    assert not any(live.left_out.counts.values()), "every one of them is taken in, within bounds"


def _fuzz(seeds: range, policies: tuple[str, ...]) -> None:
    luck = Random(seeds.start)
    live = Live()
    for number in seeds:
        given = hostile_pod(luck, f"p{number}")
        live.show(on_a_node(given, luck.choice(NODES)) if luck.random() < 0.5 else given)
        if number % 20 == 19:
            for policy in policies:
                live.where_an_innocent_goes(policy)
            waiting = live.cache.view(1000.0)
            asked = [each for each in live.cache.pods() if each.node is None][-5:]
            for policy in policies:
                decide(waiting, policy, pods=asked)
    assert np.all(live.cache.state.usage.requested >= 0)
    assert not any(live.left_out.counts.values())
    for each in list(live.cache.pods()):
        live.store.drop("Pod", each.key)
    assert not live.cache.state.usage.requested.any() and not live.cache.state.usage.nonzero.any()


def test_random_hostile_pods_are_taken_in_and_go_without_a_trace() -> None:
    _fuzz(range(200), ("ecotone", "kube-default", "sophos"))


def _fuzz_other_kinds(seeds: range, policies: tuple[str, ...]) -> None:
    luck = Random(seeds.start)
    live = Live()
    for number in seeds:
        kind = luck.choice(KINDS)
        live.show_other(kind, hostile_object(luck, kind, luck.choice(("n1", "a", "b", f"x{number}"))))
        if number % 10 == 9:
            live.cache.settle_nodes()
            for policy in policies:
                assert live.where_an_innocent_goes(policy) is not None
    assert live.unread < len(seeds) / 10
    assert set(live.left_out.counts) <= {"Reservation", "Node"}, "only what asks for `banana` cannot be taken in"


def test_random_hostile_objects_of_other_kinds_hold_up_nobody() -> None:
    _fuzz_other_kinds(range(200), ("ecotone", "kube-default", "sophos"))


@pytest.mark.slow
def test_two_thousand_random_hostile_objects_of_other_kinds() -> None:
    for start in range(0, 2000, 200):
        _fuzz_other_kinds(range(start, start + 200), tuple(SCORING))


@pytest.mark.slow
def test_two_thousand_random_hostile_pods() -> None:
    for start in range(0, 2000, 200):
        _fuzz(range(start, start + 200), tuple(SCORING))


def test_two_thousand_pods_that_ask_for_the_most_do_not_overflow_a_nodes_sums() -> None:
    live = Live()
    most = NAMED["nine-of-the-most"]
    for number in range(2000):
        named = {**most, "metadata": {**most["metadata"], "name": f"p{number}"}}
        live.show(on_a_node(named))
    usage = live.cache.state.usage
    assert np.all(usage.requested[0, :2] > 2**53)
    assert live.where_an_innocent_goes("kube-default") in ("n2", "n3")
    for number in range(2000):
        live.store.drop("Pod", f"tenant/p{number}")
    assert not usage.requested.any() and not usage.nonzero.any() and not usage.beyond


def test_what_cannot_be_taken_in_is_logged_once_counted_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    live = Live()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            live.show(pod("bad", spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "banana"}}}]}))
    assert live.left_out.counts == {"Pod": 3}
    assert [record.message for record in caplog.records if "left out" in record.message] == [
        record.message for record in caplog.records[:1]
    ]
    assert live.where_an_innocent_goes("ecotone") is not None


def test_a_pod_that_becomes_unreadable_stays_as_it_was() -> None:
    live = Live()
    live.show(on_a_node(pod("p")))
    live.show(on_a_node(pod("p", spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "banana"}}}]})))
    assert live.cache.state.find_pod("tenant/p") is not None
    live.store.drop("Pod", "tenant/p")
    assert live.cache.state.find_pod("tenant/p") is None
