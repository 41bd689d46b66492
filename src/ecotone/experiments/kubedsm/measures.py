"""The figures of the evaluation, computed from where pods were every 15 s.

Latency is the published one: counted, 50 ms a pod on the edge and 300 in the cloud, mean over samples of each service. The edge
ratio is the mean over samples of pods on the edge, utilisation sqrt(CPU x memory) requested of the edge's, fragmentation the
authors' mean over nodes of 1 - CPU x memory. A service is satisfied in a sample if all its pods are on the edge; achievable is
the largest number of services that could be, for the pods there were. Fairness is Jain's index of the services' latencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from ecotone.experiments.campaign.record import Run
from ecotone.placement.kubedsm.algorithms.match import match
from ecotone.placement.kubedsm.cluster import Cluster, Node, Service
from ecotone.placement.kubedsm.fragmentation import packed, unused
from ecotone.placement.qos.exact import exact
from ecotone.placement.qos.problem import Problem
from ecotone.sim.scenario.families.kubedsm import CLOUD, EDGE, SERVICES

EDGE_MS, CLOUD_MS = 50.0, 300.0
NAMES = tuple(SERVICES)
_NODES = (*(f"edge-{i + 1}" for i in range(len(EDGE))), "cloud-1")
_CAPACITY = np.array([*EDGE, CLOUD], np.float64)
_SIZE = np.array([SERVICES[name] for name in NAMES], np.float64)


@dataclass(frozen=True, slots=True)
class Measures:
    latency: tuple[float, ...]
    edge_ratio: float
    utilisation: float
    fragmentation: float
    satisfied: float
    optimum: float
    fairness: float
    migrations: int
    response_ms: float | None
    failed: int

    @property
    def mean_latency(self) -> float:
        return sum(self.latency) / len(self.latency)


def measure(run: Run, *, warmup: float = 15.0) -> Measures:
    samples = [counts(where) for at, where in run.placement if at is not None and at >= warmup]
    edge = np.array([each[:, :-1].sum(axis=1) for each in samples], np.float64)
    pods = np.maximum(np.array([each.sum(axis=1) for each in samples], np.float64), 1.0)
    latency = (CLOUD_MS - (CLOUD_MS - EDGE_MS) * edge / pods).mean(axis=0)
    used = np.array([each.T @ _SIZE for each in samples])
    whole = _CAPACITY[:-1].sum(axis=0)
    met = float((edge >= pods).sum())
    possible = sum(achievable(tuple(int(count) for count in row)) for row in pods)
    best = [optimum(tuple(int(count) for count in row)) for row in pods]
    return Measures(
        latency=tuple(float(each) for each in latency),
        edge_ratio=float((edge.sum(axis=1) / pods.sum(axis=1)).mean()),
        utilisation=float(np.sqrt((used[:, :-1].sum(axis=1) / whole).prod(axis=1)).mean()),
        fragmentation=float(unused(used, _CAPACITY).mean()),
        satisfied=met / max(1.0, float(possible)),
        optimum=sum(best) / len(best),
        fairness=float(latency.sum() ** 2 / (len(latency) * (latency**2).sum())),
        migrations=run.evictions,
        response_ms=run.response_ms.mean,
        failed=run.failed,
    )


def counts(where: Mapping[str, Mapping[str, int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Pods of each service on each node."""
    return np.array([[where.get(name, {}).get(node, 0) for node in _NODES] for name in NAMES], np.int64)


@lru_cache(maxsize=100_000)
def achievable(pods: tuple[int, ...]) -> int:
    """How many services could have all their pods on the edge at once."""
    nodes = [Node(name, tuple(size)) for name, size in zip(_NODES[:-1], _CAPACITY[:-1].tolist(), strict=True)]
    empty = Cluster.of([Service(name, tuple(size)) for name, size in zip(NAMES, _SIZE.tolist(), strict=True)], nodes)
    for number in range(len(pods), 0, -1):
        for chosen in combinations(range(len(pods)), number):
            wanted = np.array([count if index in chosen else 0 for index, count in enumerate(pods)], np.int64)
            could = bool((wanted @ _SIZE <= _CAPACITY[:-1].sum(axis=0)).all())
            if could and sum(match(empty, wanted, packed).matched) == int(wanted.sum()):
                return number
    return 0


@lru_cache(maxsize=100_000)
def optimum(pods: tuple[int, ...]) -> float:
    """The least mean latency of the services that any placement of these pods has."""
    found = exact(_problem(np.array(pods, np.int64), np.zeros((len(pods), len(_NODES)), np.int64)), fit=False)
    assert found is not None
    return EDGE_MS + found.loss / len(pods)


def _problem(
    pods: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    current: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    budget: int | None = None,
) -> Problem:
    latency = np.full((len(pods), len(_NODES)), EDGE_MS)
    latency[:, -1] = CLOUD_MS
    return Problem.of(
        size=_SIZE,
        capacity=_CAPACITY,
        latency=latency,
        target=np.full(len(pods), EDGE_MS),
        pods=pods,
        current=current,
        near=np.arange(len(_NODES)) < len(_NODES) - 1,
        budget=budget,
    )


def exact_placer(run: Run, *, migrations: int = 1, warmup: float = 15.0) -> tuple[float, int]:
    """The pods of a run, replayed with an exact placer that may move so many of them every 15 s, at once and at no cost.

    Scale-downs take pods in the cloud first. Returns its mean latency and how many moves it made.
    """
    current = np.zeros((len(NAMES), len(_NODES)), np.int64)
    total, number, moves = 0.0, 0, 0
    for at, where in run.placement:
        pods = counts(where).sum(axis=1)
        for service, surplus in enumerate((current.sum(axis=1) - pods).tolist()):
            for _ in range(max(0, surplus)):
                node = len(_NODES) - 1 if current[service, -1] else int(np.argmax(current[service]))
                current[service, node] -= 1
        found = exact(_problem(pods, current, migrations), fit=False)
        assert found is not None
        moves += found.moves
        current = found.x
        if at is not None and at >= warmup:
            total += EDGE_MS + found.loss / len(pods)
            number += 1
    return total / max(1, number), moves
