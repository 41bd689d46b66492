"""A place for every one of several pods that bounds on distances bind to each other.

Filters look at one pod after the other, so where the first of them goes decides where the last may go, and whether it may
go anywhere. Here all of them are thought away first. What the filters then leave to each is its domain; a pod that takes
a place cuts the domains of those that must be near it, the pod with the fewest places left comes next, and a domain that
runs empty sends the search back. Of the answers found within `STEPS` places tried, the one that takes fewest pods from
where they are is kept, and the filters have the last word on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.costs.deadlines import name_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import KEEPS_NEAR, Cycle

STEPS = 1000  # places tried: 0.03 s for 10 pods on 37 nodes, half a second for 60 on 2,000, if there is no answer
MOST_PODS = 64

Ties = Mapping[tuple[Name, Name], float]
"""How far apart the pods of two workloads may be, in ms; in both orders."""


def ties_between(framework: Framework, state: ClusterState, kinds: Iterable[PodKind]) -> Ties:
    """Of these kinds, all of which have pods with a node."""
    named = {name_of(kind): kind for kind in kinds}
    found: dict[tuple[Name, Name], float] = {}
    for plugin in framework.filters:
        if not KEEPS_NEAR.has(plugin):
            continue
        for own, kind in named.items():
            for bound in plugin.keeps_near(state, kind):
                if bound.peer in named:
                    for pair in ((own, bound.peer), (bound.peer, own)):
                        found[pair] = min(found.get(pair, np.inf), bound.most)
    return found


def ties_with(framework: Framework, state: ClusterState, pod: Pod, kinds: Iterable[PodKind]) -> Ties:
    """The same with a pod that waits: bounds are told to pods that have a node, so it is given one meanwhile."""
    there = state.assume(pod, state.nodes.names[0])
    try:
        return ties_between(framework, state, kinds)
    finally:
        state.drop_pod(there.key)
        state.put_pod(pod)


def tied_to(ties: Ties, start: Name) -> set[Name]:
    """The workload and all that bounds join it to, directly or through others."""
    found, waiting = {start}, [start]
    while waiting:
        own = waiting.pop()
        reached = {other for one, other in ties if one == own} - found
        found |= reached
        waiting += sorted(reached)
    return found


def joint_places(
    framework: Framework, state: ClusterState, pods: Sequence[Pod], ties: Ties, *, closed: int | None = None
) -> dict[str, str] | None:
    """A node for each of these pods, waiting or placed; None if none is found. The state is as it was afterwards.

    To the row that is `closed` only those may come that wait.
    """
    if len(pods) > MOST_PODS:
        return None
    for pod in pods:
        state.drop_pod(pod.key)
    try:
        variables = _variables(framework, state, pods)
        if variables is None:
            return None
        if closed is not None:
            for variable in variables:
                variable.domain[closed] &= variable.home in (closed, -1)
        free = (state.nodes.allocatable - state.usage.requested).astype(np.float64)
        room = (state.nodes.max_pods - state.usage.pod_count).astype(np.float64)
        rows = _Search(state, variables, ties, np.hstack([free, room[:, np.newaxis]])).best()
        if rows is None:
            return None
        found = {pod.key: state.nodes.names[row] for pod, row in zip(pods, rows, strict=True)}
        return found if _filters_agree(framework, state, pods, found) else None
    finally:
        for pod in pods:
            state.put_pod(pod)


def _filters_agree(framework: Framework, state: ClusterState, pods: Sequence[Pod], found: Mapping[str, str]) -> bool:
    placed = []
    try:
        for pod in pods:
            evaluation = Evaluation(framework, Cycle(state, _unplaced(pod)))
            if not evaluation.fits(state.nodes.index[found[pod.key]]):
                return False
            placed.append(state.assume(_unplaced(pod), found[pod.key]))
        return True
    finally:
        for pod in placed:
            state.drop_pod(pod.key)


def _unplaced(pod: Pod) -> Pod:
    return replace(pod, node=None, bound_at=None)


class _Variable(msgspec.Struct):
    """A pod: where filters let it go by itself, the scheduler's opinion of these nodes, and where it is (-1: nowhere)."""

    name: Name
    domain: Mask
    likes: Floats
    home: int
    demand: Floats


