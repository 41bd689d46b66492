"""Placements worth simulating, from the truth about a scenario in which nothing changes.

The scenario becomes an `Application` of the policy's own model: calls per second from call trees and arrivals, CPU from the
demands themselves. Each search starts elsewhere; what they end in, ranked by the predicted response time, are the
candidates. From the best of them the search is kicked on: single moves at random that cost nothing or little, and down
again, as a full cluster has many places from which no single move leads on. Closed loops are taken at the rate they would
reach if answers took no time.

Only placements that policies may choose as well: taints, pins, room, the bounds on round trips that the application
states, and the shares of the edge that its services were promised (`promises`). Where an autoscaler sets the replicas, they
are as many as it comes to under this load (`scaled`). Calls that a request makes side by side to one service take the time of
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from random import Random

import numpy as np

from ecotone.experiments.campaign.best_static.promises import Promises
from ecotone.model.arrays import Floats, Ints
from ecotone.model.objects import PodKind, WorkloadKey
from ecotone.scheduling.costs.deadlines import QUEUE
from ecotone.scheduling.response.call_graph import SAME_NODE, SAME_ZONE, UNIFORM, CallGraph, Calls, callers_first
from ecotone.scheduling.response.constraints import Limits, Near
from ecotone.scheduling.response.passes import Passes
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Search
from ecotone.sim.call_tree import Planner, Step
from ecotone.sim.cluster import ZONE
from ecotone.sim.kernel import Kernel
from ecotone.sim.network import Network
from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.schema import Load, NodeSpec, Service

_RANDOM_STARTS = 12
_KICKS, _FEWEST_KICKS, _MOST_KICKS = 20_000, 12, 300  # by workloads times nodes
_SLACKS = (0.0, 0.05, 0.2)  # of the best cost, in turn: how much worse a kick may make it
_NOTHING = 1e-6
_ASYNCHRONOUS = 0.0  # nobody waits for the answer
_BALANCES = {"uniform": UNIFORM, "same-zone": SAME_ZONE, "same-node": SAME_NODE}


def scaled(scenario: Scenario, loads: tuple[int, ...]) -> Scenario:
    """The scenario with the replicas that its autoscalers come to under this load."""
    settings = scenario.application.autoscale
    if not settings:
        return scenario
    work = _Work(scenario, [scenario.load[number] for number in loads])
    services = []
    for number, service in enumerate(scenario.application.services):
        given = settings.get(service.name)
        if given is None:
            services.append(service)
            continue
        if given.requests is not None:
            wanted = float(work.visits[number]) / given.requests
        else:
            wanted = float(work.use[number]) / ((service.cpu_request or 0) * (given.cpu or 0.0) or np.inf)
        wanted = ceil(wanted - 1e-9)
        services.append(replace(service, replicas=min(max(wanted, given.least), given.most)))
    return replace(scenario, application=replace(scenario.application, services=tuple(services)))


def candidates(scenario: Scenario, loads: tuple[int, ...]) -> list[dict[str, dict[str, int]]]:
    """Service -> node -> pods, the best prediction first; every node is named, those nearest to a service's peers first."""
    truth = _Truth(scenario, [scenario.load[number] for number in loads])
    application = truth.application()
    prediction = Prediction(application)
    limits = truth.limits(application)
    search = Search(application, prediction, limits)
    passes = Passes(
        application,
        demand=limits.demand,
        room=limits.free,
        allowed=limits.allowed,
        movable=np.flatnonzero(limits.movable),
    )
    starts = truth.starts(application)
    tables = _found(search, starts)
    promises = Promises(scenario)
    if promises.any:
        tables += _found(Search(application, prediction, replace(limits, price=promises.price())), starts)
    fits = np.isfinite(search.cost(np.array(tables, dtype=np.float64))).tolist()
    tables = promises.kept([table for table, fit in zip(tables, fits, strict=True) if fit])
    costs = search.cost(np.array(tables, dtype=np.float64)) if tables else np.zeros(0)
    names = [node.name for node in scenario.nodes]
    services = [service.name for service in scenario.application.services]
    ranked = [tables[number] for number in np.argsort(costs, kind="stable").tolist()]
    return [
        {
            service: {names[n]: int(row[n]) for n in np.argsort(pull, kind="stable").tolist()}
            for service, row, pull in zip(services, table, passes.pull(table.astype(np.float64)), strict=True)
        }
        for table in ranked
    ]


