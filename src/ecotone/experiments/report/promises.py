"""How the promises of a scenario were kept in a run, from where its pods were at every sample after the warm-up.

Latency is counted: what the tiers of a service's pods are declared to cost, the mean over samples. A promise is kept in a
sample if a service's pods cost no more than its share of the best tier allows; how many could be kept, for the pods there
were, the exact model finds. Utilisation is sqrt(CPU x memory) requested of the best tier's, fragmentation the mean over nodes
of 1 - CPU x memory, fairness Jain's index of the services' latencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ecotone.drawing.numbers import number
from ecotone.experiments.report.results import Run
from ecotone.model.arrays import Floats, Ints
from ecotone.placement.kubedsm.fragmentation import unused
from ecotone.placement.qos.exact import exact
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.solve import SMALL
from ecotone.sim.scenario import Scenario

_ROUNDING_MS = 1e-6


@dataclass(frozen=True, slots=True)
class Kept:
    """`latency` in milliseconds per service; `achieved` of what could be kept, None where that is too much to find out."""

    latency: Mapping[str, float]
    edge_ratio: float
    utilisation: float
    fragmentation: float
    kept: float
    achieved: float | None
    fairness: float


class Promises:
    """What a scenario promises, and to whom; `services` is empty if it promises nothing."""

    def __init__(self, scenario: Scenario) -> None:
        latency = {} if scenario.qos is None else dict(scenario.qos.latency)
        shares = {} if scenario.qos is None else dict(scenario.qos.targets)
        own = [each for each in scenario.application.services if each.name in shares and not each.external]
        nodes = [each for each in scenario.nodes if each.tier in latency]
        self.services = tuple(each.name for each in own) if nodes else ()
        self._nodes = [each.name for each in nodes]
        self._tier = np.array([1000.0 * latency[each.tier or ""] for each in nodes])
        self._size = np.array([[each.cpu_request or 0, each.memory_request or 0] for each in own], np.float64)
        self._capacity = np.array([[each.cpu, each.memory] for each in nodes], np.float64)
        share = np.array([shares[each.name] for each in own])
        if self.services:
            self._target = self._tier.max() - share * (self._tier.max() - self._tier.min())
            self._best = self._tier <= self._tier.min()
        self._warmup = scenario.warmup
        self._possible: dict[tuple[int, ...], int] = {}

    def of(self, run: Run) -> Kept | None:
        """None where nothing was promised or nothing was sampled."""
        samples = self._samples(run) if self.services else []
        if not samples:
            return None
        placed = np.array(samples, np.float64)
        pods = np.maximum(placed.sum(axis=2), 1.0)
        latency = placed @ self._tier / pods
        met = (latency <= self._target + _ROUNDING_MS).sum()
        used = np.einsum("tsn,sr->tnr", placed, self._size)
        edge, whole = used[:, self._best].sum(axis=1), self._capacity[self._best].sum(axis=0)
        mean: Floats = latency.mean(axis=0)
        return Kept(
            latency=dict(zip(self.services, mean.tolist(), strict=True)),
            edge_ratio=float((placed[:, :, self._best].sum(axis=(1, 2)) / pods.sum(axis=1)).mean()),
            utilisation=float(np.sqrt((edge / np.maximum(whole, 1.0)).prod(axis=1)).mean()),
            fragmentation=float(unused(used, self._capacity).mean()),
            kept=float(met) / latency.size,
            achieved=self._achieved(int(met), pods.astype(np.int64)),
            fairness=float(mean.sum() ** 2 / max(len(mean) * float((mean**2).sum()), 1e-9)),
        )

    def _samples(self, run: Run) -> list[list[list[int]]]:
        found: Sequence[Any] = run.get("placement") or ()
        return [
            [[int(where.get(name, {}).get(node, 0)) for node in self._nodes] for name in self.services]
            for at, where in found
            if (number(at) or 0.0) >= self._warmup
        ]

    def _achieved(self, met: int, pods: Ints) -> float | None:
        if len(self.services) * len(self._nodes) > SMALL:
            return None
        possible = sum(self._keepable(tuple(row)) for row in pods.tolist())
        return met / possible if possible else None

    def _keepable(self, pods: tuple[int, ...]) -> int:
        """How many promises could be kept at once for so many pods."""
        if pods not in self._possible:
            shape = len(self.services), len(self._nodes)
            problem = Problem.of(
                size=self._size,
                capacity=self._capacity,
                latency=np.broadcast_to(self._tier, shape),
                target=self._target,
                pods=np.array(pods, np.int64),
                current=np.zeros(shape, np.int64),
                weight=np.zeros(len(self.services)),
                broken_ms=1.0,
            )
            found = exact(problem, fit=False)
            self._possible[pods] = 0 if found is None else len(self.services) - round(found.loss)
        return self._possible[pods]
