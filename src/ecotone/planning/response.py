"""Predicted milliseconds per request of all users whose requests are counted, now and after a plan."""

from __future__ import annotations

import numpy as np

from ecotone.model.state import ClusterState
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction


def response_ms(now: ClusterState, after: ClusterState, framework: Framework) -> dict[str, float | None]:
    """Where pods stand before and after, by the same calls and CPU use; None where a workload has no pod yet.

    What is counted is the way and the wait for CPU, as in every gain; not the work itself.
    """
    before = [row for row, name in enumerate(now.nodes.names) if now.usage.pods_on[row]]
    beside = [now.nodes.names[row] for row in before]
    spent = {"now": 0.0, "after": 0.0}
    rate = 0.0
    for application in applications(
        after, beside=beside, lateness=framework.lateness, unawaited=framework.unawaited
    ):  # fmt: skip
        placements = np.stack([_counts(now, application), application.counts]).astype(np.float64)
        costs = Prediction(application).cost(placements).tolist()
        spent = {when: spent[when] + cost * application.rate for when, cost in zip(spent, costs, strict=True)}
        rate += application.rate
    return {when: total / rate if rate and np.isfinite(total) else None for when, total in spent.items()}


def _counts(state: ClusterState, application: CallGraph) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """As the application stands in this state, on the same nodes."""
    found = np.zeros((len(application.names), len(state.nodes)), dtype=np.int64)
    for number, name in enumerate(application.names):
        for kind in state.named.get(name, ()):
            rows, counts = state.usage.where(kind)
            found[number, rows] += counts
    return found[:, application.rows]
