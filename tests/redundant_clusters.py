"""Random clusters for redundancy, and an oracle of its own: by loops over pods, with nothing of the code under test.

Zones that are near each other and zones that are not, room or hardly any, spread asked for softly or hard, owners who declare
something, users at some nodes, deaths of nodes, and replicas that are yet to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from builders import HOSTNAME, ZONE, labelled
from ecotone.model.decisions import Bind, Decision, Evict, Preempt
from ecotone.model.objects import (
    Measured,
    Node,
    Pod,
    PodKind,
    PodSpec,
    ServiceSelector,
    Workload,
    WorkloadKey,
)
from ecotone.model.selectors import SpreadConstraint
from ecotone.model.state import ClusterState
from ecotone.scheduling.redundancy.choice import GIVEN_UP

NOW = 1000.0
NEAR = (2.0, 6.0)
FAR = (18.0, 60.0)


@dataclass
class Drawn:
    """A cluster, and what the oracle must know of it: zone by node, and round trips between zones."""

    state: ClusterState
    zone_of: dict[str, str | None]
    between: dict[tuple[str, str], float]


def drawn(seed: int) -> Drawn:
    luck = Random(seed)
    zones = [f"z{number}" for number in range(luck.randint(1, 4))]
    between = {
        pair: rtt
        for number, a in enumerate(zones)
        for b in zones[number + 1 :]
        for rtt in (luck.choice(NEAR if luck.random() < 0.6 else FAR),)
        for pair in ((a, b), (b, a))
    }
    labelled_at_all = luck.random() < 0.9
    names = {f"{zone}-n{number}": zone for zone in zones for number in range(luck.randint(1, 3))}
    tight = luck.random() < 0.5
    tiers = ("edge", "cloud") if luck.random() < 0.3 else (None,)
    state = ClusterState(now=NOW, seed=seed)
    state.set_nodes(
        Node(
            name,
            {"cpu": cpu, "memory": 1 << 33, "pods": 50},
            labels={HOSTNAME: name, **({ZONE: zone} if labelled_at_all else {})},
            tier=tiers[number % len(tiers)],
            available_cpu=float(cpu),
            available_memory=float(1 << 33),
            latencies={
                other: 0.5 if zones_of == zone else between[zone, zones_of]
                for other, zones_of in names.items()
                if other != name
            },
            measured_at=NOW,
        )
        for number, (name, zone) in enumerate(names.items())
        for cpu in (luck.choice((600, 900)) if tight else luck.choice((4000, 8000)),)
    )
    found = Drawn(state, {name: zone if labelled_at_all else None for name, zone in names.items()}, between)
    _fill(found, luck, sorted(names))
    return found


def _fill(found: Drawn, luck: Random, names: list[str]) -> None:
    state, count = found.state, luck.randint(1, 5)
    rate = luck.choice((5.0, 20.0))
    measured = luck.random() < 0.8
    sites = luck.sample(names, min(len(names), luck.randint(1, 2)))
    services = []
    for number in range(count):
        name = f"w{number}"
        users = {f"users@{node}": rate / len(sites) for node in sites} if number == 0 else {}
        calls = {f"w{number + 1}": rate} if number + 1 < count else {}
        replicas = luck.randint(1, 4)
        key = WorkloadKey("default", name)
        figures: dict[str, Any] = {
            "cpu_usage": Measured(20.0, NOW), "memory_usage": Measured(1e6, NOW),
            "traffic": {peer: 2000.0 * each for peer, each in (users | calls).items()},
            "requests": users | calls, "calls": calls, "measured_at": NOW,
        }  # fmt: skip
        state.put_workload(
            Workload(
                key, replicas=replicas, app_group="shop", selector=labelled(app=name),
                synchronous=dict.fromkeys(calls, True), affinity=dict.fromkeys(calls, 80.0),
                edge_share=luck.choice((0.5, 1.0)) if state.nodes.nodes[0].tier and luck.random() < 0.5 else None,
                redundancy=luck.choice((None,) * 7 + ("none", "node", "zone")),
                **(figures if measured else {}),
            )
        )  # fmt: skip
        spread: tuple[SpreadConstraint, ...] = ()
        if luck.random() < 0.4:
            how = luck.choice(("ScheduleAnyway", "DoNotSchedule"))
            spread = (SpreadConstraint(luck.randint(1, 2), ZONE, how, labelled(app=name)),)
        spec = PodSpec(requests=(("cpu", 200),), nonzero=(200, 0), spread=spread)
        kind = PodKind("default", key, labels=(("app", name),), spec=spec, app_group="shop")
        waiting = luck.randint(0, replicas) if luck.random() < 0.6 else 0
        for each in range(replicas):
            pod = Pod(
                f"{name}-{each}", f"u-{name}-{each}", kind, created=float(each), owner="rs",
                node=None if each < waiting else _home(state, luck, names),
            )  # fmt: skip
            ready: dict[str, Any] = (
                {"phase": "Running", "ready": True, "bound_at": 1.0, "ready_at": 2.0} if pod.node else {}
            )
            state.put_pod(replace(pod, **ready))
        near = luck.choice((None, None, "PreferSameNode", "PreferSameZone"))
        services.append(ServiceSelector("default", name, labelled(app=name), near))
    state.services = tuple(services)


def _home(state: ClusterState, luck: Random, names: list[str]) -> str | None:
    free = [
        name
        for name in names
        if int(state.nodes.allocatable[state.nodes.index[name], 0])
        - int(state.usage.requested[state.nodes.index[name], 0])
        >= 200
    ]
    return luck.choice(free) if free else None


# What is there, by loops


def serving(state: ClusterState) -> dict[WorkloadKey, list[str]]:
    found: dict[WorkloadKey, list[str]] = {}
    for pod in state.usage.pods():
        if pod.is_peer and pod.node is not None:
            found.setdefault(pod.kind.workload, []).append(pod.node)
    return found


def standing(cluster: Drawn, nodes: list[str]) -> tuple[int, int]:
    """On how many nodes, and in how many zones."""
    zones = {cluster.zone_of[node] for node in nodes} - {None}
    return len(set(nodes)), len(zones)


def asked(cluster: Drawn, workload: WorkloadKey, nodes: list[str]) -> tuple[int, int]:
    """The nodes and zones that so many replicas, placed so, should have."""
    state = cluster.state
    declared = state.workloads[workload].redundancy
    number = len(nodes)
    kind = state.named[workload.namespace, workload.name][0]
    if declared == "none" or number < 2:
        return 1, 1
    if declared == "node":
        return 2, 1
    alive = {cluster.zone_of[name] for name in state.nodes.names} - {None}
    by_spread = [-(-number // each.max_skew) for each in kind.spec.spread]
    if declared == "zone":
        return 2, min(len(alive), max([2, *by_spread]))
    if by_spread:
        return 2, min(len(alive), by_spread[0])
    own = {cluster.zone_of[node] for node in nodes} - {None}
    if len(own) == 1:
        (here,) = own
        near = any(cluster.between.get((here or "", other or ""), 99.0) <= 10.0 for other in alive)
        return 2, 2 if near else 1
    return 2, 1


def missing(cluster: Drawn, workload: WorkloadKey, nodes: list[str]) -> tuple[int, int]:
    """How many nodes and zones there are too few."""
    has, wants = standing(cluster, nodes), asked(cluster, workload, nodes)
    return max(0, min(wants[0], len(cluster.state.nodes)) - has[0]), max(0, wants[1] - has[1]) if wants[1] > 1 else 0


# Playing decisions forward


def bind(cluster: Drawn, decisions: list[Decision]) -> list[str]:
    """Carries binds out; workloads that lack more than before though nobody said so, with what they lack."""
    state = cluster.state
    before = serving(state)
    said: set[WorkloadKey] = set()
    touched: set[WorkloadKey] = set()
    for each in decisions:
        if isinstance(each, Bind):
            pod = state.pending[each.pod]
            touched.add(pod.kind.workload)
            if GIVEN_UP in each.why:
                said.add(pod.kind.workload)
            state.assume(pod, each.node)
            there = state.find_pod(each.pod)
            assert there is not None
            state.put_pod(replace(there, phase="Running", ready=True, bound_at=state.now, ready_at=state.now))
        assert not isinstance(each, Preempt)
    after = serving(state)
    faults = []
    for workload in sorted(touched - said):
        lacks, lacked = (
            missing(cluster, workload, after[workload]),
            missing(cluster, workload, before.get(workload, [])),
        )
        if lacks[0] > lacked[0] or lacks[1] > lacked[1]:
            faults.append(f"placing {workload}: on {sorted(after[workload])}, lacks {lacks} (before: {lacked})")
    return faults


def move(cluster: Drawn, decisions: list[Decision], had: dict[WorkloadKey, list[str]]) -> list[str]:
    """Carries the moves of a round out, replacements at their targets; what stood closer together meanwhile or afterwards.

    `had`: where pods stood when the plans under way began, which may pass through places that are better than both ends.
    """
    state = cluster.state
    before = serving(state)
    moves = [each for each in decisions if isinstance(each, Evict)]
    said = {state.find_pod(each.pod).kind.workload for each in moves if GIVEN_UP in each.why}  # type: ignore[union-attr]
    pods = {}
    for each in moves:
        pod = state.find_pod(each.pod)
        assert pod is not None
        pods[each.pod] = pod
        if not each.surge:
            state.drop_pod(pod.key)
    during = serving(state)
    for each in moves:
        pod = pods[each.pod]
        if each.surge:
            state.drop_pod(pod.key)
        state.last_moves[pod.kind.workload] = state.now
        state.put_pod(
            replace(
                pod, name=f"{pod.name}x", uid=f"{pod.uid}x", node=each.target, bound_at=state.now, ready_at=state.now
            )
        )
    after = serving(state)
    faults: list[str] = []
    for workload in sorted({pod.kind.workload for pod in pods.values()} - said):
        places = (before[workload], during.get(workload, []), after[workload])
        faults += _closer(cluster, workload, had[workload], *places)
    return faults


def _closer(
    cluster: Drawn, workload: WorkloadKey, first: list[str], before: list[str], during: list[str], after: list[str]
) -> Iterator[str]:
    declared = cluster.state.workloads[workload].redundancy
    had, has = standing(cluster, first), standing(cluster, after)
    lacked, lacks = missing(cluster, workload, before), missing(cluster, workload, after)
    told = f"moving {workload}: {sorted(before)} -> {sorted(during)} -> {sorted(after)}"
    if declared is None and (has[0] < had[0] or has[1] < had[1]):
        yield f"{told}: fewer nodes or zones than before"
    if lacks[0] > lacked[0] or lacks[1] > lacked[1]:
        yield f"{told}: lacks {lacks}"
    thin = missing(cluster, workload, during)
    if len(before) > 1 and lacked == (0, 0) and thin != (0, 0):
        yield f"{told}: those that serve meanwhile lack {thin}"


def die(cluster: Drawn, luck: Random) -> None:
    """A node is gone, and its pods wait again."""
    state = cluster.state
    if len(state.nodes) < 3:
        return
    name = luck.choice(sorted(state.nodes.names))
    there = [pod for pod in state.usage.pods() if pod.node == name]
    for pod in there:
        state.drop_pod(pod.key)
    state.set_nodes([node for node in state.nodes.nodes if node.name != name])
    for pod in there:
        state.put_pod(
            replace(
                pod, name=f"{pod.name}d", uid=f"{pod.uid}d", node=None, bound_at=None, ready_at=None, ready=False,
                phase="Pending", created=state.now,
            )
        )  # fmt: skip
