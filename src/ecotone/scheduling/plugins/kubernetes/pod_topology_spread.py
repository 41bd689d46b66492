"""PodTopologySpread: pods that match a selector are to be spread evenly over the domains of a node label.

Hard constraints filter: pods in the domain + this one - fewest in any domain must not exceed `maxSkew`. Soft ones score:
pods in the domain times log(number of domains + 2), plus `maxSkew` - 1, summed over the constraints, fewer is better. A pod
without constraints gets the default ones, if a Service or its own ReplicaSet or StatefulSet says who belongs to it.
Pods on their way out count neither way. `defaultingType: System` takes Kubernetes' default constraints, `List` those given
as `defaultConstraints`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ecotone.model.arrays import Floats, Ints, Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.errors import InputError
from ecotone.model.objects import Node, Pod, PodKind
from ecotone.model.selectors import NOTHING, LabelSelector, Requirement, SpreadConstraint
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, Scores, pick
from ecotone.scheduling.plugins.kubernetes.node_affinity import required_rows
from ecotone.scheduling.plugins.kubernetes.node_resources_fit import half_up
from ecotone.scheduling.plugins.kubernetes.taint_toleration import tolerated_rows

SKEWED = "node(s) didn't match pod topology spread constraints"
UNLABELLED = SKEWED + " (missing required label)"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
TEMPLATE_HASH = "pod-template-hash"

Constraints = tuple[SpreadConstraint, ...]
SYSTEM_DEFAULTS = (
    SpreadConstraint(3, HOSTNAME, SOFT, NOTHING),
    SpreadConstraint(5, ZONE, SOFT, NOTHING),
)


class _Spread(msgspec.Struct):
    """One constraint over the cluster: how many matching pods each domain has.

    `codes` gives each row's domain; the last place of `counts` stands for rows without the label and stays 0.
    """

    constraint: SpreadConstraint
    codes: Rows
    counted: Mask | None
    counts: Ints
    per_row: Ints
    matches_itself: bool
    weight: float = 0.0
    weighed: Rows | None = None
    _present: Mask | None = None
    _fewest: int | None = None
    _points: Floats | None = None

    def bump(self, row: int, by: int) -> None:
        self.per_row[row] += by
        domain = self.codes.item(row)
        if self.counted is None or self.counted[row]:
            self.counts[domain] += by
            self._fewest = None
        if self._points is not None and domain < len(self.counts) - 1:
            place, counts = (row, self.per_row) if self.by_host else (domain, self.counts)
            self._points[place] = counts.item(place) * self.weight + (self.constraint.max_skew - 1)

    @property
    def by_host(self) -> bool:
        return self.constraint.topology_key == HOSTNAME

    def weigh(self, weight: float, candidates: Rows | None) -> None:
        """What a pod more in a domain counts among these candidates."""
        self.weight, self.weighed, self._points = weight, candidates, None

    def points(self, rows: Rows | None) -> Floats:
        """Of each of these rows (None: of all), to be read only: one placement changes a single figure of what is kept."""
        if self._points is None:
            counts = self.per_row if self.by_host else self.counts
            self._points = np.multiply(counts, self.weight, dtype=np.float64)
            self._points += float(self.constraint.max_skew - 1)
            if self.by_host:
                self._points[self.codes == len(self.counts) - 1] = 0.0
            else:
                self._points[-1] = 0.0
        if self.by_host:
            return self._points if rows is None else self._points.take(rows)
        return self._points.take(self.codes if rows is None else self.codes.take(rows))

    @property
    def present(self) -> Mask:
        """The domains that have nodes which count; only hard constraints ask."""
        if self._present is None:
            present = np.zeros(len(self.counts), dtype=np.bool_)
            present[self.codes if self.counted is None else self.codes[self.counted]] = True
            self._present = present[:-1]
        return self._present

    @property
    def fewest(self) -> int:
        """In any domain; 0 while there are fewer domains than `minDomains` asks for."""
        if self._fewest is None:
            present = self.present
            enough = int(np.count_nonzero(present)) >= max(1, self.constraint.min_domains)
            self._fewest = int(self.counts[:-1][present].min()) if enough else 0
        return self._fewest

    def allowed(self) -> Mask:
        """Per domain: may one more go there? Not where the label is missing."""
        verdict: Mask = self.counts + int(self.matches_itself) - self.fewest <= self.constraint.max_skew
        verdict[-1] = False
        return verdict


class _Notebook(msgspec.Struct):
    hard: list[_Spread]
    followed: bool
    soft: list[_Spread] | None = None
    scored: Mask | None = None
    counting: tuple[PodKind, list[_Spread]] | None = None
    """Which of them count pods of the kind that was followed last; replicas are all of one."""


class PodTopologySpread:
    name = "PodTopologySpread"

    def __init__(
        self,
        *,
        defaultConstraints: Sequence[Mapping[str, Any]] = (),
        defaultingType: str = "System",
    ) -> None:
        if defaultingType not in ("System", "List"):
            raise InputError(f"defaultingType is System or List, not {defaultingType!r}")
        self.system = defaultingType == "System"
        if self.system and defaultConstraints:
            raise InputError("defaultConstraints need defaultingType List")
        self.defaults = SYSTEM_DEFAULTS if self.system else tuple(_read_constraint(each) for each in defaultConstraints)

    def placement_changes(self, cycle: Cycle) -> Change:
        asked = any(self._constraints(cycle.state, cycle.pod, action) for action in (HARD, SOFT))
        return "everything" if asked else "nothing"

    # Filtering

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        constraints = self._constraints(cycle.state, cycle.pod, HARD)
        spreads = _spreads(cycle, constraints, all_labels=True) if constraints else []
        cycle.scratch[self.name] = _Notebook(spreads, followed=True)
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self._follow(cycle, pod, row, +1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self._follow(cycle, pod, row, -1)

    def _follow(self, cycle: Cycle, pod: Pod, row: int, by: int) -> None:
        if pod.namespace != cycle.pod.namespace or pod.deleting:
            return
        notebook: _Notebook = cycle.scratch[self.name]
        if notebook.counting is None or notebook.counting[0] is not pod.kind:
            labels = cycle.state.usage.kinds.labels(pod.kind)
            every = (*notebook.hard, *(notebook.soft or ()))
            counting = [each for each in every if _counts(each.constraint.selector)]
            counting = [each for each in counting if each.constraint.selector.matches(labels)]
            notebook.counting = (pod.kind, counting)
        for spread in notebook.counting[1]:
            spread.bump(row, by)

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        mask: Mask | None = None
        for spread in cycle.scratch[self.name].hard:
            allowed = spread.allowed()[pick(spread.codes, rows, cycle)]
            mask = allowed if mask is None else mask & allowed
        return mask

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        left = np.ones(len(rows), dtype=np.bool_)
        found = []
        for spread in cycle.scratch[self.name].hard:
            codes = pick(spread.codes, rows, cycle)
            unlabelled = codes == len(spread.counts) - 1
            skewed = ~spread.allowed()[codes] & ~unlabelled
            found += [Rejection(unlabelled & left, UNLABELLED, final=True), Rejection(skewed & left, SKEWED)]
            left &= ~(unlabelled | skewed)
        return found

    # Scoring

    def prescore(self, cycle: Cycle) -> None:
        notebook = cycle.scratch.get(self.name)
        if notebook is None or not notebook.followed:
            # Not among the pre-filters, so nobody tells of placements: count anew every time.
            notebook = cycle.scratch[self.name] = _Notebook([], followed=False)
        if notebook.soft is None:
            constraints = self._constraints(cycle.state, cycle.pod, SOFT)
            labelled = bool(cycle.pod.spec.spread) or not self.system
            notebook.soft = _spreads(cycle, constraints, all_labels=labelled) if constraints else []
            notebook.counting = None
            notebook.scored = _labelled_rows(cycle.state.nodes, _keys(constraints)) if labelled else None
        for spread in notebook.soft:
            if spread.weighed is None or spread.weighed is not cycle.feasible:
                spread.weigh(log(_size(cycle, spread, notebook.scored) + 2), cycle.feasible)

    def score(self, cycle: Cycle, rows: Rows) -> Ints | None:
        notebook = cycle.scratch[self.name]
        if not notebook.soft:
            return None
        some = None if rows is cycle.state.nodes.all_rows else rows
        first, *further = notebook.soft
        total = first.points(some)
        for spread in further:
            total = total + spread.points(some)
        scores = half_up(total)
        if notebook.scored is not None:
            scores[~pick(notebook.scored, rows, cycle)] = 0
        return scores

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        """How many pods of the constraints' selectors are there already, which is what the points count."""
        return ", ".join(_crowd(spread, row) for spread in cycle.scratch[self.name].soft)

    def normalize(self, cycle: Cycle, raw: Scores) -> Ints:
        """100 x (most + fewest - own) / most; nodes without the labels are left at 0."""
        rows = cycle.state.nodes.all_rows if cycle.feasible is None else cycle.feasible
        return self.normalize_by(cycle, raw, rows, self.yardstick(cycle, raw))

    def yardstick(self, cycle: Cycle, raw: Scores) -> tuple[int, int]:
        """The most and the fewest points of a node that is scored."""
        scored = cycle.scratch[self.name].scored
        values = np.asarray(raw, dtype=np.int64)
        if scored is not None and cycle.feasible is not None:
            values = values[pick(scored, cycle.feasible, cycle)]
        return int(values.max(initial=0)), int(values.min()) if len(values) else 0

    def normalize_by(self, cycle: Cycle, raw: Scores, rows: Rows, yardstick: tuple[int, int]) -> Ints:
        scored = cycle.scratch[self.name].scored
        most, fewest = yardstick
        values = np.asarray(raw, dtype=np.int64)
        turned: Ints = (
            np.full(len(values), 100, dtype=np.int64) if most == 0 else 100 * (most + fewest - values) // most
        )
        if scored is not None and cycle.feasible is not None:
            turned[~pick(scored, rows, cycle)] = 0
        return turned

    def keeps_yardstick_nearby(self, yardstick: tuple[int, int], before: Scores, after: Scores) -> bool:
        """A placement only adds points: the most stays unless it is exceeded, the fewest unless they were among those."""
        most, fewest = yardstick
        return bool(np.maximum.reduce(after) <= most and np.minimum.reduce(before) > fewest)

    def changed_rows(self, cycle: Cycle, row: int) -> Rows | None:
        """The nodes of the same domains; for host names the node itself."""
        notebook: _Notebook = cycle.scratch[self.name]
        if not notebook.followed:
            return None
        shared: list[Rows] = [
            _members(cycle.state.nodes, spread.constraint.topology_key)[spread.codes[row]]
            for spread in notebook.soft or ()
            if not spread.by_host
        ]
        if len(shared) == 1:
            return shared[0]  # which holds the row, too
        return np.concatenate([cycle.state.nodes.all_rows[row : row + 1], *shared])

    # Which constraints

    def _constraints(self, state: ClusterState, pod: Pod, action: str) -> Constraints:
        own = pod.spec.spread
        wanted = [each for each in own or self.defaults if each.when_unsatisfiable == action]
        if not wanted:
            return ()
        if own:
            return tuple(_with_label_keys(each, pod) for each in wanted)
        selector = self._default_selector(state, pod)
        return tuple(replace(each, selector=selector) for each in wanted) if selector.requirements else ()

    def _default_selector(self, state: ClusterState, pod: Pod) -> LabelSelector:
        """Who belongs to the pod: what its Services and its own controller select, all of it."""
        requirements: dict[Requirement, None] = {}
        labels = dict(pod.kind.labels)
        for selector in state.services_selecting(pod):
            if selector.matches(labels):
                requirements.update(dict.fromkeys(selector.requirements))
        workload = state.workloads.get(pod.kind.workload)
        if workload is not None and workload.selector is not None:
            if pod.kind.workload.kind in ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"):
                requirements.update(dict.fromkeys(workload.selector.requirements))
            template = labels.get(TEMPLATE_HASH)
            if pod.kind.workload.kind == "Deployment" and template is not None:
                # A Deployment's pods belong to one of its ReplicaSets, told apart by this label.
                requirements[Requirement(TEMPLATE_HASH, "In", (template,))] = None
        return LabelSelector(tuple(requirements))

    # Waking up

    def hint(self, event: Event, pod: Pod) -> bool:
        hard = [_with_label_keys(each, pod) for each in pod.spec.spread if each.when_unsatisfiable == HARD]
        if event.resource == "node":
            return _node_matters(event.old, event.new, hard) if hard else True
        if event.resource != "pod":
            return False
        old = event.old if isinstance(event.old, Pod) else None
        new = event.new if isinstance(event.new, Pod) else None
        if any(each is not None and not _involved(each, pod) for each in (old, new)):
            return False
        if new is not None and new.key == pod.key:
            return True
        if not hard:
            return True
        before = [old is not None and _selects(each, old) for each in hard]
        after = [new is not None and _selects(each, new) for each in hard]
        return before != after


