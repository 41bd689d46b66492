"""The incremental state equals a rebuild from the objects after any sequence of events; snapshots never change."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ecotone.model.availability import available, available_at
from ecotone.model.columns.network import NetworkMap
from ecotone.model.columns.nodes import MEASUREMENTS, NodeTable
from ecotone.model.objects import HostPort, Measured, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.selectors import Requirement, Taint
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState

NODES = ("a", "b", "c", "d")
SERVICES = ("web", "db", "cache")


def some_node(dice: Random) -> Node:
    more = {"example.com/gpu": dice.randint(1, 4)} if dice.random() < 0.3 else {}
    return Node(
        dice.choice(NODES),
        {"cpu": dice.choice((1000, 4000)), "memory": 1 << 33, "pods": 20, **more},
        labels={"zone": dice.choice("xy")},
        available_cpu=dice.choice((None, 500.0)),
        available_memory=dice.choice((None, 2.0**30)),
        latencies={dice.choice(NODES): dice.uniform(1.0, 50.0)},
        measured_at=dice.choice((None, 10.0, 50.0, 90.0)),
        taints=dice.choice(((), (Taint("down", "", "NoSchedule"),))),
        unschedulable=dice.random() < 0.3,
        ready=dice.random() < 0.7,
        tier=dice.choice((None, "edge", "cloud")),
        price_per_hour=dice.choice((0.0, 2.0)),
        images={"web:1": dice.randint(1, 9)} if dice.random() < 0.5 else {},
    )


def some_pod(dice: Random) -> Pod:
    name = dice.choice(SERVICES)
    spec = PodSpec(
        requests=(("cpu", dice.choice((100, 250))), ("memory", 1 << 20), ("example.com/gpu", 1))
        if dice.random() < 0.3
        else (("cpu", 100),),
        host_ports=(HostPort(8080),) if dice.random() < 0.2 else (),
    )
    return Pod(
        f"{name}-{dice.randint(0, 4)}",
        f"uid-{dice.randint(0, 9)}",
        PodKind("default", WorkloadKey("default", name), labels=(("app", name),), spec=spec),
        node=dice.choice((None, *NODES)),
        phase=dice.choice(("Running", "Running", "Running", "Failed")),
        bound_at=dice.choice((None, 20.0, 95.0)),
        deleting=dice.random() < 0.2,
    )


def some_workload(dice: Random) -> Workload:
    return Workload(
        WorkloadKey("default", dice.choice(SERVICES), dice.choice(("Deployment", "StatefulSet"))),
        cpu_usage=Measured(dice.choice((50.0, 300.0)), dice.choice((None, 90.0, -900.0))),
        traffic={dice.choice(SERVICES): 5.0, "users@a": 1.0},
        affinity=dice.choice((None, {dice.choice(SERVICES): 100.0, "other/web": 20.0})),
    )


def view(state: ClusterState | Snapshot) -> dict[str, Any]:
    """Everything a decision may read, independent of the order in which things became known."""
    nodes, usage = state.nodes, state.usage
    columns = [name for name in sorted(nodes.resources) if nodes.allocatable[:, nodes.resources.index(name)].any()]
    at = {name: nodes.resources.index(name) for name in columns}
    rows = dict(sorted(nodes.index.items()))
    working = ClusterState.of(state) if isinstance(state, Snapshot) else state
    left = available(working, nodes.all_rows, by="default")

    def by_name(counts: Any) -> dict[Any, Any]:
        return {
            kind: {nodes.names[row]: count for row, count in sorted(rows.items())}
            for kind, rows in counts.items()
            if rows
        }

    return {
        "nodes": {name: nodes.nodes[row] for name, row in rows.items()},
        "requested": {
            name: {each: int(usage.requested[row, at[each]]) for each in columns} for name, row in rows.items()
        },
        "nonzero": {name: usage.nonzero[row].tolist() for name, row in rows.items()},
        "pod_count": {name: int(usage.pod_count[row]) for name, row in rows.items()},
        "ports": {name: sorted(map(str, usage.ports.get(row, ()))) for name, row in rows.items()},
        "pods": {name: {pod.key: pod for pod in usage.pods_on[row]} for name, row in rows.items()},
        "available": {name: left[row].round(6).tolist() for name, row in rows.items()},
        "placed": by_name(usage.placed),
        "peers": by_name(usage.peers),
        "where": {
            kind: {nodes.names[row]: int(count) for row, count in zip(*usage.where(kind), strict=True)}
            for kind in usage.placed
        },
        "recent": by_name(usage.recent),
        "recent_keys": set(usage.recent_keys),
        "pending": dict(state.pending),
        "homeless": dict(state.homeless),
        "kinds": dict(state.kind_counts),
        "named": {name: set(kinds) for name, kinds in state.named.items()},
        "workloads": dict(state.workloads),
        "graph": (dict(state.graph.named), dict(state.graph.mentioned_by)),
        "latency": {
            (origin, target): state.network.between(rows[origin], rows[target]) for origin in rows for target in rows
        },
    }


class Events(RuleBasedStateMachine):
    """Events hit the incremental state; the objects are kept beside it, and a rebuild must look the same."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState(now=100.0)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.workloads: dict[WorkloadKey, Workload] = {}
        self.maps: tuple[NetworkMap, ...] = ()

    @rule(seed=st.integers(0, 10**6))
    def put_node(self, seed: int) -> None:
        node = some_node(Random(seed))
        self.nodes[node.name] = node
        self.state.put_node(node)

    @rule(seed=st.integers(0, 10**6))
    def measure_again(self, seed: int) -> None:
        """What monitors do all the time: nothing of the node changes but its figures."""
        dice = Random(seed)
        if self.nodes:
            old, new = self.nodes[dice.choice(sorted(self.nodes))], some_node(dice)
            node = replace(old, **{name: getattr(new, name) for name in MEASUREMENTS})
            self.nodes[node.name] = node
            self.state.put_node(node)

    @rule(name=st.sampled_from(NODES))
    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.state.drop_node(name)

    @rule(seed=st.integers(0, 10**6))
    def put_pod(self, seed: int) -> None:
        pod = some_pod(Random(seed))
        self.pods[pod.key] = pod
        self.state.put_pod(pod)

    @rule(seed=st.integers(0, 10**6))
    def drop_pod(self, seed: int) -> None:
        key = some_pod(Random(seed)).key
        self.pods.pop(key, None)
        self.state.drop_pod(key)

    @rule(seed=st.integers(0, 10**6))
    def put_workload(self, seed: int) -> None:
        workload = some_workload(Random(seed))
        self.workloads[workload.key] = workload
        self.state.put_workload(workload)

    @rule(seed=st.integers(0, 10**6))
    def drop_workload(self, seed: int) -> None:
        key = some_workload(Random(seed)).key
        self.workloads.pop(key, None)
        self.state.drop_workload(key)

    @rule(rtt=st.floats(1.0, 9.0))
    def set_maps(self, rtt: float) -> None:
        self.maps = (NetworkMap("zone", {"x": {"y": rtt}}),)
        self.state.set_maps(self.maps)

    @rule(by=st.sampled_from((1.0, 200.0)))
    def time_passes(self, by: float) -> None:
        self.state.advance(self.state.now + by)

    @rule(seed=st.integers(0, 10**6))
    def judge_and_put_back(self, seed: int) -> None:
        """A running pod thought away and put back leaves no trace."""
        running = sorted(pod.key for pod in self.state.usage.pods())
        if running:
            key = Random(seed).choice(running)
            lifted = self.state.lift(key)
            assert lifted is not None
            assert self.state.find_pod(key) is None
            self.state.put_pod(lifted)

    @invariant()
    def equals_a_rebuild(self) -> None:
        fresh = ClusterState(now=self.state.now)
        fresh.set_maps(self.maps)
        fresh.set_nodes(self.nodes.values())
        for workload in self.workloads.values():
            fresh.put_workload(workload)
        for pod in self.pods.values():
            fresh.put_pod(pod)
        assert view(self.state) == view(fresh)
        assert view(self.state.freeze()) == view(fresh)


