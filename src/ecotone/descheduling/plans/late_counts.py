"""What a plan gains at least while a load grows, when some counters show it before others.

Counters are read one after the other, and figures written one after the other. In the first seconds of a load the requests
that enter a service may be counted while those that it sends on are not, or the other way round: a chain looks as if it
ended there, and a plan promises to save a way at one end that it adds at the other. A counter is late by less than what the
load has grown by since the last measurement, and a request leads to a call of each kind seen, or to several: so a flow may
be larger by that growth, up to the largest flow that enters its caller or leaves its callee. Where a plan makes ways longer
they are taken to be larger, where it makes them shorter as they are counted.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.ways import distances


def late_loss(application: CallGraph, target: Ints, *, growth: float) -> float:
    """Milliseconds per user request that the target may cost more if flows are counted late by this growth, at most."""
    if growth <= 0.0:
        return 0.0
    here, there = application.counts, target
    arrivals = Prediction(application).arrivals(np.stack([here, there]).astype(np.float64))
    near, far = distances(application, here), distances(application, there)
    entering = application.incoming
    leaving = np.zeros(len(entering))
    for call in application.calls:
        leaving[call.caller] = max(leaving[call.caller], call.rate)
    late = leaving - entering
    lost = 0.0
    for call in application.calls:
        missing = max(entering[call.caller] - call.rate, late[call.callee])
        longer = arrivals[1, call.caller] @ far[call.callee] - arrivals[0, call.caller] @ near[call.callee]
        lost += min(growth, max(0.0, missing)) * max(0.0, float(longer))
    for workload in np.flatnonzero(application.users.any(axis=1)).tolist():
        sites = application.users[workload] > 0.0
        longer = (far - near)[workload, sites].max()
        lost += min(growth, max(0.0, late[workload])) * max(0.0, float(longer))
    return lost / application.rate