def _spreads(cycle: Cycle, constraints: Constraints, *, all_labels: bool) -> list[_Spread]:
    nodes, pod = cycle.state.nodes, cycle.pod
    labels = dict(pod.kind.labels)
    spreads = []
    for constraint in constraints:
        codes, domains = nodes.domains(constraint.topology_key)
        counted = _counted_rows(nodes, pod, constraint, _keys(constraints) if all_labels else ())
        spread = _Spread(
            constraint=constraint,
            codes=codes,
            counted=counted,
            counts=np.zeros(domains + 1, dtype=np.int64),
            per_row=np.zeros(len(nodes), dtype=np.int64),
            matches_itself=constraint.selector.matches(labels),
        )
        _count_pods(cycle.state, pod.namespace, spread)
        spreads.append(spread)
    return spreads


def _count_pods(state: ClusterState, namespace: str, spread: _Spread) -> None:
    selector = spread.constraint.selector
    if not _counts(selector):
        return
    for kind in state.usage.kinds.matching(selector, frozenset((namespace,))):
        rows, amounts = state.usage.where(kind)
        if len(rows):
            spread.per_row[rows] += amounts
            counted = amounts if spread.counted is None else amounts * spread.counted[rows]
            np.add.at(spread.counts, spread.codes[rows], counted)
    spread.counts[-1] = 0


