"""Random small clusters whose workloads talk: measured nodes, running chains in odd places, and applications that wait.

What deschedulers, plans and groups need to have something to decide about.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from ecotone.model.objects import Measured, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugins.pogonip.application import CONTROL_LABEL

NOW = 1000.0
GIGABYTE = 2**30


def talking_clusters() -> st.SearchStrategy[ClusterState]:
    return st.builds(
        _cluster, st.integers(0, 2**32), nodes=st.integers(2, 5), services=st.integers(2, 5), groups=st.integers(0, 2)
    )


def _cluster(seed: int, *, nodes: int, services: int, groups: int) -> ClusterState:
    luck = Random(seed)
    state = ClusterState(now=NOW, seed=luck.randint(0, 3))
    names = [f"n{number}" for number in range(nodes)]
    state.set_nodes(_node(luck, name, names) for name in names)
    chain = [f"s{number}" for number in range(services)]
    for index, name in enumerate(chain):
        state.put_workload(_workload(luck, index, chain, names))
        for replica in range(luck.choice((1, 1, 2))):
            place = luck.choice([*names, None]) if replica else luck.choice(names)
            state.put_pod(_pod(f"{name}-{replica}", name, index=index, node=place, cpu=luck.choice((100, 400))))
    for group in range(groups):
        bound = luck.choice((20.0, 60.0))
        for member in range(luck.randint(2, 3)):
            role = "message-queue" if member == 0 else None
            state.put_pod(_member(f"g{group}", member, role=role, bound=bound, cpu=luck.choice((200, 900))))
    return state


def _node(luck: Random, name: str, names: list[str]) -> Node:
    cpu = luck.choice((1000, 2000, 4000))
    first = name == names[0]
    return Node(
        name,
        {"cpu": cpu, "memory": 8 * GIGABYTE, "pods": 20},
        labels={CONTROL_LABEL: ""} if first else {},
        tier="edge" if first else luck.choice(("edge", "cloud")),
        available_cpu=luck.uniform(0.3, 1.0) * cpu,
        available_memory=4.0 * GIGABYTE,
        latencies={other: luck.choice((1.0, 10.0, 80.0)) for other in names if other != name},
        measured_at=NOW,
    )


def _workload(luck: Random, index: int, chain: list[str], names: list[str]) -> Workload:
    """Talks to its neighbours in the chain; the first one to users at some node."""
    peers = [chain[place] for place in (index - 1, index + 1) if 0 <= place < len(chain)]
    if index == 0:
        peers.append(f"users@{luck.choice(names)}")
    rate = luck.choice((5.0, 50.0))
    return Workload(
        WorkloadKey("default", chain[index]),
        replicas=1,
        index=index,
        cpu_usage=Measured(100.0, NOW),
        memory_usage=Measured(1e8, NOW),
        traffic=dict.fromkeys(peers, 1000.0 * rate),
        affinity={peer: luck.choice((1.0, 5.0)) for peer in peers},
        requests=dict.fromkeys(peers, rate),
        synchronous=dict.fromkeys(peers, True),
        measured_at=NOW,
    )


def _pod(name: str, app: str, *, index: int, node: str | None, cpu: int) -> Pod:
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0))
    kind = PodKind("default", WorkloadKey("default", app), labels=(("app", app),), spec=spec, index=index)
    running = node is not None
    return Pod(
        name, f"uid-{name}", kind, node=node, phase="Running" if running else "Pending", ready=running, owner="rs",
        bound_at=1.0 if running else None,
    )  # fmt: skip


def _member(group: str, number: int, *, role: str | None, bound: float, cpu: int) -> Pod:
    name = f"{group}-{number}"
    kind = PodKind(
        "default",
        WorkloadKey("default", name),
        labels=(("app-group", group),),
        spec=PodSpec(requests=(("cpu", cpu), ("memory", GIGABYTE)), nonzero=(cpu, GIGABYTE)),
        app_group=group,
        role=role,
        max_latency_ms=bound,
    )
    return Pod(f"{name}-0", f"uid-{name}", kind, owner="rs")
