"""Between which nodes an application's requests go: what a prediction rests on, and what may not have been measured.

The network's part of J is linear in the round trips, so the requests per second between two nodes say all about what a
wrong figure for that pair would do to it.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.response.call_graph import SAME_NODE, UNIFORM, CallGraph
from ecotone.scheduling.response.prediction import Prediction


def requests_between(application: CallGraph, counts: Ints) -> Floats:
    """[m, n]: requests per second between two nodes, in either direction, with pods where `counts` has them."""
    placed = counts.astype(np.float64)
    arrivals = Prediction(application).arrivals(placed[np.newaxis])[0]
    sent = application.users.copy()
    for call in application.calls:
        sent[call.callee] += call.rate * arrivals[call.caller]
    same_zone = _same_zone(application)
    found = np.zeros((len(application.rows), len(application.rows)))
    for workload, balance in enumerate(application.balance):
        found += _taken(sent[workload], placed[workload], balance, same_zone)
    both: Floats = found + found.T
    np.fill_diagonal(both, 0.0)
    return both


def distances(application: CallGraph, counts: Ints) -> Floats:
    """[w, m]: the round trip of a request that is sent at m to workload w, on average over the pods that may take it."""
    placed = counts.astype(np.float64)
    same_zone = _same_zone(application)
    everywhere = np.ones(len(application.rows))
    return np.stack(
        [
            (_taken(everywhere, placed[workload], balance, same_zone) * application.rtt).sum(axis=1)
            for workload, balance in enumerate(application.balance)
        ]
    )


def _same_zone(application: CallGraph) -> Mask:
    zones = application.zones
    found: Mask = (zones[:, np.newaxis] == zones) & (zones >= 0)
    return found


def _taken(sent: Floats, counts: Floats, balance: int, same_zone: Mask) -> Floats:
    """[m, n]: requests sent at m that pods on n take, as the Service shares them out."""
    share = counts / max(counts.sum(), 1.0)
    if balance == UNIFORM:
        return np.outer(sent, share)
    rest = np.where(counts > 0, 0.0, sent) if balance == SAME_NODE else sent
    in_zone = same_zone @ counts
    near = same_zone * counts / np.maximum(in_zone, 1.0)[:, np.newaxis]
    taken: Floats = rest[:, np.newaxis] * np.where((in_zone > 0)[:, np.newaxis], near, share)
    return taken