def _counts(selector: LabelSelector) -> bool:
    """An empty selector counts nobody here, though it matches the pod itself."""
    return bool(selector.requirements) and not selector.nothing


def _members(nodes: NodeTable, key: str) -> list[Rows]:
    """The rows of every domain, and in the end those without the label."""

    def compute(table: NodeTable) -> list[Rows]:
        codes, domains = table.domains(key)
        order: Rows = np.argsort(codes, kind="stable")
        return [*np.split(order, np.searchsorted(codes[order], np.arange(1, domains + 1)))]

    return nodes.derived(("members", key), compute)


def _keys(constraints: Constraints) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.topology_key for each in constraints))


def _labelled_rows(nodes: NodeTable, keys: tuple[str, ...]) -> Mask | None:
    """Rows with all of these labels; None: every row has them."""

    def compute(table: NodeTable) -> Mask | None:
        mask = np.ones(len(table), dtype=np.bool_)
        for key in keys:
            mask = mask & (table.labels(key)[0] >= 0)
        return None if mask.all() else mask

    return nodes.derived(("labelled", keys), compute)


def _counted_rows(nodes: NodeTable, pod: Pod, constraint: SpreadConstraint, keys: tuple[str, ...]) -> Mask | None:
    """Rows whose pods and domains count for the constraint; None: all."""
    parts = [_labelled_rows(nodes, keys)]
    if constraint.node_affinity_policy == "Honor":
        parts.append(required_rows(nodes, pod))
    if constraint.node_taints_policy == "Honor":
        parts.append(tolerated_rows(nodes, pod.spec.tolerations))
    masks = [part for part in parts if part is not None]
    return np.logical_and.reduce(masks) if masks else None


