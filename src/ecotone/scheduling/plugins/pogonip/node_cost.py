"""NodeCost: cheaper nodes score higher, edge nodes highest.

The prototype gave edge nodes 100 and its three kinds of cloud nodes 75, 50 and 25. The same spacing for any set of
prices: with k distinct cloud prices the j-th cheapest scores 100 (1 - j / (k + 1)). Edge nodes with different prices of
their own (P_n of equation (1)) share what is above the cheapest cloud node, the cheapest of them at 100.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.scheduling.plugin import Change, Cycle, pick
from ecotone.scheduling.plugins.pogonip.application import cloud_rows
from ecotone.scheduling.plugins.pogonip.service_graph import membership


class NodeCost:
    name = "NodeCost"
    placement_changes: Change | None = "nothing"

    def score(self, cycle: Cycle, rows: Rows) -> Floats | None:
        if membership(cycle) is None:
            return None
        return np.asarray(pick(price_scores(cycle.state.nodes), rows, cycle), dtype=np.float64)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        return f"{cycle.state.nodes.price[row]:g}/h"


def price_scores(nodes: NodeTable) -> Floats:
    cloud = cloud_rows(nodes)
    prices, edge_prices = np.unique(nodes.price[cloud]), np.unique(nodes.price[~cloud])
    step = 100.0 / (len(prices) + 1.0)
    dearer = np.searchsorted(edge_prices, nodes.price) / max(len(edge_prices), 1)
    found: Floats = 100.0 - step * np.where(cloud, np.searchsorted(prices, nodes.price) + 1.0, dearer)
    return found
