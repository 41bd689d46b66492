"""The integer programme: x pods of a service on a node, u of it nowhere, l milliseconds over target, m pods that leave a
node, f more pods that would fit, b whether a promise is broken.

Capacity rows are in parts of the capacity, so that bytes and cores are of one size for the solver.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.milp import Model, Objective, whole
from ecotone.placement.qos.problem import BROKEN, Problem


class CountsModel:
    def __init__(self, problem: Problem, *, with_moves: bool = True, with_fit: bool = True) -> None:
        self.problem = problem
        self.model = model = Model()
        services, nodes = problem.services, problem.nodes
        pods = problem.pods.astype(np.float64)
        most = np.where(problem.allowed, problem.pods[:, None], np.minimum(problem.current, problem.pods[:, None]))
        least = np.minimum(problem.fixed, most)
        self._x = model.variables(
            services * nodes, upper=most.ravel().astype(np.float64), lower=least.ravel().astype(np.float64)
        ).reshape(services, nodes)
        self._u = model.variables(services, upper=pods)
        self._l = model.variables(services, upper=np.maximum(problem.worst - problem.target, 0.0) + 1.0, integer=False)
        self._b = self._broken()
        placed = model.constraints(services, lower=pods, upper=pods)
        model.entries(placed[:, None], self._x, 1.0)
        model.entries(placed, self._u, 1.0)
        self._capacity()
        self._loss_rows()
        self._stay_spread()
        nothing = np.zeros(0, np.int64)
        self._m = self._moves() if with_moves else nothing
        self._f = self._fit() if with_fit else (nothing, np.zeros(0))

    def _capacity(self) -> None:
        problem, model = self.problem, self.model
        for resource in range(problem.size.shape[1]):
            whole_of = problem.capacity[:, resource]
            scale = np.where(whole_of > 0, whole_of, 1.0)
            rows = model.constraints(problem.nodes, upper=np.where(whole_of > 0, 1.0, 0.0))
            users = np.flatnonzero(problem.size[:, resource] > 0)
            values = problem.size[users, resource][:, None] / scale[None, :]
            model.entries(rows[None, :], self._x[users], values)

    def _loss_rows(self) -> None:
        """pods l - sum x t >= - pods Q, so that 1/pods is never rounded."""
        problem, model = self.problem, self.model
        pods = np.maximum(problem.pods, 1).astype(np.float64)
        rows = model.constraints(problem.services, lower=-pods * problem.target)
        model.entries(rows, self._l, pods)
        model.entries(rows[:, None], self._x, -problem.latency)
        model.entries(rows, self._u, -problem.worst)

    def _stay_spread(self) -> None:
        """y <= pods on a node, or in a zone, and y <= 1: their sum is how many nodes, or zones, a service stands on."""
        spread = self.problem.spread
        if spread is None:
            return
        free = self.problem.fixed.sum(axis=1) < self.problem.pods
        zones = [np.flatnonzero(spread.zone_of == zone) for zone in np.unique(spread.zone_of).tolist() if zone >= 0]
        nodes = [np.array([node]) for node in range(self.problem.nodes)]
        for least, places in ((spread.nodes, nodes), (spread.zones, zones)):
            for service in np.flatnonzero((least > 0) & free).tolist():
                there = self.model.variables(len(places))
                rows = self.model.constraints(len(places), upper=0.0)
                self.model.entries(rows, there, 1.0)
                for row, place in zip(rows.tolist(), places, strict=True):
                    self.model.entries(row, self._x[service, place], -1.0)
                enough = self.model.constraints(1, lower=float(least[service]))
                self.model.entries(int(enough[0]), there, 1.0)

    def _broken(self) -> Ints:
        """l <= most b: no millisecond over target without a broken promise."""
        problem, model = self.problem, self.model
        if problem.broken_ms <= 0.0:
            return np.zeros(0, np.int64)
        columns = model.variables(problem.services)
        rows = model.constraints(problem.services, upper=BROKEN)
        model.entries(rows, self._l, 1.0)
        model.entries(rows, columns, -(np.maximum(problem.worst - problem.target, 0.0) + 1.0))
        return columns

    def _moves(self) -> Ints:
        problem, model = self.problem, self.model
        service, node = np.nonzero(problem.current)
        here = problem.current[service, node].astype(np.float64)
        columns = model.variables(len(service), upper=here)
        rows = model.constraints(len(service), lower=here)
        model.entries(rows, columns, 1.0)
        model.entries(rows, self._x[service, node], 1.0)
        if problem.budget is not None:
            model.entries(model.constraints(1, upper=float(problem.budget)), columns, 1.0)
        if problem.most_moves is not None:
            rows = model.constraints(problem.services, upper=problem.most_moves.astype(np.float64))
            model.entries(rows[service], columns, 1.0)
        return columns

    def _fit(self) -> tuple[Ints, Floats]:
        """size f + used <= capacity, for each service and near node on its own."""
        problem, model = self.problem, self.model
        columns, weights = [], []
        for service, node in np.argwhere(problem.allowed & problem.near[None, :]).tolist():
            size, capacity = problem.size[service], problem.capacity[node]
            if not (size > 0).any() or problem.mix[service] <= 0:
                continue
            most = np.floor((capacity[size > 0] / size[size > 0]).min() + 1e-9)
            column = model.variables(1, upper=float(max(0.0, most)))
            for resource in np.flatnonzero((size > 0) & (capacity > 0)).tolist():
                row = model.constraints(1, upper=1.0)
                model.entries(row, column, size[resource] / capacity[resource])
                model.entries(row, self._x[:, node], problem.size[:, resource] / capacity[resource])
            columns.append(int(column[0]))
            weights.append(float(problem.mix[service]))
        return np.array(columns, np.int64), np.array(weights)

    # Objectives, to be minimised in this order

    def unplaced(self) -> Objective:
        return Objective("unplaced", self._u, np.ones(len(self._u)))

    def loss(self) -> Objective:
        """With hysteresis and broken promises: H + move_cost M + broken_ms B."""
        problem = self.problem
        columns = np.concatenate((self._l, self._m, self._b))
        prices = (problem.weight, np.full(len(self._m), problem.move_cost), np.full(len(self._b), problem.broken_ms))
        costs = np.concatenate(prices)
        return Objective("loss", columns, costs, integral=False)

    def moves(self) -> Objective:
        return Objective("moves", self._m, np.ones(len(self._m)))

    def misfit(self) -> Objective:
        columns, weights = self._f
        return Objective("fit", columns, -weights, integral=False, lower=-float(weights.sum()) * 1e9)

    def counts(self, solved: Floats) -> Ints:
        return whole(solved, self._x.ravel()).reshape(self._x.shape)

    def fractions(self, solved: Floats) -> Floats:
        return solved[self._x]
