"""The cache equals what a rebuild from the same objects gives, whatever the order of events and assumptions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ecotone.model.objects import Node, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Event
from ecotone.services.live_cache import LiveCache
from ecotone.services.scheduler.overcommit import OvercommitWatch

NODES = [f"n{i}" for i in range(4)]
PODS = [f"p{i}" for i in range(6)]


def node(name: str, cpu: int = 1000, gpu: int = 0) -> Node:
    allocatable = {"cpu": cpu, "memory": 1000, "pods": 3}
    return Node(name, {**allocatable, "example.test/gpu": gpu} if gpu else allocatable)


def pod(name: str, *, generation: int = 0, cpu: int = 100, **more: Any) -> Pod:
    spec = PodSpec(requests=(("cpu", cpu), ("example.test/gpu", 1)), nonzero=(cpu, 1))
    return Pod(name, f"{name}-{generation}", PodKind("default", WorkloadKey("default", f"w{cpu}"), spec=spec), **more)


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache = LiveCache(ClusterState())
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.assumed: dict[str, tuple[Pod, str]] = {}

    @rule(name=st.sampled_from(NODES), cpu=st.sampled_from([500, 1000]), gpu=st.sampled_from([0, 2]))
    def node_seen(self, name: str, cpu: int, gpu: int) -> None:
        self.nodes[name] = node(name, cpu, gpu)
        self.cache.put_node(self.nodes[name])

    @rule(name=st.sampled_from(NODES))
    def node_gone(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.cache.drop_node(name)

    @rule(
        name=st.sampled_from(PODS),
        generation=st.integers(0, 1),
        cpu=st.sampled_from([100, 200]),
        where=st.sampled_from([None, *NODES]),
        phase=st.sampled_from(["Pending", "Running", "Succeeded"]),
        nominated=st.sampled_from([None, "n0"]),
    )
    def pod_seen(self, name: str, where: str | None, nominated: str | None, **more: Any) -> None:
        seen = pod(name, node=where, nominated=None if where else nominated, **more)
        known = self.pods.get(seen.key)
        if known is not None and (known.uid != seen.uid or where is not None or seen.terminal):
            self.assumed.pop(known.uid, None)
        if where is not None or seen.terminal:
            self.assumed.pop(seen.uid, None)
        self.pods[seen.key] = seen
        self.cache.put_pod(seen)

    @rule(name=st.sampled_from(PODS))
    def pod_gone(self, name: str) -> None:
        gone = self.pods.pop(f"default/{name}", None)
        if gone is not None:
            self.assumed.pop(gone.uid, None)
        self.cache.drop_pod(f"default/{name}")

    @rule(name=st.sampled_from(PODS), where=st.sampled_from(NODES))
    def decide(self, name: str, where: str) -> None:
        self.cache.settle_nodes()
        known = self.pods.get(f"default/{name}")
        if known is None or known.node or known.terminal or known.uid in self.assumed or where not in self.nodes:
            return
        self.assumed[known.uid] = (known, where)
        self.cache.assume(known, where)

    @rule(name=st.sampled_from(PODS))
    def binding_fails(self, name: str) -> None:
        known = self.pods.get(f"default/{name}")
        if known is not None and known.uid in self.assumed:
            self.assumed.pop(known.uid)
            self.cache.forget(known)

    @invariant()
    def equals_a_rebuild(self) -> None:
        view = self.cache.view(0.0)
        rebuilt = ClusterState()
        rebuilt.set_nodes(self.nodes[name] for name in view.nodes.names)
        for known in self.pods.values():
            if known.uid in self.assumed:
                rebuilt.put_pod(known.on(self.assumed[known.uid][1]))
            elif known.node is not None or known.nominated is not None:
                rebuilt.put_pod(known)
        assert set(view.nodes.names) == set(self.nodes)
        columns = np.array([view.nodes.column(name) for name in rebuilt.nodes.resources])
        assert np.array_equal(view.usage.requested[:, columns], rebuilt.usage.requested)
        assert np.array_equal(view.usage.pod_count, rebuilt.usage.pod_count)
        assert np.array_equal(view.usage.nonzero, rebuilt.usage.nonzero)
        assert set(view.pending) == set(rebuilt.pending)
        assert set(view.homeless) == set(rebuilt.homeless)
        assert self.cache.assumed_count == len(self.assumed)


CacheMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCache = CacheMachine.TestCase


def test_a_view_never_changes_while_ten_thousand_events_pass() -> None:
    cache = LiveCache(ClusterState())
    for name in NODES:
        cache.put_node(node(name, cpu=10_000_000))
    for number in range(50):
        cache.put_pod(pod(f"x{number}", node=NODES[number % 4], phase="Running"))
    view = cache.view(0.0)

    def fingerprint() -> tuple[Any, ...]:
        usage = view.usage
        return (
            usage.requested.tobytes(),
            usage.pod_count.tobytes(),
            usage.nonzero.tobytes(),
            tuple(usage.pods_on),
            tuple(sorted((kind.workload, tuple(sorted(rows.items()))) for kind, rows in usage.placed.items())),
            view.nodes.names,
        )

    before = fingerprint()
    for number in range(10_000):
        name = f"x{number % 100}"
        if number % 3 == 0:
            cache.drop_pod(f"default/{name}")
        else:
            cache.put_pod(pod(name, node=NODES[number % 4], cpu=100 + number % 2 * 100, phase="Running"))
        if number % 1000 == 0:
            cache.put_node(node(NODES[0], cpu=10_000_000 + number))
            cache.view(0.0)
    assert fingerprint() == before


def test_only_changes_that_matter_are_told() -> None:
    told: list[Event] = []
    cache = LiveCache(ClusterState(), listener=told.append)
    cache.put_node(node("n0"))
    cache.put_node(node("n0"))
    cache.put_pod(pod("a"))
    cache.put_pod(pod("a", node="n0"))
    cache.put_pod(pod("a", node="n0", phase="Running", ready=True))
    cache.put_pod(pod("a", node="n0", phase="Running", cpu=50))
    cache.put_pod(pod("a", node="n0", phase="Succeeded", cpu=50))
    cache.drop_pod("default/a")
    assert [(event.resource, event.action) for event in told] == [
        ("node", "add"),
        ("pod", "add"),
        ("pod", "scale-down"),
        ("pod", "delete"),
    ]


def test_a_failed_binding_frees_its_place_and_says_so() -> None:
    told: list[Event] = []
    cache = LiveCache(ClusterState(), listener=told.append)
    cache.put_node(node("n0"))
    cache.put_pod(pod("a"))
    cache.settle_nodes()
    cache.assume(pod("a"), "n0")
    cache.put_pod(pod("a", ready=True))
    assert cache.state.usage.pod_count[0] == 1, "a late event without a node does not undo the assumption"
    cache.forget(pod("a"))
    assert cache.state.usage.pod_count[0] == 0
    assert [(event.resource, event.action) for event in told] == [("node", "add"), ("pod", "delete")]


def test_over_commitment_is_reported_once_until_it_is_over() -> None:
    cache, watch = LiveCache(ClusterState()), OvercommitWatch()
    cache.put_node(node("n0", cpu=150))
    for name in ("a", "b"):
        cache.put_pod(pod(name, node="n0", phase="Running"))
    cache.settle_nodes()
    (found,) = watch.check(cache.state)
    assert str(found) == "node n0: 200 of cpu requested, 150 allocatable"
    assert watch.check(cache.state) == []
    assert watch.current == 1
    cache.drop_pod("default/b")
    assert watch.check(cache.state) == []
    assert watch.current == 0
    cache.put_pod(pod("b", node="n0", phase="Running"))
    assert len(watch.check(cache.state)) == 1
