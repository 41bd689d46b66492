"""Random: every node that fits is as likely as any other.

The draw is a hash of seed, pod and node, so a replay, another batch size or one more node elsewhere changes nothing.
"""

from __future__ import annotations

from ecotone.model.arrays import Floats, Rows
from ecotone.model.draw import draws
from ecotone.scheduling.plugin import Change, Cycle, pick


class Random:
    name = "Random"
    placement_changes: Change | None = "everything"

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        state = cycle.state
        return 100 * draws(seed=state.seed, uid=cycle.pod.uid, names=pick(state.nodes.hashes, rows, cycle))
