"""The steps of plans as numbers of an application's workloads and places, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.descheduling.plans.orders import Stages as Units
from ecotone.descheduling.plans.orders import Unit
from ecotone.descheduling.plans.plan import Stages, Step
from ecotone.model.state import ClusterState
from ecotone.scheduling.response.call_graph import CallGraph


def unit_of(state: ClusterState, application: CallGraph, step: Step) -> Unit:
    workload = next(number for number, kind in enumerate(application.kinds) if kind.workload == step.workload)
    index = state.nodes.index
    origin, target = (int(np.flatnonzero(application.rows == index[node])[0]) for node in (step.origin, step.target))
    return workload, origin, target


def units_of(state: ClusterState, application: CallGraph, stages: Stages) -> Units:
    return tuple(tuple(unit_of(state, application, step) for step in stage) for stage in stages)


def stages_of(state: ClusterState, application: CallGraph, units: Units, surge: Sequence[bool]) -> Stages:
    names, rows = state.nodes.names, application.rows.tolist()
    return tuple(
        tuple(
            Step(application.kinds[workload].workload, names[rows[origin]], names[rows[target]], surge[workload])
            for workload, origin, target in stage
        )
        for stage in units
    )
