"""Placements worth simulating, from the truth about a scenario in which nothing changes.

The scenario becomes an `Application` of the policy's own model: calls per second from call trees and arrivals, CPU from the
demands themselves. Each search starts elsewhere; what they end in, ranked by the predicted response time, are the
candidates. Closed loops are taken at the rate they would reach if answers took no time.
"""

from __future__ import annotations

from random import Random

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.model.objects import PodKind, WorkloadKey
from ecotone.scheduling.response.call_graph import SAME_NODE, SAME_ZONE, UNIFORM, CallGraph, Calls, callers_first
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Limits, Search
from ecotone.sim.call_tree import CallTree, Planner, Step
from ecotone.sim.cluster import ZONE
from ecotone.sim.kernel import Kernel
from ecotone.sim.network import Network
from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.schema import Load, NodeSpec, Service

_RANDOM_STARTS = 12
_ASYNCHRONOUS = 0.0  # nobody waits for the answer
_BALANCES = {"uniform": UNIFORM, "same-zone": SAME_ZONE, "same-node": SAME_NODE}


def candidates(scenario: Scenario, loads: tuple[int, ...]) -> list[dict[str, dict[str, int]]]:
    """Service -> node -> pods, the best prediction first."""
    truth = _Truth(scenario, [scenario.load[number] for number in loads])
    application = truth.application()
    prediction = Prediction(application)
    limits = truth.limits(application)
    search = Search(application, prediction, limits)
    first, *others = truth.starts(application)
    tables_found = [*search.optima(first), *(search.descend(start) for start in others)]
    found = {each.tobytes(): each for each in tables_found}
    tables = list(found.values())
    costs = search.cost(np.array(tables, dtype=np.float64))
    names = [node.name for node in scenario.nodes]
    services = [service.name for service in scenario.application.services]
    return [
        {
            services[w]: {names[n]: int(count) for n, count in enumerate(tables[number][w]) if count}
            for w in range(len(services))
        }
        for number in np.argsort(costs, kind="stable").tolist()
        if np.isfinite(costs[number])
    ]


class _Truth:
    def __init__(self, scenario: Scenario, loads: list[Load]) -> None:
        self._scenario = scenario
        self._loads = loads
        self._index = {node.name: number for number, node in enumerate(scenario.nodes)}
        self._services = scenario.application.services
        self._down = {change.node for change in scenario.node_changes if change.state in ("down", "cordoned")}

    def application(self) -> CallGraph:
        services, nodes = self._services, self._scenario.nodes
        calls: dict[tuple[int, int], float] = {}
        users = np.zeros((len(services), len(nodes)))
        use = np.zeros(len(services))
        planner = Planner(self._scenario.application)
        total = 0.0
        for load in self._loads:
            plan = planner.plan(load.service, load.endpoint)
            rate = load.poisson or load.users / (load.every or load.think or 1.0)
            total += rate
            for name in load.sources:
                users[plan.root.service, self._index[name]] += rate / len(load.sources)
            _walk(plan, plan.root, rate, calls, use)
        pairs = tuple(Calls(a, b, rate) for (a, b), rate in sorted(calls.items()) if a != b)
        order, cyclic = callers_first(len(services), pairs)
        zones = sorted({node.labels.get(ZONE, "") for node in nodes} - {""})
        return CallGraph(
            names=tuple(("default", service.name) for service in services),
            kinds=tuple(PodKind("default", WorkloadKey("default", service.name)) for service in services),
            rows=np.arange(len(nodes), dtype=np.intp),
            counts=self._somewhere(),
            calls=pairs,
            users=users,
            balance=tuple(_BALANCES[service.balance] for service in services),
            zones=np.array([zones.index(z) if (z := node.labels.get(ZONE, "")) else -1 for node in nodes]),
            rtt=self._round_trips(),
            use=use,
            other=np.zeros(len(nodes)),
            cores=np.array([node.cpu / 1000 for node in nodes]),
            rate=max(total, 1e-9),
            order=order,
            cyclic=cyclic,
        )

    def _may(self, service: Service, node: NodeSpec) -> bool:
        """True if Kubernetes would let a pod of the service onto the node: what no policy may do is no bound for any."""
        tolerated = all(
            taint.key in service.tolerates for taint in node.taints if taint.effect in ("NoSchedule", "NoExecute")
        )
        return service.pinned in (None, node.name) and node.name not in self._down and tolerated

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
            together=0.0,
            moving=0.0,
        )

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


def _walk(plan: CallTree, step: Step, rate: float, calls: dict[tuple[int, int], float], use: Floats) -> None:
    """Adds up calls per second and millicores below one step of a call tree."""
    del plan
    stack = [(step, rate)]
    while stack:
        here, often = stack.pop()
        use[here.service] += often * here.mean * 1000.0
        for stage in here.stages:
            for branch in stage:
                for call in branch:
                    each = often * call.probability
                    weight = each * (_ASYNCHRONOUS if call.detached else 1.0)
                    calls[here.service, call.service] = calls.get((here.service, call.service), 0.0) + weight
                    stack.append((call, each))
