"""VolumeRestrictions: disks that one node can mount once, and claims that one pod in the cluster can use.

Inline disks of some types (`PodSpec.restricted_volumes`, as `type:identity[:ro]`) may be shared on a node only if everybody
mounts them read-only, EBS disks not even then. A claim with access mode ReadWriteOncePod is taken, on every node, as soon as
any pod uses it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.objects import Claim, Pod, PodKind
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection

DISK_TAKEN = "node(s) had no available disk"
CLAIM_TAKEN = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
NO_CLAIM = 'persistentvolumeclaim "{}" not found'
ONE_POD = "ReadWriteOncePod"
READ_ONLY = ":ro"


class _Notebook(msgspec.Struct):
    """Claims that only one pod may use, and how many uses there are in the cluster."""

    exclusive: frozenset[str]
    uses: int


class VolumeRestrictions:
    name = "VolumeRestrictions"

    def placement_changes(self, cycle: Cycle) -> Change:
        spec = cycle.pod.spec
        return "everything" if spec.claims or spec.restricted_volumes else "nothing"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        cycle.scratch[self.name] = None
        pod, state = cycle.pod, cycle.state
        if not pod.spec.claims:
            return None
        exclusive = set()
        for name in pod.spec.claims:
            claim = state.claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                return Refusal(NO_CLAIM.format(name))
            if ONE_POD in claim.access_modes:
                exclusive.add(name)
        if exclusive:
            book = cycle.scratch[self.name] = _Notebook(frozenset(exclusive), 0)
            for kind in state.usage.kinds.with_claims:
                uses = _uses(book, kind, pod)
                if uses:
                    book.uses += uses * int(state.usage.everywhere(kind)[1].sum())
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        book: _Notebook | None = cycle.scratch[self.name]
        if book is not None:
            book.uses += _uses(book, pod.kind, cycle.pod)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        book: _Notebook | None = cycle.scratch[self.name]
        if book is not None:
            book.uses -= _uses(book, pod.kind, cycle.pod)

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        free = self._disks_free(cycle, rows)
        if _claim_taken(cycle, self.name):
            return np.zeros(len(rows), dtype=np.bool_)
        return free

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        found = []
        free = self._disks_free(cycle, rows)
        free = np.ones(len(rows), dtype=np.bool_) if free is None else free
        if not free.all():
            found.append(Rejection(~free, DISK_TAKEN))
        if _claim_taken(cycle, self.name):
            found.append(Rejection(free, CLAIM_TAKEN))
        return found

    def _disks_free(self, cycle: Cycle, rows: Rows) -> Mask | None:
        wanted, usage = cycle.pod.spec.restricted_volumes, cycle.state.usage
        if not wanted:
            return None
        free = np.ones(len(cycle.state.nodes), dtype=np.bool_)
        for kind in usage.kinds.with_claims:
            if clash(wanted, kind.spec.restricted_volumes):
                free[usage.everywhere(kind)[0]] = False
        return free if rows is cycle.state.nodes.all_rows else free[rows]

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Claim):
            return event.new.namespace == pod.namespace and event.new.name in pod.spec.claims
        if event.action == "delete" and isinstance(event.old, Pod) and event.old.node is not None:
            shared = set(pod.spec.claims) & set(event.old.spec.claims)
            same_namespace = event.old.namespace == pod.namespace
            return (bool(shared) and same_namespace) or clash(
                pod.spec.restricted_volumes, event.old.spec.restricted_volumes
            )
        return event.resource == "node" and event.action == "add"


def _claim_taken(cycle: Cycle, name: str) -> bool:
    book: _Notebook | None = cycle.scratch[name]
    return book is not None and book.uses > 0


def _uses(book: _Notebook, kind: PodKind, pod: Pod) -> int:
    if kind.namespace != pod.namespace:
        return 0
    return sum(name in book.exclusive for name in kind.spec.claims)


def clash(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    return any(_clash(one, other) for one in mine for other in theirs)


def _clash(one: str, other: str) -> bool:
    disk, also = one.removesuffix(READ_ONLY), other.removesuffix(READ_ONLY)
    if one != disk and other != also:
        return False
    if disk.startswith("rbd:") and also.startswith("rbd:"):
        image, _, monitors = disk.partition("@")
        other_image, _, other_monitors = also.partition("@")
        return image == other_image and bool(set(monitors.split(",")) & set(other_monitors.split(",")))
    return disk == also
