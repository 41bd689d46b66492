"""NodeVolumeLimits: a node can hold so many volumes of a CSI driver (`Node.attachable`), each counted once.

What counts are the claims of the pods on the node. Volumes that are still attached although no pod uses them any more are
not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Node, Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection

TOO_MANY = "node(s) exceed max volume count"
_FEW = 8

Attached = dict[str, str]
"""Volume -> driver."""


class NodeVolumeLimits:
    name = "NodeVolumeLimits"
    placement_changes: Change | None = "row"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        state = cycle.state
        if not cycle.pod.spec.claims or not state.nodes.derived(self.name, _any_limits):
            return None
        wanted = attached(state, cycle.pod.kind)
        if not wanted:
            return None
        if len(rows) <= _FEW:
            return np.array([_fits(state, int(row), wanted) for row in rows], dtype=np.bool_)
        return _fits_everywhere(state, wanted)[rows]

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, TOO_MANY)]

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            return not isinstance(event.old, Node) or event.old.attachable != event.new.attachable
        if event.action == "delete" and isinstance(event.old, Pod):
            return event.old.node is not None and bool(event.old.spec.claims)
        return event.resource in ("claim", "volume")


def attached(state: ClusterState, kind: PodKind) -> Attached:
    """The driver's volumes that a pod of the kind has attached; a claim without a volume yet stands for itself."""
    found: Attached = {}
    for name in kind.spec.claims:
        claim = state.claims.get(f"{kind.namespace}/{name}")
        if claim is None:
            continue
        volume = state.volumes.get(claim.volume or "")
        if volume is not None:
            if volume.driver:
                found[f"volume {volume.name}"] = volume.driver
            continue
        storage = state.storage_classes.get(claim.storage_class or "")
        if storage is not None and storage.provisioner:
            found[f"claim {claim.key}"] = storage.provisioner
    return found


def _any_limits(nodes: NodeTable) -> bool:
    return any(node.attachable for node in nodes.nodes)


def _fits(state: ClusterState, row: int, wanted: Attached) -> bool:
    limits = state.nodes.nodes[row].attachable
    if not limits:
        return True
    there: Attached = {}
    for pod in state.usage.pods_on[row]:
        if pod.spec.claims:
            there |= attached(state, pod.kind)
    held, coming = list(there.values()), [driver for volume, driver in wanted.items() if volume not in there]
    return all(
        held.count(driver) + coming.count(driver) <= limits.get(driver, len(held) + len(coming)) for driver in coming
    )


def _fits_everywhere(state: ClusterState, wanted: Attached) -> Mask:
    drivers = sorted(set(wanted.values()))
    held: dict[str, Ints] = {driver: np.zeros(len(state.nodes), dtype=np.int64) for driver in drivers}
    coming = {driver: np.full(len(state.nodes), sum(each == driver for each in wanted.values())) for driver in drivers}
    for volume, rows in _places(state, held).items():
        driver, where = rows[0], np.unique(np.concatenate(rows[1]))
        held[driver][where] += 1
        if volume in wanted:
            coming[driver][where] -= 1
    ok = np.ones(len(state.nodes), dtype=np.bool_)
    for driver in drivers:
        ok &= (held[driver] + coming[driver] <= _limits(state.nodes, driver)) | (coming[driver] <= 0)
    return ok


def _places(state: ClusterState, drivers: dict[str, Ints]) -> dict[str, tuple[str, list[Rows]]]:
    """Volume -> its driver and the rows of each kind of pod that uses it."""
    places: dict[str, tuple[str, list[Rows]]] = {}
    for kind in state.usage.kinds.with_claims:
        rows = state.usage.everywhere(kind)[0]
        if len(rows):
            for volume, driver in attached(state, kind).items():
                if driver in drivers:
                    places.setdefault(volume, (driver, []))[1].append(rows)
    return places


def _limits(nodes: NodeTable, driver: str) -> Ints:
    def compute(table: NodeTable) -> Ints:
        unlimited = np.iinfo(np.int64).max
        return np.array([node.attachable.get(driver, unlimited) for node in table.nodes], dtype=np.int64)

    return nodes.derived(("attachable", driver), compute)
