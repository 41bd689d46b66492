"""What the search for a placement has to keep: the scheduler's filters, room, and prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ecotone.model.arrays import Ints, Mask
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.cost import price_ms
from ecotone.scheduling.costs.preferences import PREFERENCE_MS, standing_wishes
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import KEEPS_NEAR, Cycle
from ecotone.scheduling.redundancy.tables import redundancy_of
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.constraints import Limits, Near


def limits_of(
    framework: Framework,
    state: ClusterState,
    application: CallGraph,
    pods: Mapping[WorkloadKey, Sequence[Pod]],
    *,
    movable: Mask,
    moving: float,
    kept: bool = True,
    lean: bool = False,
) -> Limits:
    """The application's own pods are lifted off while the filters are asked, and put back.

    `kept`: where the policy keeps redundancy, workloads stay on as many nodes and in as many zones as they are now.
    """
    rows = application.rows
    near = tuple(_near(framework, state, application))
    own = [pod for kind in application.kinds for pod in pods.get(kind.workload, ())]
    for pod in own:
        state.drop_pod(pod.key)
    try:
        samples = [next(iter(pods.get(kind.workload, ())), None) for kind in application.kinds]
        allowed = np.array([_allowed(framework, state, sample, rows) for sample in samples])
        free = (state.nodes.allocatable[rows] - state.usage.requested[rows]).astype(np.float64)
        room = state.nodes.max_pods[rows] - state.usage.pod_count[rows]
    finally:
        for pod in own:
            state.put_pod(pod)
    demand = np.array(
        [[kind.spec.request(name) for name in state.nodes.resources] for kind in application.kinds],
        dtype=np.float64,
    ).reshape(len(application.kinds), -1)
    prices = np.array([price_ms(state, kind, rows) for kind in application.kinds])
    wishes = np.array([standing_wishes(state.nodes, kind)[rows] for kind in application.kinds])
    demand = np.hstack([demand, np.ones((len(demand), 1))])
    free = np.hstack([free, room[:, np.newaxis]])
    redundancy = None
    if framework.keeps_redundancy:
        possible = allowed & np.stack([(asked <= free).all(axis=1) for asked in demand])
        redundancy = redundancy_of(
            state, application.kinds, application.counts, application.zones, application.rtt,
            possible=possible, kept=kept,
        )  # fmt: skip
    return Limits(
        allowed=allowed,
        demand=demand,
        free=free,
        movable=movable,
        price=prices * application.replicas[:, np.newaxis] + PREFERENCE_MS * wishes,
        moving=moving,
        near=near,
        redundancy=redundancy,
        lean=lean,
    )


def _near(framework: Framework, state: ClusterState, application: CallGraph) -> Iterator[Near]:
    """Whom of the application its workloads must be near to. What is bound to others the filters tell for each alone."""
    rows = application.rows
    index = {name: number for number, name in enumerate(application.names)}
    for plugin in framework.filters:
        if not KEEPS_NEAR.has(plugin):
            continue
        for number, kind in enumerate(application.kinds):
            for bound in plugin.keeps_near(state, kind):
                peer = index.get(bound.peer)
                if peer is not None and peer != number:
                    away = np.stack([state.network.toward(row)[rows] > bound.most for row in rows.tolist()], axis=1)
                    yield Near(number, peer, away)


def _allowed(framework: Framework, state: ClusterState, pod: Pod | None, rows: Ints) -> Mask:
    if pod is None:
        return np.zeros(len(rows), dtype=np.bool_)
    evaluation = Evaluation(framework, Cycle(state, replace(pod, node=None, bound_at=None)))
    if evaluation.refusal is not None:
        return np.zeros(len(rows), dtype=np.bool_)
    found: Mask = evaluation.ok[rows].copy()
    return found
