"""The nodes of a cluster as columns.

Filters and scores ask one question of every node at once, so what they read lies in arrays: allocatable resources,
label values as small integers, sets of taints as small integers. The table is immutable; a change of the node set makes a
new one, and what is derived from it (a label's column, say) is computed on first use and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ecotone.model.arrays import Codes, Floats, Hashes, Ints, Mask, Rows
from ecotone.model.draw import hash_texts
from ecotone.model.objects import Node
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement, Taint

BASE_RESOURCES = ("cpu", "memory", "ephemeral-storage")
CPU, MEMORY = 0, 1
# What monitors write; all other columns stay as they are when only these change.
MEASUREMENTS = (
    "available_cpu", "available_memory", "latencies", "measured_at", "coordinates", "bandwidths", "losses",
)  # fmt: skip

Derived = TypeVar("Derived")
Number = TypeVar("Number", bound=np.generic)


class NodeTable:
    """Columns over nodes, in the order they became known; `rank` gives the byte order of names for breaking ties."""

    most_answers = 4096
    most_figures = 2**23

    def __init__(self, nodes: Iterable[Node], *, resources: Sequence[str] = BASE_RESOURCES) -> None:
        self.nodes: tuple[Node, ...] = tuple(nodes)
        self.names: tuple[str, ...] = tuple(node.name for node in self.nodes)
        self.index: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        extended = {name for node in self.nodes for name in node.allocatable} - {"pods"} - set(resources)
        self.resources: tuple[str, ...] = (*resources, *sorted(extended))
        self.allocatable: Ints = np.array(
            [[node.allocatable.get(name, 0) for name in self.resources] for node in self.nodes], dtype=np.int64
        ).reshape(len(self.nodes), len(self.resources))
        self.max_pods: Ints = np.array([_max_pods(node) for node in self.nodes], dtype=np.int64)
        self.all_rows: Rows = np.arange(len(self.nodes))
        self._labels: dict[str, tuple[Codes, list[str]]] = {}
        self._matches: dict[object, Mask] = {}
        self._derived: dict[Hashable, Any] = {}
        self._tiers: dict[tuple[str, ...], Ints] = {}
        self._moment: tuple[Hashable, dict[Hashable, Any]] = (None, {})

    def changed(self, changes: Mapping[int, Node]) -> NodeTable | None:
        """The table with other nodes in some rows, sharing all that still holds; None if a new column is needed.

        Monitors write to every node every half minute: that must not lay out 5,000 nodes again each time.
        """
        if any(self.column(name) is None for node in changes.values() for name in node.allocatable if name != "pods"):
            return None
        twin = object.__new__(NodeTable)
        twin.__dict__.update(self.__dict__)
        nodes = list(self.nodes)
        for row, node in changes.items():
            nodes[row] = node
        twin.nodes = tuple(nodes)
        twin._moment = (None, {})
        twin.__dict__.pop("linked", None)
        if not all(_same_but_measured(self.nodes[row], node) for row, node in changes.items()):
            twin._lay_out_again(self.nodes, changes)
        for column, read in (("measured", _measured), ("measured_at", _moment)):
            if column in self.__dict__:
                twin.__dict__[column] = _patched(self.__dict__[column], changes, read)
        return twin

    def _lay_out_again(self, before: tuple[Node, ...], changes: Mapping[int, Node]) -> None:
        """More than measurements changed: forget what followed from it."""
        self.allocatable = _patched(
            self.allocatable, changes, lambda node: [node.allocatable.get(name, 0) for name in self.resources]
        )
        self.max_pods = _patched(self.max_pods, changes, _max_pods)
        for column in ("unschedulable", "price", "priced", "taints", "images"):
            self.__dict__.pop(column, None)
        self._derived = {}
        if any(before[row].labels != node.labels for row, node in changes.items()):
            self._labels, self._matches = {}, {}
        if any(before[row].tier != node.tier for row, node in changes.items()):
            self._tiers = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def derived(self, key: Hashable, compute: Callable[[NodeTable], Derived]) -> Derived:
        """What follows from the nodes alone, not from measurements, computed once; `key` names the question in full."""
        try:
            known: Derived = self._derived[key]
        except KeyError:
            self._make_room(self._derived)
            known = compute(self)
            if isinstance(known, np.ndarray):
                known.flags.writeable = False
            self._derived[key] = known
        return known

    def at_moment(self, key: Hashable, moment: Hashable, compute: Callable[[], Derived]) -> Derived:
        """What follows from measurements at one moment, asked once for that; the moment before is forgotten."""
        if self._moment[0] != moment:
            self._moment = (moment, {})
        kept = self._moment[1]
        if key not in kept:
            kept[key] = compute()
        known: Derived = kept[key]
        return known

    def _make_room(self, kept: dict[Any, Any]) -> None:
        """Pods with terms of their own come and go: what is kept for them is bounded, in answers and in figures."""
        if len(kept) >= max(64, min(self.most_answers, self.most_figures // max(1, len(self.nodes)))):
            kept.clear()

    def column(self, resource: str) -> int | None:
        """Which column of `allocatable` holds the resource."""
        return self._columns.get(resource)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.resources)}

    @cached_property
    def rank(self) -> Ints:
        order = sorted(range(len(self.names)), key=lambda row: self.names[row].encode())
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank

    @cached_property
    def names_in_order(self) -> list[bytes]:
        return sorted(name.encode() for name in self.names)

    @cached_property
    def hashes(self) -> Hashes:
        return hash_texts(self.names)

    @cached_property
    def unschedulable(self) -> Mask:
        return np.array([node.unschedulable for node in self.nodes], dtype=np.bool_)

    @cached_property
    def price(self) -> Floats:
        return np.array([node.price_per_hour for node in self.nodes], dtype=np.float64)

    @cached_property
    def priced(self) -> bool:
        return bool(self.price.any())

    @cached_property
    def measured(self) -> Floats:
        """CPU (millicores) and memory (bytes) measured as not in use; NaN where nothing usable is known."""
        return np.array([_measured(node) for node in self.nodes], dtype=np.float64).reshape(len(self.nodes), 2)

    @cached_property
    def measured_at(self) -> Floats:
        """When; infinitely late where it was not said, since such a value counts as fresh."""
        return np.array([_moment(node) for node in self.nodes], dtype=np.float64)

    @cached_property
    def linked(self) -> tuple[Node, ...]:
        """Nodes that say themselves how far others are."""
        return tuple(node for node in self.nodes if node.latencies)

    def labels(self, key: str) -> tuple[Codes, list[str]]:
        """The label's column: a code per node (-1: absent) and the value behind each code."""
        known = self._labels.get(key)
        if known is None:
            self._make_room(self._labels)
            codes = np.full(len(self.nodes), -1, dtype=np.int32)
            values: dict[str, int] = {}
            for row, node in enumerate(self.nodes):
                value = node.labels.get(key)
                if value is not None:
                    codes[row] = values.setdefault(value, len(values))
            known = self._labels[key] = (codes, list(values))
        return known

    def tier_codes(self, order: tuple[str, ...]) -> Ints:
        """Each node's place in an order of tiers; those of no tier come after all of them."""
        known = self._tiers.get(order)
        if known is None:
            places = {tier: place for place, tier in enumerate(order)}
            known = self._tiers[order] = np.array([places.get(node.tier or "", len(order)) for node in self.nodes])
        return known

    def domains(self, key: str) -> tuple[Rows, int]:
        """Each node's domain under a label, and how many there are; nodes without the label have the next number."""
        return self.derived(("domains", key), lambda table: table._domains(key))

    def _domains(self, key: str) -> tuple[Rows, int]:
        codes, values = self.labels(key)
        return np.where(codes < 0, len(values), codes).astype(np.intp), len(values)

    def tier_is(self, tier: str) -> Mask:
        return np.array([node.tier == tier for node in self.nodes], dtype=np.bool_)

    @cached_property
    def taints(self) -> tuple[Codes, list[tuple[Taint, ...]]]:
        """Distinct sets of taints: a code per node and the set behind each code."""
        sets: dict[tuple[Taint, ...], int] = {}
        codes = np.array([sets.setdefault(node.taints, len(sets)) for node in self.nodes], dtype=np.int32)
        return codes, list(sets)

    @cached_property
    def images(self) -> dict[str, tuple[Rows, Ints]]:
        """Image name -> the rows that hold it, and its size there."""
        found: dict[str, list[tuple[int, int]]] = {}
        for row, node in enumerate(self.nodes):
            for image, size in node.images.items():
                found.setdefault(image, []).append((row, size))
        return {
            image: (np.array([row for row, _ in places], dtype=np.intp), np.array([size for _, size in places]))
            for image, places in found.items()
        }

    def meets(self, requirement: Requirement, *, field: bool = False) -> Mask:
        """Where the requirement holds; asked once per distinct value, not once per node."""
        key = (requirement, field)
        known = self._matches.get(key)
        if known is None:
            if field:
                known = np.array(
                    [requirement.key == "metadata.name" and requirement.accepts(name) for name in self.names],
                    dtype=np.bool_,
                )
            else:
                codes, values = self.labels(requirement.key)
                table = [requirement.accepts(value) for value in values] + [requirement.accepts(None)]
                known = np.array(table, dtype=np.bool_)[codes]
            self._make_room(self._matches)
            self._matches[key] = known
        return known

    def matches_term(self, term: NodeTerm) -> Mask:
        known = self._matches.get(term)
        if known is None:
            known = np.full(len(self.nodes), bool(term.expressions or term.fields))
            for requirement in term.expressions:
                known = known & self.meets(requirement)
            for requirement in term.fields:
                known = known & self.meets(requirement, field=True)
            self._make_room(self._matches)
            self._matches[term] = known
        return known

    def matches_selector(self, selector: tuple[tuple[str, str], ...]) -> Mask:
        mask = np.ones(len(self.nodes), dtype=np.bool_)
        for key, value in selector:
            mask = mask & self.meets(Requirement(key, "In", (value,)))
        return mask

    def matches_affinity(self, affinity: NodeAffinity) -> Mask:
        """Where one of the required terms holds (everywhere, if nothing is required)."""
        if affinity.required is None:
            return np.ones(len(self.nodes), dtype=np.bool_)
        mask = np.zeros(len(self.nodes), dtype=np.bool_)
        for term in affinity.required:
            mask = mask | self.matches_term(term)
        return mask


def _same_but_measured(old: Node, new: Node) -> bool:
    return replace(old, **{name: getattr(new, name) for name in MEASUREMENTS}) == new


def _patched(column: NDArray[Number], changes: Mapping[int, Node], read: Callable[[Node], Any]) -> NDArray[Number]:
    """A copy with the changed rows read anew."""
    patched = column.copy()
    for row, node in changes.items():
        patched[row] = read(node)
    return patched


def _max_pods(node: Node) -> int:
    return node.allocatable.get("pods", 110)


def _measured(node: Node) -> tuple[float, float]:
    return _or_nan(node.available_cpu), _or_nan(node.available_memory)


def _moment(node: Node) -> float:
    return np.inf if node.measured_at is None else node.measured_at


def _or_nan(value: float | None) -> float:
    return value if value is not None and np.isfinite(value) and value >= 0 else np.nan
