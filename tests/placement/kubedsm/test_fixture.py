"""The published programme's own acceptance test, as a black box: three edge nodes, four services, four stages."""

from __future__ import annotations

import numpy as np
import pytest

from ecotone.placement.kubedsm.algorithms.decision import make_decision
from ecotone.placement.kubedsm.algorithms.immediate import immediate_schedule, to_cloud
from ecotone.placement.kubedsm.algorithms.suggest import suggest
from ecotone.placement.kubedsm.cluster import Cluster, Node, Service
from ecotone.placement.kubedsm.parameters import Parameters
from ecotone.placement.kubedsm.quality import Jump, Linear, Quality, Relu

SERVICES = [
    Service("A", (1, 2), 0.5),
    Service("B", (1, 1), 0.5),
    Service("C", (0.5, 1), 1.0),
    Service("D", (2, 4), 1.0),
]
NODES = [Node("n1", (2, 4)), Node("n2", (2, 2)), Node("n3", (2, 3)), Node("cloud", (100, 100), edge=False)]


def waiting(cluster: Cluster | None, **new: int) -> Cluster:
    counts = [new.get(service.name, 0) for service in SERVICES]
    return Cluster.of(SERVICES, NODES, None if cluster is None else cluster.placed, waiting=counts)


def without(cluster: Cluster, service: str) -> Cluster:
    """One pod less, the first found on the edge."""
    placed = cluster.placed.copy()
    row = next(index for index, each in enumerate(SERVICES) if each.name == service)
    placed[row, int(np.flatnonzero(placed[row])[0])] -= 1
    return Cluster.of(SERVICES, NODES, placed)


def where(cluster: Cluster) -> dict[str, str]:
    return {
        node.name: "".join(service.name * count for service, count in zip(SERVICES, column, strict=True))
        for node, column in zip(NODES, cluster.placed.T.tolist(), strict=True)
    }


def stages(quality: Quality) -> list[dict[str, str]]:
    parameters = Parameters(quality=quality)
    seen = []
    now = waiting(None, A=2, B=2)
    now = now.after(immediate_schedule(now, parameters)[1])
    seen.append(where(now))
    now = waiting(now, C=2, B=1)
    now = now.after(immediate_schedule(now, parameters)[1])
    seen.append(where(now))
    now = waiting(without(now, "B"), D=1)
    decision = make_decision(now, now.waiting, migrate=True, parameters=parameters)
    now = now.after((*decision.migrations.all, *decision.to_edge, *to_cloud(now, decision)))
    seen.append(where(now))
    now = without(now, "D")
    for _ in range(2):
        now = now.after(suggest(now, parameters))
    seen.append(where(now))
    return seen


FIRST_THREE = [
    {"n1": "AA", "n2": "BB", "n3": "", "cloud": ""},
    {"n1": "AA", "n2": "BB", "n3": "BCC", "cloud": ""},
    {"n1": "D", "n2": "A", "n3": "BCC", "cloud": "AB"},
]


@pytest.mark.parametrize("quality", [Jump(), Linear()], ids=["public code", "later version"])
def test_the_published_stages_come_out_where_more_edge_than_promised_is_worth_something(quality: Quality) -> None:
    assert stages(quality) == [*FIRST_THREE, {"n1": "AB", "n2": "A", "n3": "BCC", "cloud": ""}]


def test_the_reference_stays_still_in_the_last_stage_as_every_promise_is_kept() -> None:
    assert stages(Relu()) == [*FIRST_THREE, {"n1": "", "n2": "A", "n3": "BCC", "cloud": "AB"}]