Events.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestEvents = Events.TestCase


def digest(snapshot: Snapshot) -> str:
    usage = snapshot.usage
    text = repr((view(snapshot), snapshot.now, sorted(snapshot.memory.items())))
    arrays = b"".join(
        np.ascontiguousarray(each).tobytes() for each in (usage.requested, usage.nonzero, usage.pod_count)
    )
    return hashlib.sha256(text.encode() + arrays).hexdigest()


def apply_random_event(state: ClusterState, dice: Random) -> None:
    event = dice.randrange(10)
    if event == 0:
        state.put_node(some_node(dice))
    elif event == 1 and dice.random() < 0.3:
        state.drop_node(dice.choice(NODES))
    elif event == 2:
        state.put_workload(some_workload(dice))
    elif event == 3:
        state.drop_pod(some_pod(dice).key)
    elif event == 4:
        state.advance(state.now + 0.01)
    elif event == 5 and state.pending and len(state.nodes):
        pod = dice.choice(sorted(state.pending.values(), key=lambda each: each.key))
        state.assume(pod, dice.choice(state.nodes.names))
    else:
        state.put_pod(some_pod(dice))


def test_a_snapshot_that_was_handed_out_never_changes() -> None:
    dice = Random(7)
    state = ClusterState(now=100.0)
    for _ in range(300):
        apply_random_event(state, dice)
    snapshot = state.freeze()
    before = digest(snapshot)
    for _ in range(10_000):
        apply_random_event(state, dice)
    assert digest(snapshot) == before
    assert digest(state.freeze()) != before


