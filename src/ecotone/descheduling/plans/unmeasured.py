"""What a plan's gain rests on: the pairs of nodes between which more or fewer requests would go.

The network's part of a request's cost is linear in the round trips, so the pairs whose requests change are all that
matters. Of those that nobody has measured: requests that come onto one may find it longer than anything known, so no
bound helps, and requests that leave one gain at least nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ecotone.descheduling.grounds import Pair, pair_of, ways_between
from ecotone.model.arrays import Ints, Mask
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.deadlines import Lateness
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import deadlines_of
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.ways import requests_between

_TRIFLE = 1e-6  # of all requests


@dataclass(frozen=True, slots=True)
class Change:
    """`ways`: every pair whose requests change, None if unknown; `entered` and `left`: unknown pairs with more and fewer."""

    ways: dict[Pair, float | None]
    entered: tuple[Pair, ...]
    left: tuple[Pair, ...]
    nearest: CallGraph
    """The application with those that are left at no distance."""

    def least_gain(self, here: Ints, there: Ints) -> float:
        """Milliseconds per request that are gained however near the unknown pairs are that requests leave."""
        before, after = Prediction(self.nearest).cost(np.stack([here, there]).astype(np.float64)).tolist()
        return float(before - after)


def change_of(state: ClusterState, application: CallGraph, target: Ints, lateness: Lateness) -> Change:
    rows = application.rows
    more = requests_between(application, target) - requests_between(application, application.counts)
    moved = np.triu(np.abs(more) > _TRIFLE * application.rate)
    unknown = np.stack([state.network.unknown_toward(row)[rows] for row in rows.tolist()], axis=1)
    left = moved & (unknown | unknown.T) & (more < 0)
    names = state.nodes.names

    def pairs(which: Mask) -> tuple[Pair, ...]:
        return tuple(pair_of(names[rows[a]], names[rows[b]]) for a, b in np.argwhere(which).tolist())

    nearest = application
    if left.any():
        rtt = np.where(left | left.T, 0.0, application.rtt)
        index = {name: number for number, name in enumerate(application.names)}
        late = tuple(deadlines_of(state, index, application.calls, rtt, lateness))
        nearest = replace(application, rtt=rtt, deadlines=late)
    ways = ways_between(state, ((int(rows[a]), int(rows[b])) for a, b in np.argwhere(moved).tolist()))
    return Change(ways, pairs(moved & (unknown | unknown.T) & (more > 0)), pairs(left), nearest)
