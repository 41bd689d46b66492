"""Random clusters for property tests: half-measured, half-broken, with users, replicas and several namespaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from ecotone.model.columns.network import NetworkMap
from ecotone.model.objects import Coordinates, Measured, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from reference.world import World

NOW = 1000.0
NAMES = ("a", "b", "c", "d", "e", "f", "g")
NAMESPACES = ("default", "other")
SERVICES = ("web", "cart", "db", "queue")
NONSENSE = (math.nan, -1.0, math.inf)

MOMENTS = (None, None, NOW, NOW - 10.0, NOW - 299.0, NOW - 301.0, NOW - 5000.0)
LATENCIES = (0.0, 0.5, 10.0, 100.0, *NONSENSE)
AMOUNTS = (0.0, 1.0, 1000.0, 1e5, *NONSENSE)
PRIORITIES = (10.0, 20.0, 40.0, 85.0, 100.0, 0.0, *NONSENSE)


class Dice:
    """Short names for what a random cluster is made of."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.choice = self.random.choice

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self, top: float, special: Sequence[float]) -> float:
        return self.random.uniform(0.0, top) if self.chance(0.5) else self.choice(special)

    def some(self, keys: Sequence[str], *, most: int, top: float, special: Sequence[float]) -> dict[str, float] | None:
        """A JSON annotation: sometimes absent, sometimes empty, sometimes nonsense."""
        if self.chance(0.25):
            return None
        chosen = self.random.sample(keys, self.random.randint(0, min(most, len(keys))))
        return {key: self.number(top, special) for key in chosen}


def _node(dice: Dice, name: str, others: list[str], *, coordinates: bool) -> Node:
    vector = tuple(dice.choice((0.0, 3.0, 40.0, 40.0, math.nan)) for _ in range(2))
    place = Coordinates(vector, dice.choice((0.0, 1.0, -1.0)))
    elsewhere = [*others, "ghost"]
    measured = dice.chance(0.6)
    return Node(
        name,
        {
            "cpu": dice.choice((500, 1000, 2000, 4000, 16000)),
            "memory": dice.choice((1, 4, 16)) << 30,
            "pods": 110,
        },
        labels={"zone": dice.choice(("north", "south"))} if dice.chance(0.7) else {},
        tier=dice.choice((None, "edge", "fog", "cloud")),
        price_per_hour=dice.choice((0.0, 0.1, 2.0)),
        available_cpu=dice.choice((None, 0.0, 250.0, 900.0, *NONSENSE)) if measured else None,
        available_memory=dice.choice((None, 0.0, 2.0**29, 2.0**31, *NONSENSE)) if measured else None,
        latencies=dice.some(elsewhere, most=6, top=300.0, special=LATENCIES),
        bandwidths=dice.some(others, most=4, top=1e6, special=AMOUNTS),
        losses=dice.some(others, most=4, top=5.0, special=AMOUNTS),
        measured_at=dice.choice(MOMENTS),
        coordinates=place if coordinates and dice.chance(0.7) else None,
    )


def _workload(dice: Dice, key: WorkloadKey, node_names: list[str]) -> Workload:
    peers = [*SERVICES, *(f"other/{each}" for each in SERVICES), f"default/{SERVICES[0]}"]
    users = [f"users@{name}" for name in (*node_names, "ghost")]
    flags = dice.some(peers, most=2, top=1.0, special=(0.0,)) if dice.chance(0.4) else None
    return Workload(
        key,
        index=dice.choice((None, 0, 1, 2)),
        cpu_usage=Measured(dice.choice((0.0, 5.0, 300.0, *NONSENSE)), dice.choice(MOMENTS)),
        memory_usage=Measured(dice.choice((0.0, 2.0**20, 2.0**29)), dice.choice(MOMENTS)),
        traffic=dice.some([*peers, *users], most=5, top=1e6, special=AMOUNTS),
        affinity=dice.some(peers, most=3, top=100.0, special=PRIORITIES),
        requests=dice.some([*peers, *users], most=5, top=50.0, special=AMOUNTS) if dice.chance(0.4) else None,
        synchronous={peer: value > 0.5 for peer, value in (flags or {}).items()},
        measured_at=dice.choice(MOMENTS),
    )


def kind_of(key: WorkloadKey, *, cpu: int | None, memory: int | None, index: int | None = None) -> PodKind:
    requests = {"cpu": cpu, "memory": memory}
    spec = PodSpec(
        requests=tuple((name, amount) for name, amount in requests.items() if amount is not None),
        nonzero=(cpu or 100, memory or 200 << 20),
    )
    return PodKind(key.namespace, key, labels=(("app", key.name),), spec=spec, app_group="shop", index=index)


def random_world(seed: int) -> World:
    """A cluster with one pending pod, `new`, of the first workload."""
    dice = Dice(seed)
    names = dice.random.sample(NAMES, dice.random.randint(1, 6))
    coordinates = dice.chance(0.4)
    nodes = [_node(dice, name, names, coordinates=coordinates) for name in names]
    every = [WorkloadKey(namespace, name) for namespace in NAMESPACES for name in SERVICES]
    keys = dice.random.sample(every, dice.random.randint(1, 6))
    workloads = [_workload(dice, key, names) for key in keys if key == keys[0] or dice.chance(0.8)]
    pods: list[Pod] = []
    for key in keys:
        kind = kind_of(key, cpu=dice.choice((None, 50, 400)), memory=dice.choice((None, 1 << 28)))
        pods += [_pod(dice, kind, number, names) for number in range(dice.choice((0, 0, 1, 2, 4)))]
        if key == keys[0]:
            pods.append(Pod("new", "uid-new", kind))
    maps = []
    if dice.chance(0.5):
        domains = ("north", "south", "west")
        rtt = {each: dice.some(domains, most=3, top=100.0, special=LATENCIES) or {} for each in domains[:2]}
        maps.append(NetworkMap("zone", rtt))
    return World(nodes, pods, workloads, maps, now=NOW, seed=seed)


def _pod(dice: Dice, kind: PodKind, number: int, names: list[str]) -> Pod:
    return Pod(
        f"{kind.workload.name}-{number}",
        f"uid-{kind.workload}-{number}",
        kind,
        node=dice.choice((*names, *names, "ghost")),
        phase=dice.choice(("Running", "Running", "Running", "Running", "Succeeded")),
        bound_at=dice.choice(MOMENTS),
        deleting=dice.chance(0.15),
    )


worlds = st.builds(random_world, st.integers(0, 2**32))


def new_pod(world: World) -> Pod:
    return next(pod for pod in world.pods if pod.name == "new")
