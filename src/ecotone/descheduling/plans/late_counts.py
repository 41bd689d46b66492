"""What a plan may lose while a load grows, when some counters show it before others.

Counters are read one after the other, and figures written one after the other. In the first seconds of a load the requests
that enter a service may be counted while those that it sends on are not, or the other way round: a chain looks as if it
ended there, and a plan promises to save a way at one end that it adds at the other. A counter is late by less than what the
load has grown by since the last measurement. So a flow that is smaller than what enters its caller, or leaves its callee, may
really be larger by that growth, up to one call for each request; unless it was as much smaller the time before, which no late
counter is. Where a plan makes ways longer such flows are taken to be larger, where it makes them shorter as they are counted.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.scheduling.response.call_graph import CallGraph, Calls
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.ways import distances

_STEADY = 0.1  # by how much a share of the requests differs from measurement to measurement by chance


def late_loss(application: CallGraph, target: Ints, *, before: CallGraph | None, growth: float) -> float:
    """Milliseconds per user request that the target may cost more if flows are counted late by this growth, at most.

    `before`: the application as it was measured the time before, None if it was not.
    """
    counters = _Counters(application)
    earlier = None if before is None else _Counters(before)
    arrivals = Prediction(application).arrivals(np.stack([application.counts, target]).astype(np.float64))
    near, far = distances(application, application.counts), distances(application, target)
    lost = 0.0
    for number, call in enumerate(application.calls):
        longer = arrivals[1, call.caller] @ far[call.callee] - arrivals[0, call.caller] @ near[call.callee]
        if call.awaited and longer > 0.0:
            known = None if earlier is None else earlier.around(number)
            lost += min(growth, _missing(counters.around(number), known)) * float(longer)
    for workload in np.flatnonzero(application.users.any(axis=1)).tolist():
        longer = (far - near)[workload, application.users[workload] > 0.0].max()
        if longer > 0.0:
            known = None if earlier is None else earlier.at(workload)
            lost += min(growth, _missing(counters.at(workload), known)) * float(longer)
    return lost / application.rate


Share = tuple[float, float]  # a flow, and another one that leads to it or follows from it


class _Counters:
    """What enters each workload and the largest flow that leaves it, as far as somebody waits for it."""

    def __init__(self, application: CallGraph) -> None:
        self._calls: tuple[Calls, ...] = application.calls
        self._entering: Floats = application.incoming
        self._leaving: Floats = np.zeros(len(self._entering))
        for call in self._calls:
            self._leaving[call.caller] = max(self._leaving[call.caller], call.rate)
        for call in self._calls:
            if not call.awaited:  # what follows from messages may be more than they count
                self._leaving[call.callee] = 0.0

    def around(self, number: int) -> list[Share]:
        call = self._calls[number]
        return [(call.rate, float(self._entering[call.caller])), *self.at(call.callee)]

    def at(self, workload: int) -> list[Share]:
        return [(float(self._entering[workload]), float(self._leaving[workload]))]


def _missing(shares: list[Share], earlier: list[Share] | None) -> float:
    """Requests per second that the flow is smaller by than it might be."""
    found = [
        whole - part
        for number, (part, whole) in enumerate(shares)
        if earlier is None or not _steady(part, whole, *earlier[number])
    ]
    return max([0.0, *found])


def _steady(part: float, whole: float, part_before: float, whole_before: float) -> bool:
    """True if it was the same share the time before."""
    if part <= 0.0 or whole <= 0.0 or whole_before <= 0.0:
        return False
    return abs(part / whole - part_before / whole_before) <= _STEADY * part / whole
