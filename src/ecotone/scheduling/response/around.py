"""What placements cost that differ from a known one in a single workload, without judging the others again.

Where a workload's pods stand changes how far the calls to it and from it go, and the CPU of the nodes that they leave and
come to. If a Service sends calls to whoever is near, the callees' work moves as well, and that of theirs. Everybody else's
part is known. So a placement takes time in proportion to the neighbours, not to all workloads times all nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.scheduling.response.call_graph import UNIFORM, CallGraph
from ecotone.scheduling.response.prediction import Prediction

Moved = dict[int, Floats]  # by workload, where its work is done instead: [c, n]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """`network[c]`: milliseconds per second; `[c, n]` of all work, of what counts, and of what users wait for: millicores."""

    network: Floats
    busy: Floats
    asked: Floats
    awaited: Floats


def can_tell(application: CallGraph) -> bool:
    """False where a workload's work depends on what comes after it in the order of calls."""
    place = {workload: number for number, workload in enumerate(application.order)}
    late = any(
        place[each.caller] > place[each.callee] and application.balance[each.caller] != UNIFORM
        for each in application.deadlines
    )
    return not late and not (application.cyclic and any(application.balance))


class Around:
    """`here[w, n]`: the known placement."""

    def __init__(self, prediction: Prediction, here: Floats) -> None:
        self._prediction = prediction
        self._application = application = prediction.application
        self._here = here
        self._share = here / np.maximum(here.sum(axis=1, keepdims=True), 1.0)
        self._arrivals = self._share.copy()
        self._sent = application.users.astype(np.float64)
        self._took = np.zeros(len(here))
        self._far = application.rtt @ self._share.T  # [n, w]: from each node to the workload's pods
        if prediction.rates is None:
            for workload in application.order:
                self._measure(workload)
        else:
            self._sent += prediction.rates @ self._share
            self._took = (self._sent * self._far.T).sum(axis=1)
        self._network = float(self._took.sum())
        self._use = prediction.uses  # [3, w]
        self._loads = self._use @ self._arrivals
        self._loads[:2] += application.other

    def _measure(self, workload: int) -> None:
        prediction, application = self._prediction, self._application
        sent = self._sent[workload]
        for caller, rate in prediction.callers[workload]:
            sent += rate * self._arrivals[caller]
        if prediction.incoming[workload] <= 0.0:
            return
        if application.balance[workload] == UNIFORM and not prediction.late[workload]:
            self._took[workload] = sent @ self._far[:, workload]
            return
        counts, share = self._here[workload][np.newaxis], self._share[workload][np.newaxis]
        landed, took = prediction.take(workload, sent[np.newaxis], counts, share, application.rtt)
        if application.balance[workload] != UNIFORM:
            self._arrivals[workload] = landed[0] / prediction.incoming[workload]
        self._took[workload] = float((took + self._late(workload, counts, share, {}))[0])

    def _late(self, workload: int, counts: Floats, share: Floats, moved: Moved) -> Floats:
        """What the missed deadlines of calls to a workload add."""
        found = np.zeros(1)
        for caller, price in self._prediction.late[workload]:
            sent = self._application.rate * moved.get(caller, self._arrivals[caller][np.newaxis])
            found = found + self._prediction.take(workload, sent, counts, share, price)[1]
        return found

    def effort(self, workload: int) -> int:
        """Evaluations that one placement takes."""
        return int(self._here.shape[1]) * (2 + len(self._prediction.reached(workload)))

    def change(self, workload: int, rows: Floats) -> Change:
        """`rows[c, n]`: where the workload's pods stand instead."""
        prediction, application = self._prediction, self._application
        share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
        network = np.full(len(rows), self._network)
        moved: Moved = {}
        if application.balance[workload] == UNIFORM or prediction.incoming[workload] <= 0.0:
            moved[workload] = share
        for other in prediction.reached(workload):
            if prediction.incoming[other] <= 0.0:
                continue
            sent = self._sent[other][np.newaxis]
            more = [
                (rate, moved[caller] - self._arrivals[caller])
                for caller, rate in prediction.callers[other]
                if caller in moved
            ]
            if other != workload and application.balance[other] == UNIFORM and not prediction.late[other]:
                for rate, added in more:
                    network += rate * (added @ self._far[:, other])
                continue
            for rate, added in more:
                sent = sent + rate * added
            mine = other == workload
            counts, shares = (rows, share) if mine else (self._here[other][np.newaxis], self._share[other][np.newaxis])
            landed, took = prediction.take(other, sent, counts, shares, application.rtt)
            network += took + self._late(other, counts, shares, moved) - self._took[other]
            if application.balance[other] != UNIFORM:
                moved[other] = landed / prediction.incoming[other]
        loads = np.repeat(self._loads[:, np.newaxis], len(rows), axis=1)
        for other, arrivals in moved.items():
            loads += self._use[:, other, np.newaxis, np.newaxis] * (arrivals - self._arrivals[other])
        return Change(network, *loads)

    def milliseconds(self, change: Change) -> Floats:
        """J of each."""
        return self._prediction.per_request(change.network, change.busy, change.asked)

    def slowest(self, change: Change, workload: int, rows: Floats) -> Floats:
        """How many ms longer the slowest requests take, those from the farthest site and those that find long queues."""
        prediction = self._prediction
        found = prediction.unsteady_with(change.busy, change.awaited)
        for each in prediction.entered:
            found = found + prediction.uneven_at(each, rows if each == workload else self._here[each][np.newaxis])
        return found
