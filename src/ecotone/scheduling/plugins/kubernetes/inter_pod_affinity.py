"""InterPodAffinity: together with these pods, or apart from those, within the domains of a node label.

Required terms filter, in both directions: the pod's own, and the anti-affinity of pods that are already there. Preferred
ones score, in both directions too, and a running pod's *required* affinity to the new one counts `hardPodAffinityWeight`.
Pods on their way out still count: they are still there. `ignorePreferredTermsOfExistingPods` leaves the wishes of running pods
out of the score.

All of it is counting: per node label, how many terms speak for or against each of its values. `_Board` keeps the counts,
pods that come and go during the cycle change them in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.errors import InputError
from ecotone.model.objects import Node, Pod, PodKind
from ecotone.model.selectors import PodAffinity, PodTerm
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, Scores, pick

THEY_OBJECT = "node(s) didn't satisfy existing pods anti-affinity rules"
NOT_TOGETHER = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"

NO_TERMS = PodAffinity()


class _Board:
    """Counts per node label and value; the last place of each column is for nodes without the label and never read."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.columns: dict[str, Ints] = {}
        self.touched = False

    def add(self, key: str, rows: Rows, amounts: Ints | int) -> None:
        codes, domains = self.nodes.domains(key)
        counts = self.columns.get(key)
        if counts is None:
            counts = self.columns[key] = np.zeros(domains + 1, dtype=np.int64)
        places = codes[rows]
        np.add.at(counts, places, amounts)
        self.touched = self.touched or bool((places < domains).any())

    def at(self, key: str, cycle: Cycle, rows: Rows) -> Ints:
        """What each row's value has counted; 0 without the label."""
        counts = self.columns[key]
        counts[-1] = 0
        found: Ints = counts[pick(self.nodes.domains(key)[0], rows, cycle)]
        return found

    def clear_of(self, cycle: Cycle, rows: Rows) -> Mask | None:
        """Rows of which nothing is counted; None: all of them."""
        mask: Mask | None = None
        for key in self.columns:
            clear = self.at(key, cycle, rows) <= 0
            mask = clear if mask is None else mask & clear
        return mask

    @property
    def empty(self) -> bool:
        return not any(counts[:-1].any() for counts in self.columns.values())


class _Notebook(msgspec.Struct):
    """`together`, `apart`: pods that the pod's own terms select; `against`: terms of other pods that select this pod."""

    together: _Board
    apart: _Board
    against: _Board
    matches_itself: bool
    followed: bool = True
    likes: _Board | None = None


