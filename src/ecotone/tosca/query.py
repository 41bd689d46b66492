"""Questions to an application graph.

The communication-aware scheduler's prototype kept the graph in a database server and asked it once per pod. An
application has tens to thousands of services: the whole graph fits in memory and is read in milliseconds from the
template or from the JSON that `tosca graph` writes, so a library call answers what a server did, with nothing to
deploy, secure or lose.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import networkx as nx

from ecotone.manifests.spelling import did_you_mean
from ecotone.model.errors import InputError
from ecotone.tosca.application import Channel
from ecotone.tosca.graph import ApplicationGraph
from ecotone.tosca.ordering import order


@dataclass(frozen=True, slots=True)
class Chain:
    """A way of calls from an entry point to a leaf."""

    services: tuple[str, ...]
    priority: int


class GraphStore:
    """Holds one application graph and answers questions about it."""

    def __init__(self, graph: ApplicationGraph) -> None:
        self.graph = graph
        self._calls = nx.DiGraph()
        self._calls.add_nodes_from(service.name for service in graph.services)
        for source, peers in graph.affinity().items():
            for target, priority in peers.items():
                self._calls.add_edge(source, target, priority=priority)

    def dependents(self, name: str, *, direct: bool = False) -> list[str]:
        """Who depends on a service, directly or through others; in the order of the template."""
        self._check(name)
        found = set(self._calls.predecessors(name)) if direct else nx.ancestors(self._calls, name)
        return self._ordered(found - {name})

    def dependencies(self, name: str, *, direct: bool = False) -> list[str]:
        """What a service depends on."""
        self._check(name)
        found = set(self._calls.successors(name)) if direct else nx.descendants(self._calls, name)
        return self._ordered(found - {name})

    def critical(self, limit: int) -> list[Channel]:
        """The channels of highest priority; equal ones by their deadline, then by name."""
        endless = float("inf")

        def key(channel: Channel) -> tuple[float, float, str, str]:
            deadline = channel.deadline_ms if channel.deadline_ms is not None else endless
            return (-channel.priority, deadline, channel.source, channel.target)

        return heapq.nsmallest(limit, self.graph.channels, key=key)

    def entries(self) -> list[str]:
        """Where requests enter: services nobody calls (circles broken as for the index)."""
        acyclic = self._acyclic()
        return [name for name in acyclic.nodes if acyclic.in_degree(name) == 0]

    def chains(self, limit: int) -> list[Chain]:
        """The chains from entry to leaf with the highest summed priority, circles broken as for the index.

        Their number can grow exponentially, so only the best `limit` per service are carried along; that is exact.
        """
        acyclic = self._acyclic()
        best: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for name in reversed(list(nx.lexicographical_topological_sort(acyclic))):
            tails = [
                (acyclic.edges[name, target]["priority"] + priority, (name, *rest))
                for target in acyclic.successors(name)
                for priority, rest in best[target]
            ]
            best[name] = heapq.nsmallest(limit, tails or [(0, (name,))], key=lambda tail: (-tail[0], tail[1]))
        whole = [tail for name in acyclic.nodes if acyclic.in_degree(name) == 0 for tail in best[name]]
        ranked = heapq.nsmallest(limit, whole, key=lambda tail: (-tail[0], tail[1]))
        return [Chain(services, priority) for priority, services in ranked]

    def _acyclic(self) -> nx.DiGraph:
        pairs = {(s, t): data["priority"] for s, t, data in self._calls.edges(data=True)}
        broken = order(list(self._calls.nodes), pairs).broken
        acyclic = self._calls.copy()
        acyclic.remove_edges_from(broken)
        acyclic.remove_edges_from([(name, name) for name in self._calls.nodes if self._calls.has_edge(name, name)])
        return acyclic

    def _ordered(self, names: set[str]) -> list[str]:
        return [service.name for service in self.graph.services if service.name in names]

    def _check(self, name: str) -> None:
        if name not in self._calls:
            raise InputError(f"unknown service `{name}`", hint=did_you_mean(name, self._calls.nodes))