def _size(cycle: Cycle, spread: _Spread, scored: Mask | None) -> int:
    """How many domains the candidates for scoring are in; for host names, how many candidates there are."""
    rows = cycle.state.nodes.all_rows if cycle.feasible is None else cycle.feasible
    if scored is not None:
        rows = rows[scored[rows]]
    if spread.constraint.topology_key == HOSTNAME:
        return len(rows)
    seen = np.zeros(len(spread.counts), dtype=np.bool_)
    seen[pick(spread.codes, rows, cycle)] = True
    return int(np.count_nonzero(seen))


def _crowd(spread: _Spread, row: int) -> str:
    key = spread.constraint.topology_key
    if key == HOSTNAME:
        return f"{spread.per_row[row]} alike on the node"
    domain = spread.codes[row]
    if domain == len(spread.counts) - 1:
        return f"no {key.rpartition('/')[2]}"
    return f"{spread.counts[domain]} alike in its {key.rpartition('/')[2]}"


def _with_label_keys(constraint: SpreadConstraint, pod: Pod) -> SpreadConstraint:
    """`matchLabelKeys`: pods must also agree with this one on these labels."""
    pairs = ((key, pod.kind.label(key)) for key in constraint.match_label_keys)
    added = tuple(Requirement(key, "In", (value,)) for key, value in pairs if value is not None)
    if not added or constraint.selector.nothing:
        return constraint
    return replace(constraint, selector=LabelSelector((*added, *constraint.selector.requirements)))


def _selects(constraint: SpreadConstraint, pod: Pod) -> bool:
    return constraint.selector.matches(dict(pod.kind.labels))


def _involved(other: Pod, pod: Pod) -> bool:
    if other.key == pod.key:
        return True
    return (other.node is not None or other.nominated is not None) and other.namespace == pod.namespace


def _node_matters(old: object | None, new: object | None, hard: Sequence[SpreadConstraint]) -> bool:
    keys = [each.topology_key for each in hard]
    before = isinstance(old, Node) and all(key in old.labels for key in keys)
    after = isinstance(new, Node) and all(key in new.labels for key in keys)
    if before != after:
        return True
    if not (isinstance(old, Node) and isinstance(new, Node)):
        return False
    return after and (any(old.labels[key] != new.labels[key] for key in keys) or old.taints != new.taints)


def _read_constraint(tree: Mapping[str, Any]) -> SpreadConstraint:
    try:
        constraint = SpreadConstraint(
            int(tree["maxSkew"]), str(tree["topologyKey"]), str(tree["whenUnsatisfiable"]), NOTHING
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"defaultConstraints: {error}", hint="each has maxSkew, topologyKey and whenUnsatisfiable"
        ) from error
    if constraint.when_unsatisfiable not in (HARD, SOFT) or constraint.max_skew < 1:
        raise InputError(f"defaultConstraints: maxSkew is at least 1, whenUnsatisfiable {HARD} or {SOFT}")
    return constraint
