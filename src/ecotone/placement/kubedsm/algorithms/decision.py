"""Algorithm 3, makeDecision: which of the candidates go to the edge, and which migrations that takes.

Candidates are either new pods, which are bound, or pods that run in the cloud, which are moved. Every subset is tried and
judged by QoS after `match`; the first, with nothing on the edge, is beaten only by something strictly better.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.kubedsm.algorithms.best_fit import BestFit, Migrations
from ecotone.placement.kubedsm.algorithms.match import Matching, Packings, match
from ecotone.placement.kubedsm.cluster import Binding, Cluster
from ecotone.placement.kubedsm.parameters import Parameters
from ecotone.placement.kubedsm.quality import quality_of

_Rank = tuple[float, int, int, float]


@dataclass(frozen=True, slots=True)
class Decision:
    """`to_edge` are the candidates that fit; QoS is summed over services, before and after."""

    migrations: Migrations
    to_edge: tuple[Binding, ...]
    before: float
    after: float


def make_decision(cluster: Cluster, candidates: Ints, *, migrate: bool, parameters: Parameters) -> Decision:
    before = quality_of(cluster, parameters.quality)
    if migrate:
        migrations, matching = _with_migrations(cluster, candidates, parameters)
    else:
        migrations, matching = Migrations(), _without(cluster, candidates, parameters)
    after = quality_of(cluster, parameters.quality, on_edge=_on_edge(cluster, migrations, np.array(matching.matched)))
    return Decision(migrations, matching.bindings, before, after)


def _on_edge(cluster: Cluster, migrations: Migrations, arrived: Ints) -> Floats:
    count = (cluster.on_edge + arrived).astype(np.float64)
    for move in migrations.offloads:
        count[move.service] -= 1.0
    return count


def _without(cluster: Cluster, candidates: Ints, parameters: Parameters) -> Matching:
    """One table of packings holds every subset that fits, so none has to be matched again."""
    packings = Packings(cluster, candidates, parameters.fragmentation)

    def rank(counts: tuple[int, ...]) -> tuple[float, int, float]:
        on_edge = (cluster.on_edge + packings.spread(counts)).astype(np.float64)
        quality = quality_of(cluster, parameters.quality, on_edge=on_edge)
        return -round(quality, 9), -sum(counts), float(packings.fragmentation[counts])

    return packings.matching(min(packings.subsets(), key=rank))


def _with_migrations(cluster: Cluster, candidates: Ints, parameters: Parameters) -> tuple[Migrations, Matching]:
    fit = BestFit(cluster, parameters)
    none = np.zeros_like(candidates)
    best = (Migrations(), match(cluster, none, parameters.fragmentation))
    least = _rank(cluster, *best, parameters)
    for counts in product(*(range(count + 1) for count in candidates.tolist())):
        wanted = np.array(counts, np.int64)
        if not wanted.any():
            continue
        full = fit.migrations(wanted)
        for migrations in dict.fromkeys((Migrations(full.offloads), full)):
            matching = match(cluster.after(migrations.all), wanted, parameters.fragmentation)
            rank = _rank(cluster, migrations, matching, parameters)
            if rank < least:
                least, best = rank, (migrations, matching)
    return best


def _rank(cluster: Cluster, migrations: Migrations, matching: Matching, parameters: Parameters) -> _Rank:
    """QoS, then migrations of pods that run (those from the cloud too), then new pods on the edge, then fragmentation."""
    arrived = np.array(matching.matched)
    quality = quality_of(cluster, parameters.quality, on_edge=_on_edge(cluster, migrations, arrived))
    new = int(np.minimum(arrived, cluster.waiting).sum())
    moves = len(migrations.all) + int(arrived.sum()) - new
    return -round(quality, 9), moves, -new, round(matching.fragmentation, 9)
