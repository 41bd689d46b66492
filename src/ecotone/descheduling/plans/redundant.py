"""Redundancy on the way of a plan: what each of its stages has to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecotone.descheduling.run import Run
from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.redundancy.tables import Redundancy, redundancy_of
from ecotone.scheduling.response.call_graph import CallGraph


@dataclass(frozen=True, slots=True, eq=False)
class Redundant:
    """`ends`: what every stage ends with; `meanwhile`: what those that serve while one is replaced should have.

    `surge`: workloads may go by surge for it.
    """

    ends: Redundancy
    meanwhile: Redundancy
    surge: bool

    def spared(self, replicas: Ints) -> Ints:
        """How many pods of each workload may be missing at a time."""
        found: Ints = np.maximum(1, replicas - np.maximum(self.meanwhile.nodes, self.meanwhile.zones))
        return found

    def lowered(self, before: Floats, during: Floats, after: Floats) -> Mask:
        """[w]: workloads that stand closer together during one of these stages [s, w, n], or after it, than they should."""
        thinner: Mask = self.meanwhile.lacking(during) & ~self.meanwhile.lacking(before)
        closer: Mask = self.ends.lacking(after) & ~self.ends.lacking(before[:1])
        found: Mask = np.logical_or.reduce(np.concatenate([thinner, closer]), axis=0)
        return found


def redundant_of(run: Run, application: CallGraph) -> Redundant | None:
    """By what the application has now; None where the policy does not care."""
    if not run.framework.keeps_redundancy:
        return None
    everywhere = np.ones(application.counts.shape, dtype=np.bool_)
    graph = (run.state, application.kinds, application.counts, application.zones, application.rtt)
    return Redundant(
        ends=redundancy_of(*graph, possible=everywhere),
        meanwhile=redundancy_of(*graph, possible=everywhere, replicas=application.replicas - 1, kept=False),
        surge=run.settings.single_replicas == "surge",
    )