class InterPodAffinity:
    name = "InterPodAffinity"

    def __init__(
        self,
        *,
        hardPodAffinityWeight: int = 1,
        ignorePreferredTermsOfExistingPods: bool = False,
    ) -> None:
        if not 0 <= hardPodAffinityWeight <= 100:
            raise InputError(f"hardPodAffinityWeight is 0..100, not {hardPodAffinityWeight}")
        self.hard_weight = hardPodAffinityWeight
        self.ignore_theirs = ignorePreferredTermsOfExistingPods

    def placement_changes(self, cycle: Cycle) -> Change:
        """A replica without terms of its own changes nothing for the next one, whatever others say about both."""
        spec = cycle.pod.spec
        return "nothing" if spec.pod_affinity == spec.pod_anti_affinity == NO_TERMS else "everything"

    # Filtering

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        state, kind = cycle.state, cycle.pod.kind
        book = _notebook(cycle)
        cycle.scratch[self.name] = book
        terms = kind.spec.pod_affinity.required
        if terms:
            for other in _spoken_of(state, kind, terms[0]):
                if _about_all(state, kind, terms, other):
                    self._note_together(book, terms, *state.usage.everywhere(other))
        for term in kind.spec.pod_anti_affinity.required:
            for other in _spoken_of(state, kind, term):
                book.apart.add(term.topology_key, *state.usage.everywhere(other))
        for other in _with_rules_about(state, kind):
            for term in other.spec.pod_anti_affinity.required:
                if _about(state, other, term, kind):
                    book.against.add(term.topology_key, *state.usage.everywhere(other))
        return None

    def _note_together(self, book: _Notebook, terms: Sequence[PodTerm], rows: Rows, amounts: Ints | int) -> None:
        for term in terms:
            book.together.add(term.topology_key, rows, amounts)

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self._follow(cycle, pod.kind, row, +1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self._follow(cycle, pod.kind, row, -1)

    def _follow(self, cycle: Cycle, other: PodKind, row: int, by: int) -> None:
        book: _Notebook = cycle.scratch[self.name]
        state, kind = cycle.state, cycle.pod.kind
        here = state.nodes.all_rows[row : row + 1]
        terms = kind.spec.pod_affinity.required
        if terms and _about_all(state, kind, terms, other):
            self._note_together(book, terms, here, by)
        for term in kind.spec.pod_anti_affinity.required:
            if _about(state, kind, term, other):
                book.apart.add(term.topology_key, here, by)
        for term in other.spec.pod_anti_affinity.required:
            if _about(state, other, term, kind):
                book.against.add(term.topology_key, here, by)
        if book.likes is not None:
            self._like(state, book.likes, kind, other, (here, by))

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        book: _Notebook = cycle.scratch[self.name]
        parts = (
            self._together(cycle, rows, book),
            book.apart.clear_of(cycle, rows),
            book.against.clear_of(cycle, rows),
        )
        mask: Mask | None = None
        for part in parts:
            if part is not None:
                mask = part if mask is None else mask & part
        return mask

    def _together(self, cycle: Cycle, rows: Rows, book: _Notebook) -> Mask | None:
        """Pods that meet all terms must be in the domain; the first of a group that wants its own kind is let in."""
        terms = cycle.pod.spec.pod_affinity.required
        if not terms:
            return None
        alone = book.matches_itself and book.together.empty
        mask = np.ones(len(rows), dtype=np.bool_)
        for key in dict.fromkeys(term.topology_key for term in terms):
            codes, domains = cycle.state.nodes.domains(key)
            if alone:
                mask &= pick(codes, rows, cycle) < domains
            elif key in book.together.columns:
                mask &= book.together.at(key, cycle, rows) > 0
            else:
                mask[:] = False
        return mask

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        book: _Notebook = cycle.scratch[self.name]
        left = np.ones(len(rows), dtype=np.bool_)
        found = []
        for mask, reason, final in (
            (self._together(cycle, rows, book), NOT_TOGETHER, True),
            (book.apart.clear_of(cycle, rows), NOT_APART, False),
            (book.against.clear_of(cycle, rows), THEY_OBJECT, False),
        ):
            if mask is not None:
                found.append(Rejection(~mask & left, reason, final))
                left &= mask
        return found

    # Scoring

    def prescore(self, cycle: Cycle) -> None:
        book = cycle.scratch.get(self.name)
        if book is None or not book.followed:
            # Not among the pre-filters, so nobody tells of placements: count anew every time.
            book = cycle.scratch[self.name] = _notebook(cycle)
            book.followed = False
        if book.likes is not None:
            return
        book.likes = _Board(cycle.state.nodes)
        state, kind = cycle.state, cycle.pod.kind
        own = (*kind.spec.pod_affinity.preferred, *kind.spec.pod_anti_affinity.preferred)
        if self.ignore_theirs and not own:
            return
        others = dict.fromkeys(_with_rules_about(state, kind))
        for term in own:
            others.update(dict.fromkeys(_spoken_of(state, kind, term)))
        for other in others:
            self._like(state, book.likes, kind, other, state.usage.everywhere(other))

    def _like(
        self, state: ClusterState, likes: _Board, kind: PodKind, other: PodKind, places: tuple[Rows, Ints | int]
    ) -> None:
        """What pods of the other kind in these places say for and against this kind, and this kind about them."""
        rows, amounts = places
        mine, theirs = kind.spec, other.spec
        if self.ignore_theirs and not (mine.pod_affinity.preferred or mine.pod_anti_affinity.preferred):
            return
        for term, weight in _weighted(mine.pod_affinity.preferred, mine.pod_anti_affinity.preferred):
            if _about(state, kind, term, other):
                likes.add(term.topology_key, rows, amounts * weight)
        if self.hard_weight > 0:
            for term in theirs.pod_affinity.required:
                if _about(state, other, term, kind):
                    likes.add(term.topology_key, rows, amounts * self.hard_weight)
        for term, weight in _weighted(theirs.pod_affinity.preferred, theirs.pod_anti_affinity.preferred):
            if _about(state, other, term, kind):
                likes.add(term.topology_key, rows, amounts * weight)

    def score(self, cycle: Cycle, rows: Rows) -> Ints | None:
        likes: _Board = cycle.scratch[self.name].likes
        if not likes.touched:
            return None
        total = np.zeros(len(rows), dtype=np.int64)
        for key in likes.columns:
            total += likes.at(key, cycle, rows)
        return total

    def normalize(self, cycle: Cycle, raw: Scores) -> Ints:
        """From the least liked at 0 to the most liked at 100, cut off; all alike is 0."""
        values = np.asarray(raw, dtype=np.int64)
        if not len(values) or values.min() == values.max():
            return np.zeros(len(values), dtype=np.int64)
        low, high = int(values.min()), int(values.max())
        scaled: Ints = (100.0 * ((values - low) / (high - low))).astype(np.int64)
        return scaled

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        return f"pods nearby that it prefers or that prefer it, weight {raw:.0f}"

    # Waking up

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            return _node_matters(event.old if isinstance(event.old, Node) else None, event.new, pod)
        if event.resource != "pod":
            return False
        old = event.old if isinstance(event.old, Pod) else None
        new = event.new if isinstance(event.new, Pod) else None
        if new is not None and new.key == pod.key:
            return True
        if any(each is not None and each.node is None and each.nominated is None for each in (old, new)):
            return False
        return self._arrival_matters(old, new, pod) or self._departure_matters(old, new, pod)

    def _arrival_matters(self, old: Pod | None, new: Pod | None, pod: Pod) -> bool:
        terms = pod.spec.pod_affinity.required
        wanted = [bool(terms) and each is not None and _could_mean_all(pod, terms, each) for each in (old, new)]
        return wanted[1] and not wanted[0]

    def _departure_matters(self, old: Pod | None, new: Pod | None, pod: Pod) -> bool:
        if old is None:
            return False
        mine, theirs = pod.spec.pod_anti_affinity.required, old.spec.pod_anti_affinity.required
        kept_out = any(_could_mean(pod, term, old) for term in mine)
        if new is not None:
            return kept_out and not all(_could_mean(pod, term, new) for term in mine)
        return kept_out or any(_could_mean(old, term, pod) for term in theirs)


def _notebook(cycle: Cycle) -> _Notebook:
    state, kind = cycle.state, cycle.pod.kind
    terms = kind.spec.pod_affinity.required
    nodes = state.nodes
    return _Notebook(_Board(nodes), _Board(nodes), _Board(nodes), bool(terms) and _about_all(state, kind, terms, kind))


def _weighted(for_it: Sequence[PodTerm], against: Sequence[PodTerm]) -> Iterator[tuple[PodTerm, int]]:
    for term in for_it:
        yield term, term.weight
    for term in against:
        yield term, -term.weight


def _spoken_of(state: ClusterState, owner: PodKind, term: PodTerm) -> Iterator[PodKind]:
    """Kinds that run somewhere and that the owner's term is about."""
    usage = state.usage
    some = None if not term.namespace_selector.nothing else _namespaces(owner.namespace, term)
    for kind in usage.kinds.matching(term.selector, some):
        if usage.placed.get(kind) and (some is not None or _about(state, owner, term, kind)):
            yield kind


def _with_rules_about(state: ClusterState, kind: PodKind) -> Iterator[PodKind]:
    """Kinds that run somewhere and have terms that may be about this one."""
    usage = state.usage
    for other in usage.kinds.with_rules_about(kind.labels):
        if usage.placed.get(other):
            yield other


def _namespaces(own: str, term: PodTerm) -> frozenset[str]:
    """A term that names no namespaces in any way means its owner's."""
    return frozenset((own,)) if not term.namespaces and term.namespace_selector.nothing else term.namespaces


def _about(state: ClusterState, owner: PodKind, term: PodTerm, other: PodKind) -> bool:
    if other.namespace not in _namespaces(owner.namespace, term):
        labels = state.namespaces.get(other.namespace, {})
        if not term.namespace_selector.matches(labels):
            return False
    return term.selector.matches(state.usage.kinds.labels(other))


def _about_all(state: ClusterState, owner: PodKind, terms: Sequence[PodTerm], other: PodKind) -> bool:
    return all(_about(state, owner, term, other) for term in terms)


def _could_mean(owner: Pod, term: PodTerm, other: Pod) -> bool:
    """`_about` without knowing the namespaces' labels: a selector on them may match."""
    if other.namespace not in _namespaces(owner.namespace, term) and term.namespace_selector.nothing:
        return False
    return term.selector.matches(dict(other.kind.labels))


def _could_mean_all(owner: Pod, terms: Sequence[PodTerm], other: Pod) -> bool:
    return all(_could_mean(owner, term, other) for term in terms)


def _node_matters(old: Node | None, new: Node, pod: Pod) -> bool:
    spec = pod.spec
    for key in (term.topology_key for term in spec.pod_affinity.required):
        if key in new.labels and (old is None or old.labels.get(key) != new.labels[key]):
            return True
    if old is None:
        # A node of a new domain has none of the pods to stay away from.
        return not spec.pod_affinity.required
    if spec.pod_anti_affinity.required:
        keys = [term.topology_key for term in spec.pod_anti_affinity.required]
        return any(key in old.labels and old.labels[key] != new.labels.get(key) for key in keys)
    return not spec.pod_affinity.required and dict(old.labels) != dict(new.labels)