def _found(search: Search, starts: list[Floats]) -> list[Ints]:
    """What searches from these starts end in, and what is better than the best of them."""
    first, *others = starts
    ends = [*search.optima(first), *(search.descend(start) for start in others)]
    tables = list({each.tobytes(): each for each in ends}.values())
    costs = search.cost(np.array(tables, dtype=np.float64))
    return tables + _kicked(search, tables[int(np.argmin(costs))])


def _kicked(search: Search, start: Ints) -> list[Ints]:
    """What is better than this placement, each better than the one before."""
    draws = Random(1)
    here = start
    found: list[Ints] = []
    best = least = float(search.cost(start[np.newaxis].astype(np.float64))[0])
    if not np.isfinite(best):
        return []
    for number in range(min(max(_KICKS // start.size, _FEWEST_KICKS), _MOST_KICKS)):
        slack = _SLACKS[number % len(_SLACKS)] * best + _NOTHING
        kicked = here.astype(np.float64)
        for workload in draws.sample(range(len(start)), len(start)):
            moves = search.single_moves(kicked, workload)
            fine = np.flatnonzero(search.cost(moves) <= best + slack).tolist()
            kicked = moves[draws.choice(fine)]
        end = search.descend(kicked)
        cost = float(search.cost(end[np.newaxis].astype(np.float64))[0])
        if cost <= best + _NOTHING:
            here, best = end, min(best, cost)
        if cost < least - _NOTHING:
            least = cost
            found.append(end)
    return found


class _Truth:
    def __init__(self, scenario: Scenario, loads: list[Load]) -> None:
        self._scenario = scenario
        self._loads = loads
        self._index = {node.name: number for number, node in enumerate(scenario.nodes)}
        self._services = scenario.application.services
        self._rtt = self._round_trips()
        self._down = {change.node for change in scenario.node_changes if change.state in ("down", "cordoned")}

    def application(self) -> CallGraph:
        services, nodes = self._services, self._scenario.nodes
        work = _Work(self._scenario, self._loads)
        pairs = tuple(Calls(a, b, rate) for (a, b), rate in sorted(work.calls.items()) if a != b)
        order, cyclic = callers_first(len(services), pairs)
        zones = sorted({node.labels.get(ZONE, "") for node in nodes} - {""})
        return CallGraph(
            names=tuple(("default", service.name) for service in services),
            kinds=tuple(PodKind("default", WorkloadKey("default", service.name)) for service in services),
            rows=np.arange(len(nodes), dtype=np.intp),
            counts=self._somewhere(),
            calls=pairs,
            users=work.users,
            balance=tuple(_BALANCES[service.balance] for service in services),
            zones=np.array([zones.index(z) if (z := node.labels.get(ZONE, "")) else -1 for node in nodes]),
            rtt=self._rtt,
            use=work.use,
            other=np.zeros(len(nodes)),
            cores=np.array([node.cpu / 1000 for node in nodes]),
            rate=max(float(work.users.sum()), 1e-9),
            order=order,
            cyclic=cyclic,
        )

    def _may(self, service: Service, node: NodeSpec) -> bool:
        """True if Kubernetes would let a pod of the service onto the node: what no policy may do is no bound for any."""
        tolerated = all(
            taint.key in service.tolerates for taint in node.taints if taint.effect in ("NoSchedule", "NoExecute")
        )
        in_place = service.pinned in (None, node.name) and node.name not in self._down
        return in_place and tolerated and self._near_users(service, node)

    def _near_users(self, service: Service, node: NodeSpec) -> bool:
        """False if its users are farther than the service states, and that is not about a queue."""
        if service.max_latency is None or self._queues(service):
            return True
        sites = {self._index[name] for load in self._loads if load.service == service.name for name in load.sources}
        most = 1000.0 * service.max_latency + _NOTHING
        return all(self._rtt[self._index[node.name], site] <= most for site in sites)

    def _round_trips(self) -> Floats:
        spec = self._scenario.network
        network = Network(
            Kernel(),
            nodes=len(self._index),
            default=spec.default,
            links={(self._index[a], self._index[b]): link for (a, b), link in spec.links},
            shortest_path=spec.shortest_path,
            draws=Random(1),
        )
        size = range(len(self._index))
        return np.array([[1000.0 * network.rtt(a, b) for b in size] for a in size])

    def limits(self, application: CallGraph) -> Limits:
        services, nodes = self._services, self._scenario.nodes
        allowed = np.array([[self._may(service, node) for node in nodes] for service in services])
        demand = [[float(each.cpu_request or 0), float(each.memory_request or 0), 1.0] for each in services]
        return Limits(
            allowed=allowed,
            demand=np.array(demand),
            free=np.array([[float(node.cpu), float(node.memory), float(node.pods)] for node in nodes]),
            movable=np.array([service.pinned is None for service in services]),
            price=np.zeros(application.users.shape),
            moving=0.0,
            near=tuple(self._near(application)),
        )

    def _queues(self, service: Service) -> list[int]:
        return [n for n, each in enumerate(self._services) if each.role == QUEUE and each.group == service.group]

    def _near(self, application: CallGraph) -> Iterator[Near]:
        """The bounds of `costs.deadlines` between services: of `max-latency`, and of calls that have a hard deadline."""
        index = {service.name: number for number, service in enumerate(self._services)}
        bounds: list[tuple[int, int, float]] = []
        for number, service in enumerate(self._services):
            bounds += [
                (number, index[call.service], call.deadline)
                for endpoint in service.endpoints.values()
                for stage in endpoint.stages
                for call in stage
                if call.deadline is not None and not call.soft and call.service != service.name
            ]
            if service.max_latency is None or service.role == QUEUE:
                continue
            callers = [call.caller for call in application.calls if call.callee == number]
            bounds += [(number, peer, service.max_latency) for peer in self._queues(service) or callers]
        for one, other, most in bounds:
            yield Near(one, other, application.rtt > 1000.0 * most + _NOTHING)

    def _somewhere(self, draws: Random | None = None) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """Everything where it fits: pinned services at their node, the others on the largest that is up, or at random.

        The largest pods come first. What fits nowhere stands on the largest node all the same; no search keeps it there.
        """
        nodes, services = self._scenario.nodes, self._services
        free = [[float(node.cpu), float(node.memory), float(node.pods)] for node in nodes]
        up = [n for n, node in enumerate(nodes) if node.name not in self._down]
        up.sort(key=lambda n: (-nodes[n].cpu, n))
        found = np.zeros((len(services), len(nodes)), dtype=np.int64)
        wanted = [(number, service) for number, service in enumerate(services) for _ in range(service.replicas)]
        wanted.sort(
            key=lambda each: (each[1].pinned is None, -(each[1].memory_request or 0), -(each[1].cpu_request or 0))
        )
        for number, service in wanted:
            demand = (float(service.cpu_request or 0), float(service.memory_request or 0), 1.0)
            candidates = [n for n in up if self._may(service, nodes[n])] or list(up)
            if service.pinned:
                candidates = [self._index[service.pinned]]
            if draws is not None:
                draws.shuffle(candidates)
            fitting = (n for n in candidates if all(a <= b for a, b in zip(demand, free[n], strict=True)))
            place = next(fitting, candidates[0])
            found[number, place] += 1
            free[place] = [b - a for a, b in zip(demand, free[place], strict=True)]
        return found

    def starts(self, application: CallGraph) -> list[Floats]:
        """Everything as it stands, and random placements."""
        draws = Random(1)
        found = [application.counts.astype(np.float64)]
        return found + [self._somewhere(draws).astype(np.float64) for _ in range(_RANDOM_STARTS)]


class _Work:
    """What the load asks of the services: calls per second by caller and callee, users by service and node, millicores
    (`use`) and requests per second (`visits`) of each service."""

    def __init__(self, scenario: Scenario, loads: list[Load]) -> None:
        services, nodes = scenario.application.services, scenario.nodes
        index = {node.name: number for number, node in enumerate(nodes)}
        self.calls: dict[tuple[int, int], float] = {}
        self.users = np.zeros((len(services), len(nodes)))
        self.use = np.zeros(len(services))
        self.visits = np.zeros(len(services))
        planner = Planner(scenario.application)
        for load in loads:
            root = planner.plan(load.service, load.endpoint).root
            rate = load.poisson or load.users / (load.every or load.think or 1.0)
            for name in load.sources:
                self.users[root.service, index[name]] += rate / len(load.sources)
            self._walk(root, rate)

    def _walk(self, root: Step, rate: float) -> None:
        stack = [(root, rate)]
        while stack:
            here, often = stack.pop()
            self.visits[here.service] += often
            self.use[here.service] += often * here.mean * 1000.0
            for stage in here.stages:
                waited: dict[int, float] = {}  # the longest of the calls that are made side by side to one service
                for branch in stage:
                    along: dict[int, float] = {}
                    for call in branch:
                        each = often * call.probability
                        weight = each * (_ASYNCHRONOUS if call.detached else 1.0)
                        along[call.service] = along.get(call.service, 0.0) + weight
                        stack.append((call, each))
                    for service, weight in along.items():
                        waited[service] = max(waited.get(service, 0.0), weight)
                for service, weight in waited.items():
                    pair = (here.service, service)
                    self.calls[pair] = self.calls.get(pair, 0.0) + weight
