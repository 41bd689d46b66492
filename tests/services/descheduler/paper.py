"""A descheduler on a cluster of paper: decisions are real, writes are noted down."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

from ecotone.kube.writing.eviction import Evicted, EvictionOutcome
from ecotone.manifests import wire
from ecotone.model.objects import Node, Pod, PodKind, PodSpec, Reservation, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services.descheduler.descheduler import Descheduler
from ecotone.services.descheduler.groups import Groups, LiveAppGroup, LiveMetadata
from ecotone.services.descheduler.settings import DeschedulerProgramSettings
from ecotone.services.descheduler.writer import Refusal
from ecotone.services.live_cache import LiveCache

NOW = 1_000_000.0


class PaperWriter:
    """Says yes to everything, unless told otherwise."""

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.written: list[tuple[str, str]] = []
        self.evicts: Callable[[Pod], Evicted] = lambda _: Evicted(EvictionOutcome.EVICTED)
        self.mates = 1
        self.leaving: Collection[str] = ()
        self.refusal: Refusal | None = None
        self.statuses: list[Any] = []

    async def reserve(self, pod: Pod, target: str, *, expires: float) -> Refusal | None:
        self.written.append(("reserve", pod.key))
        return None

    async def unreserve(self, *, namespace: str, name: str) -> bool:
        self.written.append(("unreserve", name))
        return True

    async def expire(self, reservation: Reservation) -> bool:
        self.written.append(("expire", reservation.name))
        return True

    async def still_true(self, pod: Pod, target: str) -> Refusal | None:
        return self.refusal

    async def ready_mates(self, pod: Pod, *, leaving: Collection[str] = ()) -> int:
        self.leaving = leaving
        return self.mates

    async def evict(self, pod: Pod) -> Evicted:
        self.written.append(("evict", pod.key))
        return self.evicts(pod)

    async def price(self, pod: Pod, cost: int) -> None:
        self.written.append(("price", pod.key))

    async def status(self, *, namespace: str, name: str, status: Any) -> None:
        self.statuses.append(status)


class PaperSurges:
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.busy: frozenset[WorkloadKey] = frozenset()

    def under_way(self) -> frozenset[WorkloadKey]:
        return self.busy

    async def impossible(self, pod: Pod) -> str | None:
        return None

    async def begin(self, pod: Pod, target: str, *, now: float) -> str | None:
        self.begun.append(pod.key)
        return None

    def ended(self, move: Any) -> str | None:
        return None


class Paper:
    """One application, its descheduler, and what both wrote."""

    def __init__(self, *, dry_run: bool = False, alive: str | None = None) -> None:
        self.cache = LiveCache(ClusterState(now=NOW, max_age=300.0))
        self.groups = Groups(frozenset({"ecotone"}))
        self.writer = PaperWriter(dry_run=dry_run)
        self.surges = PaperSurges()
        self.told: list[str] = []
        self.now = NOW
        writer: Any = self.writer
        surges: Any = self.surges
        self.descheduler = Descheduler(
            DeschedulerProgramSettings(resolve("ecotone-fast")),
            cache=self.cache,
            groups=self.groups,
            writer=writer,
            surges=surges,
            alive=lambda: alive,
            moved=lambda _: None,
            told=self.told.append,
            wall=lambda: self.now,
        )

    def group(self, **spec: Any) -> LiveAppGroup:
        given = LiveAppGroup(
            metadata=LiveMetadata(name="shop", namespace="ns"), spec=wire.AppGroupSpec(name="shop", **spec)
        )
        self.groups.upsert(given)
        return given

    def reserve(self, name: str, *, replaces: str, expires: float, taken_by: str = "") -> None:
        held = Reservation(name, "ns", WorkloadKey("ns", "w0"), "", "n0", (), replaces, expires, taken_by)
        self.cache.set_reservations([*self.cache.state.reservations, held])


def fill(paper: Paper, seed: int) -> None:
    """Three to five nodes far from each other, and a few workloads that talk, anywhere."""
    draw = random.Random(seed)
    names = [f"n{number}" for number in range(draw.randint(3, 5))]
    distance = {(a, b): draw.uniform(1.0, 90.0) for a in names for b in names if a < b}
    for name in names:
        latencies = {other: distance[min(name, other), max(name, other)] for other in names if other != name}
        paper.cache.put_node(
            Node(name, {"cpu": 4000, "memory": 16 << 30, "pods": 110}, latencies=latencies, measured_at=NOW)
        )
    workloads = [f"w{number}" for number in range(draw.randint(2, 5))]
    for name in workloads:
        peers = {peer: draw.uniform(1.0, 100.0) for peer in workloads if peer != name and draw.random() < 0.6}
        replicas = draw.randint(1, 3)
        key = WorkloadKey("ns", name)
        paper.cache.put_workload(
            Workload(
                key,
                replicas=replicas,
                app_group="shop",
                traffic={peer: rate * 500 for peer, rate in peers.items()},
                requests=peers,
                measured_at=NOW,
            )
        )
        spec = PodSpec(requests=(("cpu", 100), ("memory", 64 << 20)), nonzero=(100, 64 << 20), scheduler_name="ecotone")
        kind = PodKind("ns", key, labels=(("app", name),), spec=spec, app_group="shop")
        for number in range(replicas):
            one = Pod(
                f"{name}-{number}",
                f"uid-{name}-{number}",
                kind,
                node=draw.choice(names),
                phase="Running",
                ready=True,
                owner=f"ReplicaSet/{name}-1",
                template_hash="1",
                bound_at=NOW - 3600,
            )
            paper.cache.put_pod(one)


def chain_of_two(*, home: str, entering: dict[str, float]) -> Paper:
    """Users at these nodes, 50 ms apart, call w0, which calls w1; two replicas of each at home."""
    paper = Paper()
    for name, other in (("n0", "n1"), ("n1", "n0")):
        size = {"cpu": 4000, "memory": 16 << 30, "pods": 110}
        paper.cache.put_node(Node(name, size, latencies={other: 50.0}, measured_at=NOW))
    users = {f"users@{name}": rate for name, rate in entering.items()}
    for name, calls, heard in (("w0", {"w1": 10.0}, users), ("w1", {}, {"w0": 10.0})):
        key, talk = WorkloadKey("ns", name), {**calls, **heard}
        traffic = {peer: 500 * rate for peer, rate in talk.items()}
        paper.cache.put_workload(
            Workload(key, replicas=2, app_group="shop", traffic=traffic, requests=talk, calls=calls, measured_at=NOW)
        )
        for number in range(2):
            put_replica(paper, key, f"{name}-{number}", node=home)
    return paper


def on_both_tiers() -> Paper:
    """A workload with a promised share of the edge and a replica on either tier."""
    paper, key = Paper(), WorkloadKey("ns", "w0")
    for tier in ("edge", "cloud"):
        paper.cache.put_node(Node(tier, {"cpu": 4000, "memory": 16 << 30, "pods": 110}, tier=tier))
        put_replica(paper, key, f"w0-{tier}", node=tier)
    paper.cache.put_workload(Workload(key, replicas=2, app_group="shop", edge_share=0.5, measured_at=NOW))
    return paper


def put_replica(paper: Paper, key: WorkloadKey, name: str, *, node: str) -> None:
    spec = PodSpec(requests=(("cpu", 100),), nonzero=(100, 64 << 20), scheduler_name="ecotone")
    kind = PodKind("ns", key, labels=(("app", key.name),), spec=spec, app_group="shop")
    paper.cache.put_pod(
        Pod(
            name, f"uid-{name}", kind, node=node, phase="Running", ready=True, owner=f"ReplicaSet/{key.name}-1",
            template_hash="1", bound_at=paper.now, created=paper.now,
        )
    )  # fmt: skip
