"""What redundancy costs in milliseconds, and what near-first routing would give back of it without a move.

With uniform balancing every replica takes as many calls as any other, so one that stands far away for redundancy makes as
many requests slow. Near-first, it takes calls only where no other is near, and stands by. That is often all of the price, if
the pods near to their callers, and their nodes, carry the calls of the others as well: so their utilisation is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.model.state import ClusterState
from ecotone.scheduling.response.call_graph import SAME_NODE, CallGraph
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.prediction import Prediction

LEAST_MS = 1.0  # less is no price to speak of


@dataclass(frozen=True, slots=True)
class NearFirst:
    """Near-first routing on these Services, with pods as they are: `ms` per request, and the busiest pod and node then.

    `limit`: the share of its CPU limit that the busiest pod uses; None if none of them has a limit.
    """

    services: tuple[str, ...]
    ms: float
    pod: str
    limit: float | None
    node: str
    busy: float

    @property
    def carried(self) -> bool:
        return self.busy < 1.0 and (self.limit is None or self.limit < 1.0)

    def __str__(self) -> str:
        told = f"near-first routing (trafficDistribution: PreferSameNode on {', '.join(self.services)})"
        uses = "" if self.limit is None else f"{self.pod} then uses {self.limit:.0%} of its CPU limit, "
        loads = f"{uses}node {self.node} {self.busy:.0%} of its CPU"
        if not self.carried:
            return f"{told} would not do: {loads}"
        average = "an autoscaler by average averages that away"
        return f"{told} makes that {self.ms:.4g} ms without a move: {loads}; {average}"


@dataclass(frozen=True, slots=True)
class Price:
    """Of one application: ms per request of the best placement with redundancy, `there`, and without it, `free`.

    `here`: with pods as they are.
    """

    application: str
    here: float
    there: float
    free: float
    near: NearFirst | None

    @property
    def ms(self) -> float:
        return self.there - self.free

    def __str__(self) -> str:
        told = (
            f"redundancy costs {self.ms:.4g} ms per request in the application of {self.application}: {self.there:.4g} ms "
            f"instead of {self.free:.4g} ms"
        )
        return told if self.near is None else f"{told}; {self.near}"

    def as_document(self) -> dict[str, Any]:
        near = self.near
        return {
            "application": self.application,
            "ms": self.there,
            "insteadOfMs": self.free,
            **(
                {}
                if near is None
                else {
                    "nearFirst": {
                        "services": list(near.services),
                        "ms": near.ms,
                        "pod": near.pod,
                        "podUtilisation": near.limit,
                        "node": near.node,
                        "nodeUtilisation": near.busy,
                        "carried": near.carried,
                    }
                }
            ),
        }


Best = Callable[[CallGraph, Limits], float]
"""Milliseconds per request of the best placement within limits."""


def price_of(
    state: ClusterState,
    application: CallGraph,
    limits: Limits,
    *,
    best: Best,
    services: tuple[str, ...],
) -> Price | None:
    """None if redundancy asks for nothing that costs anything. `services`: those that could route near-first."""
    if limits.redundancy is None or not (application.replicas > 1).any():
        return None
    there, free = best(application, limits), best(application, replace(limits, redundancy=None))
    if there - free < LEAST_MS:
        return None
    now = application.counts[np.newaxis].astype(np.float64)
    here = float(Prediction(application).cost(now)[0])
    near = _near_first(state, application, now[0], services) if services else None
    worth = near is not None and here - near.ms >= LEAST_MS
    return Price("/".join(application.names[0]), here, there, free, near if worth else None)


def _near_first(state: ClusterState, application: CallGraph, counts: Floats, services: tuple[str, ...]) -> NearFirst:
    routed = replace(application, balance=(SAME_NODE,) * len(application.names))
    prediction = Prediction(routed)
    placed = counts[np.newaxis]
    limit, pod = _busiest_pod(state, routed, prediction.arrivals(placed)[0], counts)
    busy = prediction.busy(placed)[0]
    node = int(np.argmax(np.where(counts.any(axis=0), busy, -1.0)))
    names = [state.nodes.names[row] for row in application.rows.tolist()]
    return NearFirst(services, float(prediction.cost(placed)[0]), pod, limit, names[node], float(busy[node]))


def _busiest_pod(
    state: ClusterState, application: CallGraph, arrivals: Floats, counts: Floats
) -> tuple[float | None, str]:
    """The largest share of a CPU limit that a pod uses, and which pod that is."""
    found: tuple[float | None, str] = (None, "")
    for number, kind in enumerate(application.kinds):
        if kind.spec.cpu_limit:
            used = application.use[number] * arrivals[number] / np.maximum(counts[number], 1.0) / kind.spec.cpu_limit
            node = int(np.argmax(used))
            if found[0] is None or used[node] > found[0]:
                where = state.nodes.names[int(application.rows[node])]
                found = float(used[node]), f"{'/'.join(application.names[number])} on {where}"
    return found