def test_a_working_copy_does_not_write_through() -> None:
    dice = Random(3)
    state = ClusterState(now=100.0)
    for _ in range(200):
        apply_random_event(state, dice)
    snapshot = state.freeze()
    before = digest(snapshot)
    working = ClusterState.of(snapshot)
    for _ in range(300):
        apply_random_event(working, dice)
    assert digest(snapshot) == before


def judged() -> ClusterState:
    state = ClusterState(now=100.0)
    state.put_node(Node("a", {"cpu": 4000, "memory": 1 << 33}, available_cpu=1000.0, measured_at=50.0))
    state.put_workload(Workload(WorkloadKey("default", "web"), cpu_usage=Measured(300.0)))
    return state


def web(name: str, **fields: Any) -> Pod:
    kind = PodKind("default", WorkloadKey("default", "web"), spec=PodSpec(requests=(("cpu", 100),)))
    return Pod(name, name, kind, phase="Running", **fields)


def cpu_left(state: ClusterState) -> float:
    return float(available(state, state.nodes.all_rows, by="default")[0, 0])


def test_a_pod_inside_the_measurement_gives_its_usage_back_when_thought_away() -> None:
    state = judged()
    state.put_pod(web("old", node="a", bound_at=10.0))
    assert cpu_left(state) == 1000.0
    lifted = state.lift("default/old")
    assert lifted is not None
    assert cpu_left(state) == 1300.0
    assert state.usage.requested[0, 0] == 0
    state.put_pod(lifted)
    assert cpu_left(state) == 1000.0


def test_a_pod_after_the_measurement_takes_its_usage_off_and_gives_it_back_once() -> None:
    state = judged()
    state.put_pod(web("new", node="a", bound_at=60.0))
    assert cpu_left(state) == 700.0
    state.lift("default/new")
    assert cpu_left(state) == 1000.0


def test_a_moved_pod_frees_its_old_place_for_good() -> None:
    state = judged()
    state.put_node(Node("b", {"cpu": 4000, "memory": 1 << 33}, available_cpu=2000.0, measured_at=50.0))
    pod = web("old", node="a", bound_at=10.0)
    state.put_pod(pod)
    state.lift(pod.key)
    state.assume(pod, "b")
    left = available(state, state.nodes.all_rows, by="default")[:, 0]
    assert left.tolist() == [1300.0, 1700.0]


def test_lifting_what_does_not_run_does_nothing() -> None:
    state = judged()
    state.put_pod(web("waiting"))
    assert state.lift("default/waiting") is None
    assert state.lift("default/nobody") is None


def test_a_new_measurement_contains_what_came_before_it() -> None:
    state = judged()
    state.put_pod(web("new", node="a", bound_at=60.0))
    state.put_node(replace(state.nodes.nodes[0], measured_at=70.0, available_cpu=900.0))
    assert cpu_left(state) == 900.0


def test_pods_on_a_vanished_node_come_back_with_it() -> None:
    state = judged()
    state.put_pod(web("old", node="a"))
    node = state.nodes.nodes[0]
    state.drop_node("a")
    assert set(state.homeless) == {"default/old"}
    state.drop_pod("default/old")
    state.put_node(node)
    state.drop_pod("default/old")
    assert not list(state.usage.pods())


def test_remembered_assumptions_are_restored_exactly() -> None:
    state = judged()
    state.put_pod(web("old", node="a", bound_at=10.0))
    state.put_pod(web("new", node="a", bound_at=60.0))
    state.set_recent(["default/old"])
    assert state.usage.recent_keys == {"default/old"}
    assert cpu_left(state) == 700.0


def test_a_snapshot_keeps_what_was_not_measured_yet_when_the_cluster_goes_on() -> None:
    state = judged()
    state.assume(web("first"), "a")
    before = state.freeze()
    seen = {kind: dict(counts) for kind, counts in before.usage.recent.items()}
    state.assume(web("second"), "a")
    ClusterState.of(before).assume(web("third"), "a")
    assert {kind: dict(counts) for kind, counts in before.usage.recent.items()} == seen
    assert sum(sum(counts.values()) for counts in state.usage.recent.values()) == 2


