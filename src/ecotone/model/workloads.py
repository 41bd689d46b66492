"""Workloads by name, and who speaks of whom.

Each workload lists the peers it knows. To see both sides of a channel one must also find those who list *it*, without
asking every workload of the cluster: this index is kept up to date as workloads come and go.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ecotone.model.objects import USERS, Workload, WorkloadKey

Name = tuple[str, str]
Keys = tuple[WorkloadKey, ...]


def peer_name(namespace: str, peer: str) -> Name:
    """Namespace and name of a peer as a workload of this namespace writes it: `name` or `namespace/name`."""
    if "/" in peer:
        other, _, name = peer.partition("/")
        return other, name
    return namespace, peer


def mentioned(workload: Workload) -> set[Name]:
    """The workloads it lists as peers, by full name."""
    listed = {*(workload.affinity or ()), *(workload.traffic or ()), *workload.synchronous}
    listed |= {*workload.deadlines, *workload.soft_deadlines}
    return {peer_name(workload.key.namespace, peer) for peer in listed if not peer.startswith(USERS)}


class WorkloadIndex:
    """`kept` is for what others derive from the workloads: shared by copies, forgotten when any workload changes."""

    def __init__(self) -> None:
        self.named: dict[Name, Keys] = {}
        self.mentioned_by: dict[Name, Keys] = {}
        self.kept: dict[Hashable, Any] = {}

    def copy(self) -> WorkloadIndex:
        twin = WorkloadIndex()
        twin.named = self.named.copy()
        twin.mentioned_by = self.mentioned_by.copy()
        twin.kept = self.kept
        return twin

    def change(self, old: Workload | None, new: Workload | None) -> None:
        """One workload came (no old), went (no new) or lists other peers now."""
        self.kept = {}
        present = new or old
        if present is None:
            return
        if old is None and new is not None:
            _add(self.named, _name(new.key), new.key)
        elif old is not None and new is None:
            _remove(self.named, _name(old.key), old.key)
        before = mentioned(old) if old is not None else set()
        after = mentioned(new) if new is not None else set()
        for peer in before - after:
            _remove(self.mentioned_by, peer, present.key)
        for peer in after - before:
            _add(self.mentioned_by, peer, present.key)


def _name(key: WorkloadKey) -> Name:
    return key.namespace, key.name


def _add(table: dict[Name, Keys], name: Name, key: WorkloadKey) -> None:
    """Kept sorted, so that the table does not depend on the order in which workloads were added."""
    table[name] = tuple(sorted((*table.get(name, ()), key)))


def _remove(table: dict[Name, Keys], name: Name, key: WorkloadKey) -> None:
    left = tuple(each for each in table[name] if each != key)
    if left:
        table[name] = left
    else:
        del table[name]
