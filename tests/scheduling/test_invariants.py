"""What holds for every policy, whatever the cluster looks like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.model.decisions import Bind, Preempt
from ecotone.model.objects import HostPort, Node, Pod, Workload, WorkloadKey
from ecotone.model.selectors import LabelSelector, PodAffinity, PodTerm, SpreadConstraint
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, Evaluation, decide, framework_of
from ecotone.scheduling.plugin import Cycle
from reference.random_worlds import NOW, SERVICES, Dice, kind_of, new_pod, random_world, worlds
from reference.world import World

ALL = [name for name, profile in POLICIES.items() if profile.solver is None]
MEASURING = ["ecotone", "sophos", "sophos-dag", "communication-aware", "nas"]
NETWORKED = [*MEASURING, "netmarks"]


def scored(world: World, policy: str) -> dict[str, float]:
    """Total score by node name."""
    state = world.state()
    evaluation = Evaluation(framework_of(POLICIES[policy]), Cycle(state, new_pod(world)))
    return {state.nodes.names[row]: total for row, total in zip(evaluation.feasible, evaluation.total(), strict=True)}


def choice(world: World, policy: str) -> list[object]:
    return [
        each.node if isinstance(each, Bind) else type(each).__name__
        for each in decide(world.state().freeze(), policy).decisions
    ]


@pytest.mark.parametrize("policy", NETWORKED)
@settings(max_examples=60)
@given(world=worlds, seed=st.integers(0, 1000))
def test_permuting_nodes_permutes_scores(policy: str, world: World, seed: int) -> None:
    shuffled = replace(world, nodes=Random(seed).sample(world.nodes, len(world.nodes)))
    here, there = scored(world, policy), scored(shuffled, policy)
    assert here.keys() == there.keys()
    for name, total in here.items():
        assert there[name] == pytest.approx(total, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("policy", NETWORKED)
@settings(max_examples=60)
@given(world=worlds, other=worlds)
def test_what_another_tenant_writes_of_his_channels_moves_nobody_elses_pod(
    policy: str, world: World, other: World
) -> None:
    mine = new_pod(world).namespace
    hostile = {each.key.name: each for each in other.workloads}
    written = [
        each
        if each.key.namespace == mine
        else replace(
            hostile.get(each.key.name, Workload(each.key)),
            key=each.key,
            # Usage is what the pods on a node take from it, whoever's they are: no channel, and left as it was.
            cpu_usage=each.cpu_usage,
            memory_usage=each.memory_usage,
            deadlines={f"{mine}/{name}": 1.0 for name in SERVICES},
        )
        for each in world.workloads
    ]
    assert scored(replace(world, workloads=written), policy) == scored(world, policy)


@pytest.mark.parametrize("policy", ALL)
@settings(max_examples=25)
@given(world=worlds)
def test_equal_input_gives_equal_output(policy: str, world: World) -> None:
    first, second = (decide(world.state().freeze(), policy) for _ in range(2))
    assert first == second


NOTHING = (None, math.nan, -1.0, math.inf, -math.inf)


def same_scores(one: dict[str, float], other: dict[str, float]) -> None:
    assert one.keys() == other.keys()
    for name, total in one.items():
        assert other[name] == pytest.approx(total, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("policy", NETWORKED)
@settings(max_examples=60)
@given(world=worlds, pick=st.randoms(use_true_random=False))
def test_nonsense_is_unknown(policy: str, world: World, pick: Random) -> None:
    """NaN, negative, infinite: the same as not being there."""

    def blank(values: Mapping[str, float] | None, victim: str, nonsense: float | None) -> dict[str, float] | None:
        if values is None:
            return None
        left = {key: value for key, value in values.items() if key != victim}
        return left if nonsense is None else {**left, victim: nonsense}

    victim, target = pick.choice(world.nodes).name, pick.choice(world.nodes).name
    peer = pick.choice(("web", "cart", "db", "other/web"))
    outcomes = []
    for nonsense in NOTHING:
        nodes = [
            replace(node, available_cpu=nonsense, latencies=blank(node.latencies, target, nonsense))
            if node.name == victim
            else node
            for node in world.nodes
        ]
        workloads = [
            replace(each, traffic=blank(each.traffic, peer, nonsense), requests=blank(each.requests, peer, nonsense))
            for each in world.workloads
        ]
        outcomes.append(scored(replace(world, nodes=nodes, workloads=workloads), policy))
    for other in outcomes[1:]:
        same_scores(outcomes[0], other)


@pytest.mark.parametrize("policy", NETWORKED)
@settings(max_examples=60)
@given(world=worlds, pick=st.randoms(use_true_random=False))
def test_stale_is_unknown(policy: str, world: World, pick: Random) -> None:
    victim = pick.choice(world.nodes).name
    old = [replace(node, measured_at=NOW - 301) if node.name == victim else node for node in world.nodes]
    gone = [
        replace(
            node,
            measured_at=NOW - 301,
            latencies=None,
            available_cpu=None,
            available_memory=None,
            bandwidths=None,
            losses=None,
        )
        if node.name == victim
        else node
        for node in world.nodes
    ]
    same_scores(scored(replace(world, nodes=old), policy), scored(replace(world, nodes=gone), policy))
    late = [replace(each, measured_at=NOW - 301) for each in world.workloads]
    missing = [replace(each, measured_at=NOW - 301, traffic=None, requests=None) for each in world.workloads]
    same_scores(scored(replace(world, workloads=late), policy), scored(replace(world, workloads=missing), policy))


def twins(seed: int, *, measured: bool) -> World:
    """Two nodes that differ in nothing but that one of them may never have been measured; a peer elsewhere."""
    dice = Dice(seed)
    far = dice.random.uniform(1.0, 200.0)
    capacity = {"cpu": 4000, "memory": 8 << 30, "pods": 110}
    use = dice.random.uniform(0.0, 3500.0)
    memory = dice.random.uniform(0.0, 7e9)
    # The unmeasured twin's name comes first, so that a tie would go to it.
    known = Node("b", capacity, latencies={"hub": far}, available_cpu=4000 - use, available_memory=8e9 - memory)
    blank = Node("a", capacity)
    if measured:
        blank = replace(known, name="a")
    hub = Node("hub", capacity, unschedulable=True, latencies={"c": far + dice.random.uniform(0.0, 50.0)})
    worse = Node("c", capacity, latencies={"hub": far + 1.0}, available_cpu=0.0, available_memory=1e8)
    db, web = WorkloadKey("default", "db"), WorkloadKey("default", "web")
    pods = [
        Pod("db-0", "db-0", kind_of(db, cpu=100, memory=1 << 20), node="hub", phase="Running"),
        Pod("new", "new", kind_of(web, cpu=int(use) // 4 + 1, memory=1 << 20)),
    ]
    workloads = [Workload(web, traffic={"db": 1000.0, "users@hub": 10.0}, affinity={"db": 100.0}), Workload(db)]
    return World([blank, known, hub, worse], pods, workloads, now=NOW)


@pytest.mark.parametrize("policy", ["ecotone", "communication-aware", "nas"])
@given(seed=st.integers(0, 10**6))
def test_a_node_without_measurements_never_wins_by_having_none(policy: str, seed: int) -> None:
    totals = scored(twins(seed, measured=False), policy)
    assert totals["a"] <= totals["b"]
    equal = scored(twins(seed, measured=True), policy)
    assert equal["a"] == pytest.approx(equal["b"])


@given(seed=st.integers(0, 10**6))
def test_an_unmeasured_node_has_the_worst_network_term_in_sophos(seed: int) -> None:
    """Its resources fall back to requests, as for every node; its latencies to the largest known one."""
    world = twins(seed, measured=False)
    state = world.state()
    evaluation = Evaluation(framework_of(POLICIES["sophos"]), Cycle(state, new_pod(world)))
    network = next(term for term in evaluation.terms if term.scorer.name == "NetworkAware")
    assert network.raw is not None
    raw = dict(zip(state.nodes.names, network.raw, strict=True))
    assert raw["a"] <= min(raw["b"], raw["c"])


def demands(dice: Dice, app: str) -> dict[str, Any]:
    """Rules that make one replica's place depend on the others'."""
    selector = LabelSelector.of_labels({"app": app})
    away = PodTerm(selector, "zone", namespaces=frozenset({"default", "other"}))
    firmness = dice.choice(("DoNotSchedule", "ScheduleAnyway"))
    found: dict[str, object] = {"priority": dice.choice((0, 0, 10))}
    if dice.chance(0.2):
        found["host_ports"] = (HostPort(8080),)
    if dice.chance(0.3):
        found["spread"] = (SpreadConstraint(1, "zone", firmness, selector),)
    if dice.chance(0.2):
        found["pod_anti_affinity"] = PodAffinity(required=(away,))
    elif dice.chance(0.2):
        found["pod_affinity"] = PodAffinity(preferred=(PodTerm(selector, "zone", away.namespaces, weight=50),))
    return found


def crowd(seed: int) -> ClusterState:
    """Several replicas of a few workloads to place on nodes that fill up on the way."""
    world = random_world(seed)
    dice = Dice(seed + 1)
    nodes = [
        replace(
            node, allocatable={"cpu": dice.choice((500, 900, 2000)), "memory": 1 << 31, "pods": dice.choice((3, 110))}
        )
        for node in world.nodes
    ]
    pods = list(world.pods)
    for key in sorted({each.key for each in world.workloads}):
        kind = kind_of(key, cpu=dice.choice((None, 100, 300)), memory=1 << 26, index=dice.choice((None, 0, 1)))
        kind = replace(kind, spec=replace(kind.spec, **demands(dice, key.name)))
        pods += [
            Pod(f"{key.name}-new-{number}", f"{key}-new-{number}", kind, created=dice.random.random())
            for number in range(dice.choice((1, 3, 6)))
        ]
    return replace(world, nodes=nodes, pods=pods).state()


@pytest.mark.parametrize("policy", ALL)
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_a_batch_gives_what_pod_by_pod_gives(policy: str, seed: int) -> None:
    snapshot = crowd(seed).freeze()
    together, apart = decide(snapshot, policy), decide(snapshot, policy, batch=False)
    assert [(each.pod, getattr(each, "node", None)) for each in together.decisions] == [
        (each.pod, getattr(each, "node", None)) for each in apart.decisions
    ]
    assert together.memory == apart.memory


@pytest.mark.parametrize("policy", ALL)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_bare_pods_that_differ_in_name_only_are_a_batch_too_unless_somebody_speaks_of_one(
    policy: str, seed: int
) -> None:
    dice = Random(seed)
    state = crowd(seed)
    bare = [
        replace(pod, kind=replace(pod.kind, workload=WorkloadKey(pod.namespace, pod.name, "Pod"), app_group=None))
        for pod in state.pending.values()
    ]
    for pod in bare:
        state.drop_pod(pod.key)
        state.put_pod(pod)
    for workload in list(state.workloads.values()):
        spoken = dice.choice(bare)
        state.put_workload(replace(workload, traffic={**(workload.traffic or {}), spoken.name: 5000.0}))
    snapshot = state.freeze()
    together, apart = decide(snapshot, policy), decide(snapshot, policy, batch=False)
    assert together.decisions == apart.decisions


@pytest.mark.parametrize("policy", ALL)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_no_decision_exceeds_what_a_node_has(policy: str, seed: int) -> None:
    state = crowd(seed)
    for each in decide(state.freeze(), policy).decisions:
        if isinstance(each, Bind | Preempt):
            for victim in each.victims if isinstance(each, Preempt) else ():
                state.drop_pod(victim)
            row = state.nodes.index[each.node]
            wanted = np.array([state.pending[each.pod].spec.request(name) for name in state.nodes.resources])
            free = state.nodes.allocatable[row] - state.usage.requested[row]
            assert (wanted <= np.maximum(free, 0))[wanted > 0].all()
            assert state.usage.pod_count[row] < state.nodes.max_pods[row]
            state.assume(state.pending[each.pod], each.node)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_ecotone_is_scale_free_in_traffic(seed: int) -> None:
    world = random_world(seed)

    def loud(values: Mapping[str, float] | None) -> Mapping[str, float] | None:
        return None if values is None else {peer: 1000 * value for peer, value in values.items()}

    louder = [replace(each, traffic=loud(each.traffic), requests=loud(each.requests)) for each in world.workloads]
    here, there = scored(world, "ecotone"), scored(replace(world, workloads=louder), "ecotone")
    for name, total in here.items():
        assert there[name] == pytest.approx(total, rel=1e-9)