def _variables(framework: Framework, state: ClusterState, pods: Sequence[Pod]) -> list[_Variable] | None:
    nodes = state.nodes
    asked: dict[PodKind, tuple[Mask, Floats]] = {}
    found = []
    for pod in pods:
        if pod.kind not in asked:
            evaluation = Evaluation(framework, Cycle(state, _unplaced(pod)))
            if evaluation.refusal is not None or not len(evaluation.feasible):
                return None
            likes = np.zeros(len(nodes))
            likes[evaluation.feasible] = evaluation.total()
            asked[pod.kind] = evaluation.ok, likes
        domain, likes = asked[pod.kind]
        demand = np.array([*(pod.spec.request(name) for name in nodes.resources), 1], dtype=np.float64)
        home = nodes.index.get(pod.node or "", -1)
        found.append(_Variable(name_of(pod.kind), domain.copy(), likes, home, demand))
    return found


class _Search:
    def __init__(self, state: ClusterState, variables: Sequence[_Variable], ties: Ties, free: Floats) -> None:
        self._state = state
        self._variables = variables
        self._ties = ties
        self._free = free
        self._steps = 0
        self._chosen = [-1] * len(variables)
        self._best: tuple[int, list[int]] | None = None

    def best(self) -> list[int] | None:
        """A row for each variable."""
        self._go_on([each.domain for each in self._variables], [np.zeros(len(self._free))] * len(self._variables))
        return None if self._best is None else self._best[1]

    def _go_on(self, domains: list[Mask], ways: list[Floats]) -> None:
        """`ways`: round trips from every node to those that the pod must be near and that have their place."""
        left = [number for number, row in enumerate(self._chosen) if row < 0]
        moved = self._moved(domains)
        if self._best is not None and moved >= self._best[0]:
            return
        if not left:
            self._best = moved, list(self._chosen)
            return
        fitting = {number: domains[number] & self._fits(number) for number in left}
        number = min(left, key=lambda each: (int(np.count_nonzero(fitting[each])), each))
        variable = self._variables[number]
        for row in self._ordered(variable, fitting[number], ways[number]):
            self._steps += 1
            if self._steps > STEPS:
                return
            narrowed = self._narrowed(domains, ways, number, row)
            if narrowed is None:
                continue
            self._chosen[number] = row
            self._free[row] -= variable.demand
            self._go_on(*narrowed)
            self._free[row] += variable.demand
            self._chosen[number] = -1

    def _moved(self, domains: list[Mask]) -> int:
        """How many pods have left their place, or will have to."""
        found = 0
        for each, domain, row in zip(self._variables, domains, self._chosen, strict=True):
            if each.home >= 0:
                found += row != each.home if row >= 0 else not domain[each.home]
        return found

    def _fits(self, number: int) -> Mask:
        demand = self._variables[number].demand
        # A node that lacks what the pod does not ask for takes it all the same.
        enough = np.logical_or(np.less_equal(demand, self._free), demand <= 0.0)
        found: Mask = np.logical_and.reduce(enough, axis=1)
        return found

    def _ordered(self, variable: _Variable, domain: Mask, ways: Floats) -> list[int]:
        """Its own place first, then the nodes nearest to those it must be near, then as the scheduler likes them."""
        rows: Ints = np.flatnonzero(domain)
        order = np.lexsort((self._state.nodes.rank[rows], -variable.likes[rows], ways[rows], rows != variable.home))
        found: list[int] = rows[order].tolist()
        return found

    def _narrowed(
        self, domains: list[Mask], ways: list[Floats], number: int, row: int
    ) -> tuple[list[Mask], list[Floats]] | None:
        """What is left to the others with this pod there; None if nothing is left to one of them."""
        own = self._variables[number].name
        toward = self._state.network.toward(row)
        domains, ways = list(domains), list(ways)
        for other, each in enumerate(self._variables):
            most = self._ties.get((own, each.name))
            if most is None or other == number:
                continue
            if self._chosen[other] >= 0:
                if toward[self._chosen[other]] > most:
                    return None
                continue
            domains[other] = domains[other] & (toward <= most)
            ways[other] = ways[other] + toward
            if not domains[other].any():
                return None
        return domains, ways
