"""NodeCost: cheaper nodes score higher, edge nodes highest.

The prototype gave edge nodes 100 and its three kinds of cloud nodes 75, 50 and 25. The same spacing for any set of
prices: with k distinct cloud prices the j-th cheapest scores 100 (1 - j / (k + 1)).
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.nodes import NodeTable
from ecotone.scheduling.plugin import Change, Cycle, pick
from ecotone.scheduling.plugins.pogonip_application import cloud_rows
from ecotone.scheduling.plugins.pogonip_service_graph import membership


class NodeCost:
    name = "NodeCost"
    placement_changes: Change | None = "nothing"

    def score(self, cycle: Cycle, rows: Rows) -> Floats | None:
        if membership(cycle) is None:
            return None
        return np.asarray(pick(price_scores(cycle.state.nodes), rows, cycle), dtype=np.float64)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:  # noqa: ARG002 - the protocol's shape
        return f"{cycle.state.nodes.price[row]:g}/h"


def price_scores(nodes: NodeTable) -> Floats:
    scores = np.full(len(nodes), 100.0)
    cloud = cloud_rows(nodes)
    prices = np.unique(nodes.price[cloud])
    scores[cloud] = 100.0 * (1.0 - (np.searchsorted(prices, nodes.price[cloud]) + 1.0) / (len(prices) + 1.0))
    return scores
