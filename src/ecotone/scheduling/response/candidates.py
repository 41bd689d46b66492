"""Placements next to a known one, as tables or as rows of one workload."""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.passes import Passes


def with_rows(here: Floats, workload: int, rows: Floats) -> Floats:
    """The placements with these rows in place of the workload's own."""
    found = np.repeat(here[np.newaxis], len(rows), axis=0)
    found[:, workload] = rows
    return found


def away(row: Floats, node: int) -> Floats:
    """All pods of a node on every other one, and where they are."""
    nodes = len(row)
    found = np.repeat(row[np.newaxis], nodes, axis=0)
    found[:, node] -= row[node]
    found[np.arange(nodes), np.arange(nodes)] += row[node]
    return found


def couples(here: Floats, limits: Limits, passes: Passes, application: CallGraph) -> Floats:
    """Two workloads that talk to each other and stand on the same nodes, both of them on another one."""
    movable, allowed = limits.movable, limits.allowed
    found = []
    for a, b in dict.fromkeys((call.caller, call.callee) for call in application.calls):
        if movable[a] and movable[b] and ((here[a] > 0) == (here[b] > 0)).all():
            places = np.flatnonzero(allowed[a] & allowed[b])
            moved = np.repeat(here[np.newaxis], len(places), axis=0)
            for workload in (a, b):
                moved[:, workload] = passes.whole(workload, places)
            found.append(moved)
    return np.concatenate(found) if found else here[np.newaxis][:0]


def exchanges(here: Floats, movable: Ints, *, many: int) -> Floats:
    """Two nodes with everything that stands on them and may move exchanged; of more nodes than `many` those in use."""
    held = here[movable].sum(axis=0) > 0
    nodes = np.flatnonzero(held) if len(held) > many else np.arange(len(held))
    one, other = (nodes[side] for side in np.triu_indices(len(nodes), k=1))
    some = held[one] | held[other]
    one, other = one[some, np.newaxis], other[some, np.newaxis]
    found = np.repeat(here[np.newaxis], len(one), axis=0)
    number = np.arange(len(one))[:, np.newaxis]
    found[number, movable, one], found[number, movable, other] = here[movable, other], here[movable, one]
    return found
