"""One scheduling decision over 5,000 nodes, against the straightforward loops that the property tests use.

    python -m benchmarks.decide

The pod talks to 20 peers on 20 nodes; every default filter of Kubernetes is on. The network is known either by zones (a
NetworkMap) or by pairs measured towards the peers' nodes. The loops are `tests/reference`, unchanged: default filters node by
node, then the policy's formula over nodes and peer pods, then the sum. Both must choose the same node.

A decision is `decide(snapshot, policy)` of one pending pod, from a snapshot in which a workload has just been measured anew,
so nothing derived from the application is kept from the decision before. `ecotone` leaves nodes that nobody could tell apart
to Kubernetes' own scores; what it costs without that is the row in which every difference counts.

Batches: 100 pods of one workload in one call, against 100 calls of one pod each, every one on a snapshot that shows the
placements before it. CPU time, best of some rounds in turn: the machine may be busy with other things.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from ecotone.model.columns.network import NetworkMap
from ecotone.model.decisions import Bind
from ecotone.model.objects import Measured, Node, Pod, PodKind, PodSpec, ServiceSelector, Workload, WorkloadKey
from ecotone.model.selectors import LabelSelector, Taint
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, Profile, decide
from reference import ecotone as loop_ecotone
from reference import kubernetes as loop_kubernetes
from reference import sophos as loop_sophos
from reference.world import World

NODES = 5_000
PEERS = 20
ZONES = 50
BATCH = 100
ZONE = "topology.kubernetes.io/zone"
NOW = 1_000.0
WEB = WorkloadKey("default", "web")
CONTENDERS: dict[str, str | Profile] = {
    "sophos-normalized": "sophos-normalized",
    "ecotone": "ecotone",
    "ecotone, every difference counts": POLICIES["ecotone"].with_args("ResponseTime", noticedMs=0.0, noticedShare=0.0),
}


def kind(name: str) -> PodKind:
    spec = PodSpec(requests=(("cpu", 100), ("memory", 1 << 27)), nonzero=(100, 1 << 27))
    return PodKind("default", WorkloadKey("default", name), labels=(("app", name),), spec=spec, app_group="shop")


def cluster(*, pairs: bool, seed: int = 1) -> World:
    """5,000 nodes with 10,000 pods of 100 other workloads, one in twenty nodes tainted, all measured."""
    dice = Random(seed)
    names = [f"node-{number:05d}" for number in range(NODES)]
    hosts = dice.sample(names, PEERS)
    nodes = [
        Node(
            name,
            {"cpu": 8_000, "memory": 32 << 30, "pods": 110},
            labels={ZONE: f"zone-{number % ZONES}", "kubernetes.io/hostname": name},
            taints=(Taint("dedicated", "other"),) if number % 20 == 0 else (),
            tier=("edge", "fog", "cloud")[number % 3],
            available_cpu=dice.uniform(1_000, 7_000),
            available_memory=dice.uniform(1, 30) * 2**30,
            latencies={host: dice.uniform(1, 100) for host in hosts if host != name} if pairs else None,
            measured_at=NOW - 10,
        )
        for number, name in enumerate(names)
    ]
    others = [kind(f"other-{number}") for number in range(100)]
    pods = [
        Pod(f"other-{number}", f"other-{number}", others[number % 100], node=dice.choice(names), phase="Running")
        for number in range(2 * NODES)
    ]
    peers = [f"peer-{number}" for number in range(PEERS)]
    pods += [
        Pod(f"{peer}-0", peer, kind(peer), node=host, phase="Running") for peer, host in zip(peers, hosts, strict=True)
    ]
    flows = {peer: 1_000.0 * dice.randint(1, 50) for peer in peers}
    workloads = [Workload(WorkloadKey("default", peer), traffic={"web": flows[peer]}) for peer in peers]
    usage = {"cpu_usage": Measured(80.0, NOW - 10), "memory_usage": Measured(1e8, NOW - 10)}
    workloads.append(Workload(WEB, traffic=flows, affinity=dict.fromkeys(peers, 100.0), **usage))
    apart = {f"zone-{a}": {f"zone-{b}": 1.0 + 2.0 * abs(a - b) for b in range(ZONES)} for a in range(ZONES)}
    return World(nodes, pods, workloads, [] if pairs else [NetworkMap(ZONE, apart)], now=NOW)


def state_of(world: World, *, pending: int) -> ClusterState:
    state = world.state()
    state.services = (ServiceSelector("default", "web", LabelSelector.of_labels({"app": "web"})),)
    web = kind("web")
    for number in range(pending):
        state.put_pod(Pod(f"web-{number}", f"web-{number}", web))
    return state


# The same decision by loops


def loop_choice(world: World, state: ClusterState, policy: str | Profile) -> str:
    """Filters node by node, the formula over nodes and peers, the highest sum, ties by the default scores, then by name."""
    pod = next(iter(state.pending.values()))
    everything = loop_kubernetes.Cluster.of(state.freeze())
    fit = {node.name for node in loop_kubernetes.feasible(everything, pod)}
    places = [place for place, node in enumerate(world.nodes) if node.name in fit]
    terms = [stretched(each, places) for each in loop_formula(world, pod, policy)]
    total = {place: sum(term[place] for term in terms) / len(terms) for place in places}
    best = max(total.values())
    tied = [world.nodes[place] for place in places if total[place] >= best - 1e-9 * abs(best)]
    if len(tied) > 1:
        defaults = loop_kubernetes.totals(everything, pod, [world.nodes[place] for place in places])
        most = max(defaults[node.name] for node in tied)
        tied = [node for node in tied if defaults[node.name] == most]
    return min(node.name for node in tied)


def loop_formula(world: World, pod: Pod, policy: str | Profile) -> list[list[float]]:
    if policy == "sophos-normalized":
        return [loop_sophos.ra(world, pod), loop_sophos.na(world, pod)]
    return [[-each for each in loop_ecotone.cost(world, pod)]]


def stretched(values: list[float], places: list[int]) -> dict[int, float]:
    low, high = min(values[place] for place in places), max(values[place] for place in places)
    return {place: 50.0 if high == low else 100 * (values[place] - low) / (high - low) for place in places}


# Measuring


def timed(run: Callable[[], object]) -> tuple[float, object]:
    start = process_time()
    answer = run()
    return process_time() - start, answer


def one_decision(world: World, policy: str | Profile, *, rounds: int) -> dict[str, float]:
    state = state_of(world, pending=1)
    slow, expected = timed(lambda: loop_choice(world, state, policy))
    formula, _ = timed(lambda: loop_formula(world, next(iter(state.pending.values())), policy))
    fast = float("inf")
    for turn in range(rounds + 1):
        own = state.workloads[WEB]
        state.put_workload(replace(own, cpu_usage=Measured(80.0, NOW - 10 - 0.001 * (turn % 2))))
        snapshot = state.freeze()
        seconds, answer = timed(lambda snapshot=snapshot: decide(snapshot, policy))  # type: ignore[misc]
        (bind,) = answer.decisions  # type: ignore[attr-defined]
        assert isinstance(bind, Bind)
        assert bind.node == expected, (policy, bind.node, expected)
        if turn:  # the first decision on new nodes lays out their columns
            fast = min(fast, seconds)
    return {
        "loops, ms": 1e3 * slow,
        "the formula of that, ms": 1e3 * formula,
        "decide, ms": 1e3 * fast,
        "times faster": slow / fast,
        "than the formula alone": formula / fast,
    }


def one_batch(world: World, policy: str | Profile, *, rounds: int) -> dict[str, float]:
    state = state_of(world, pending=BATCH)
    together = apart = float("inf")
    for _ in range(rounds):
        snapshot = state.freeze()
        seconds, answer = timed(lambda snapshot=snapshot: decide(snapshot, policy))  # type: ignore[misc]
        together = min(together, seconds / BATCH)
        playing, spent, chosen = ClusterState.of(snapshot), 0.0, []
        for pod in list(state.pending.values()):
            now = playing.freeze()
            seconds, single = timed(lambda now=now, pod=pod: decide(now, policy, pods=[pod]))  # type: ignore[misc]
            spent += seconds
            (bind,) = single.decisions  # type: ignore[attr-defined]
            chosen.append(bind.node)
            playing.assume(pod, bind.node)
        apart = min(apart, spent / BATCH)
        assert [each.node for each in answer.decisions] == chosen  # type: ignore[attr-defined]
    return {"one by one, ms": 1e3 * apart, "batch, ms": 1e3 * together, "times cheaper": apart / together}


def results(rounds: int = 25) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for network, pairs in (("zones", False), ("pairs", True)):
        world = cluster(pairs=pairs)
        for name, policy in CONTENDERS.items():
            row = one_decision(world, policy, rounds=4 * rounds)
            found[f"{name}, {NODES} nodes, {PEERS} peers, {network}"] = {
                **row,
                **one_batch(world, policy, rounds=max(2, rounds // 2)),
            }
    return found


def main() -> None:
    for name, figures in results().items():
        print(name)
        for figure, value in figures.items():
            print(f"  {figure:16} {value:12.3f}")


if __name__ == "__main__":
    main()
