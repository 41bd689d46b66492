"""VolumeBinding: a pod goes where its volumes can be reached, or where they can still be found or made.

A bound claim's volume says by its node affinity from where it can be reached. A claim of a class that waits for its first
consumer takes the smallest free volume that suits, or one is made for it if the class can and its allowed topologies
include the node. Any other unbound claim keeps the pod waiting.

The choice is remembered while a round goes on (`reserve`): a second pod on the same claim follows the first, and no volume
is given away twice. Free capacity behind a storage class is not known here and not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ecotone.model.arrays import Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Claim, Node, Pod, StorageClass, Volume
from ecotone.model.selectors import NodeAffinity, Requirement
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, pick

NO_CLAIM = 'persistentvolumeclaim "{}" not found'
CLAIM_LEAVING = 'persistentvolumeclaim "{}" is being deleted'
NO_CLASS = 'storageclass.storage.k8s.io "{}" not found'
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME_FREE = "node(s) didn't find available persistent volumes to bind"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
MAKES_NONE = ("", "kubernetes.io/no-provisioner")


class _Notebook(msgspec.Struct):
    reachable: Mask | None
    gone: bool
    unbound: list[Claim]
    bindable: Mask | None
    undo: list[tuple[dict[str, Any], str, Any]] = msgspec.field(default_factory=list)


class VolumeBinding:
    name = "VolumeBinding"

    def placement_changes(self, cycle: Cycle) -> Change:
        return "everything" if cycle.pod.spec.claims else "nothing"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        cycle.scratch[self.name] = None
        if not cycle.pod.spec.claims:
            return None
        bound, unbound = [], []
        for name in cycle.pod.spec.claims:
            claim = cycle.state.claims.get(f"{cycle.pod.namespace}/{name}")
            if claim is None:
                return Refusal(NO_CLAIM.format(name))
            if claim.deleting:
                return Refusal(CLAIM_LEAVING.format(name))
            if claim.volume is not None:
                bound.append(claim.volume)
                continue
            storage = cycle.state.storage_classes.get(claim.storage_class or "")
            if storage is None and claim.storage_class:
                return Refusal(NO_CLASS.format(claim.storage_class))
            if storage is None or not storage.waits_for_consumer:
                return Refusal(UNBOUND)
            unbound.append(claim)
        # Smaller claims choose first, so that each gets the smallest volume that suits.
        unbound.sort(key=lambda claim: claim.request)
        cycle.scratch[self.name] = self._notebook(cycle.state, bound, unbound)
        return None

    def _notebook(self, state: ClusterState, bound: Sequence[str], unbound: list[Claim]) -> _Notebook:
        volumes = [state.volumes.get(name) for name in bound]
        found = [volume for volume in volumes if volume is not None]
        reachable: Mask | None = None
        for volume in found:
            if volume.node_affinity.required is not None:
                mask = state.nodes.matches_affinity(volume.node_affinity)
                reachable = mask if reachable is None else reachable & mask
        bindable = _bindable(state, unbound) if unbound else None
        return _Notebook(reachable, gone=len(found) < len(volumes), unbound=unbound, bindable=bindable)

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """A replica was placed and took its volumes: what is left is judged anew."""
        book: _Notebook | None = cycle.scratch[self.name]
        if book is not None and book.unbound:
            self.prefilter(cycle)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """A pod that goes gives no volume back."""

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        book: _Notebook | None = cycle.scratch[self.name]
        if book is None:
            return None
        if book.gone:
            return np.zeros(len(rows), dtype=np.bool_)
        masks = [pick(mask, rows, cycle) for mask in (book.reachable, book.bindable) if mask is not None]
        return np.logical_and.reduce(masks) if masks else None

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        book: _Notebook | None = cycle.scratch[self.name]
        if book is None:
            return []
        found = []
        if book.reachable is not None:
            found.append(Rejection(~pick(book.reachable, rows, cycle), UNREACHABLE, final=True))
        if book.bindable is not None:
            found.append(Rejection(~pick(book.bindable, rows, cycle), NO_VOLUME_FREE, final=True))
        if book.gone:
            found.append(Rejection(np.ones(len(rows), dtype=np.bool_), VOLUME_GONE, final=True))
        return found

    def reserve(self, cycle: Cycle, row: int) -> str | None:
        book: _Notebook | None = cycle.scratch.get(self.name)
        if book is None or not book.unbound:
            return None
        state, node = cycle.state, cycle.state.nodes.nodes[row]
        chosen = choose_volumes(state, book.unbound, node)
        if chosen is None:
            return NO_VOLUME_FREE
        book.undo = []
        for claim in book.unbound:
            volume = chosen.get(claim.key)
            if volume is None:
                self._change(book, state.claims, claim.key, replace(claim, selected_node=node.name))
            else:
                self._change(book, state.claims, claim.key, replace(claim, volume=volume.name))
                self._change(book, state.volumes, volume.name, replace(volume, claim=claim.key, available=False))
        return None

    def _change(self, book: _Notebook, table: dict[str, Any], key: str, value: object) -> None:
        book.undo.append((table, key, table[key]))
        table[key] = value

    def unreserve(self, cycle: Cycle, row: int) -> None:
        book: _Notebook | None = cycle.scratch.get(self.name)
        if book is not None:
            for table, key, value in reversed(book.undo):
                table[key] = value
            book.undo = []

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Claim):
            return event.new.namespace == pod.namespace and event.new.name in pod.spec.claims
        if isinstance(event.new, Node):
            return not isinstance(event.old, Node) or dict(event.old.labels) != dict(event.new.labels)
        return event.action != "delete" and event.resource in ("volume", "storage-class")


def _bindable(state: ClusterState, claims: Sequence[Claim]) -> Mask:
    """Where every claim finds a volume or can have one made."""
    mask = np.ones(len(state.nodes), dtype=np.bool_)
    for claim in claims:
        mask = mask & (_found(state, claim) | _made(state, claim))
    classes = [claim.storage_class for claim in claims]
    if len(set(classes)) < len(classes):
        # Claims that compete for the same volumes may each find one, but not all of them together.
        for row in np.flatnonzero(mask):
            mask[row] = choose_volumes(state, claims, state.nodes.nodes[row]) is not None
    return mask


def _found(state: ClusterState, claim: Claim) -> Mask:
    """Where a free volume suits the claim."""
    nodes = state.nodes
    if claim.selected_node is not None:
        return np.zeros(len(nodes), dtype=np.bool_)
    own = [volume for volume in state.volumes.values() if volume.claim == claim.key and _big_enough(claim, volume)]
    return _reach(nodes, own[:1] or [volume for volume in state.volumes.values() if _suits(claim, volume)])


def _reach(nodes: NodeTable, volumes: Iterable[Volume]) -> Mask:
    """Rows from where at least one of the volumes can be reached.

    Local volumes come by the thousand, each tied to one value of one label: those are collected and looked up at once.
    """
    mask = np.zeros(len(nodes), dtype=np.bool_)
    values: dict[str, set[str]] = {}
    for volume in volumes:
        single = _single_requirement(volume.node_affinity)
        if single is not None:
            values.setdefault(single.key, set()).update(single.values)
        else:
            mask = mask | nodes.matches_affinity(volume.node_affinity)
    for key, wanted in values.items():
        codes, known = nodes.labels(key)
        mask = mask | np.array([*(value in wanted for value in known), False], dtype=np.bool_)[codes]
    return mask


def _single_requirement(affinity: NodeAffinity) -> Requirement | None:
    if affinity.required is None or len(affinity.required) != 1 or affinity.required[0].fields:
        return None
    expressions = affinity.required[0].expressions
    return expressions[0] if len(expressions) == 1 and expressions[0].operator == "In" else None


def _made(state: ClusterState, claim: Claim) -> Mask:
    """Where a volume can be made for the claim."""
    nodes, storage = state.nodes, state.storage_classes[claim.storage_class or ""]
    mask = np.zeros(len(nodes), dtype=np.bool_)
    if storage.provisioner in MAKES_NONE:
        return mask
    if not storage.topologies:
        mask = ~mask
    for alternative in storage.topologies:
        mask = mask | nodes.matches_affinity(alternative)
    if claim.selected_node is not None:
        mask = mask & (nodes.all_rows == nodes.index.get(claim.selected_node, -1))
    return mask


def choose_volumes(state: ClusterState, claims: Sequence[Claim], node: Node) -> Mapping[str, Volume] | None:
    """Which volume each claim takes on this node (none: one is made); None if one of them gets nothing."""
    alone = NodeTable([node])
    chosen: dict[str, Volume] = {}
    taken: set[str] = set()
    for claim in claims:
        volume = _smallest(state, claim, alone, taken)
        if volume is not None:
            chosen[claim.key] = volume
            taken.add(volume.name)
        elif not _can_make(state.storage_classes[claim.storage_class or ""], claim, alone):
            return None
    return chosen


def _smallest(state: ClusterState, claim: Claim, alone: NodeTable, taken: set[str]) -> Volume | None:
    if claim.selected_node is not None:
        return None
    best: Volume | None = None
    for volume in state.volumes.values():
        if volume.claim == claim.key and _big_enough(claim, volume):
            return volume if alone.matches_affinity(volume.node_affinity)[0] else None
        if volume.name in taken or not _suits(claim, volume) or (best and best.capacity <= volume.capacity):
            continue
        if alone.matches_affinity(volume.node_affinity)[0]:
            best = volume
    return best


def _can_make(storage: StorageClass, claim: Claim, alone: NodeTable) -> bool:
    if storage.provisioner in MAKES_NONE or claim.selected_node not in (None, alone.names[0]):
        return False
    return not storage.topologies or any(bool(alone.matches_affinity(each)[0]) for each in storage.topologies)


def _suits(claim: Claim, volume: Volume) -> bool:
    return (
        volume.claim is None
        and volume.available
        and volume.storage_class == claim.storage_class
        and _big_enough(claim, volume)
        and claim.access_modes <= volume.access_modes
        and (claim.selector is None or claim.selector.matches(dict(volume.labels)))
    )


def _big_enough(claim: Claim, volume: Volume) -> bool:
    return volume.capacity >= claim.request and volume.mode == claim.mode