@pytest.mark.parametrize("seed", range(40))
def test_a_table_with_some_rows_changed_answers_as_one_laid_out_anew(seed: int) -> None:
    dice = Random(seed)
    nodes = {name: replace(some_node(dice), name=name) for name in NODES}
    table = NodeTable(nodes.values(), resources=("cpu", "memory", "ephemeral-storage", "example.com/gpu"))
    for _ in range(4):
        answers(table)  # everything is remembered, so that what must be forgotten shows
        name = dice.choice(NODES)
        fields = dice.sample([field.name for field in dataclasses.fields(Node) if field.name != "name"], 3)
        new = some_node(dice)
        nodes[name] = replace(nodes[name], **{field: getattr(new, field) for field in fields})
        changed = table.changed({table.index[name]: nodes[name]})
        assert changed is not None
        assert answers(changed) == answers(NodeTable(nodes.values(), resources=table.resources))
        table = changed


def answers(table: NodeTable) -> dict[str, object]:
    codes, sets = table.taints
    zones, values = table.labels("zone")
    near = Requirement("zone", "In", ("x",))
    return {
        "allocatable": table.allocatable.tolist(),
        "max pods": table.max_pods.tolist(),
        "unschedulable": table.unschedulable.tolist(),
        "price": (table.price.tolist(), table.priced),
        "measured": repr(table.measured.tolist()),
        "measured at": table.measured_at.tolist(),
        "linked": table.linked,
        "taints": [sets[code] for code in codes],
        "zones": [None if code < 0 else values[code] for code in zones],
        "near": table.meets(near).tolist(),
        "tiers": table.tier_codes(("edge", "fog", "cloud")).tolist(),
        "images": {image: (rows.tolist(), sizes.tolist()) for image, (rows, sizes) in table.images.items()},
        "derived": table.derived("ready", lambda each: [node.ready for node in each.nodes]),
    }


def test_pods_that_wait_outside_are_known_in_a_snapshot_as_if_the_cluster_had_them() -> None:
    """A live scheduler keeps its queue beside the cluster: pods join the picture for the round that decides on them."""
    web = PodKind("default", WorkloadKey("default", "web"))
    pods = [Pod(f"web-{number}", f"u{number}", web) for number in range(3)]
    inside, outside = ClusterState(), ClusterState()
    for state in (inside, outside):
        state.set_nodes([Node("a", {"cpu": 1000, "pods": 10})])
        state.put_pod(pods[0])
    for pod in pods[1:]:
        inside.put_pod(pod)
    whole, joined = inside.freeze(), outside.freeze().with_waiting(pods)
    for what in ("pending", "kind_counts", "named"):
        assert getattr(joined, what) == getattr(whole, what)
    working = ClusterState.of(joined)
    for pod in pods:
        working.assume(pod, "a")
    assert working.named == {("default", "web"): (web,)} and working.kind_counts == {web: 3}
    assert outside.freeze().kind_counts == {web: 1}, "the cluster itself has learnt nothing"


def test_a_pod_whose_labels_alone_are_new_counts_as_one_of_its_new_kind() -> None:
    """API servers copy a node's zone to a pod when it is bound; what it holds there is what it held."""
    state = ClusterState(now=10.0)
    state.set_nodes([Node("one", {"cpu": 4000, "memory": 1 << 30, "pods": 10}, measured_at=5.0)])
    kind = PodKind("default", WorkloadKey("default", "web"), labels=(("app", "web"),), spec=PodSpec((("cpu", 500),)))
    zoned = replace(kind, labels=(("app", "web"), ("topology.kubernetes.io/zone", "a")))
    waiting = Pod("web-0", "u0", kind)
    state.assume(waiting, "one")
    told = replace(waiting, kind=zoned, node="one", phase="Running", bound_at=10.0)
    state.put_pod(told)
    other = ClusterState(now=10.0)
    other.set_nodes(state.nodes.nodes)
    other.put_pod(told)
    assert state.usage.requested.tolist() == other.usage.requested.tolist()
    assert state.usage.placed == other.usage.placed and state.usage.peers == other.usage.peers
    assert state.usage.recent == other.usage.recent and state.named == other.named
    state.drop_pod(told.key)
    assert not state.usage.placed and not state.named and not state.usage.requested.any()


def test_what_another_tenant_says_of_his_pods_counts_only_where_it_is_vouched_for() -> None:
    state = judged()
    state.put_pod(web("new", node="a", bound_at=60.0))

    def left(by: str) -> tuple[float, float]:
        row = state.nodes.index["a"]
        return float(available(state, state.nodes.all_rows, by=by)[0, 0]), available_at(state, row, by=by)[0]

    assert left("default") == left("other") == (700.0, 700.0), "vouched for: the figure"
    state.vouched = False
    assert left("default") == (700.0, 700.0), "his own pods: what he says"
    assert left("other") == (900.0, 900.0), "another's: what they request"
    assert not ClusterState.of(state.freeze()).vouched
