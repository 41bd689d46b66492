"""The exact edge model for applications that are all different.

Counting classes buys nothing when every application is its own class, and naming the pair (host, queue host) of every
microservice is then the expensive part. But an application placed as a whole has one queue, so the pair can be left
out:

    x[A,i,u] <= sum of x[A,q,v] over the v within the delay bound of u        (the "ball" around u)

is exact, replaces (4) and (11)-(13) of the paper, and leaves one variable per component and host. Equal microservices
of one application are still counted together. Delay is not linear in these variables, so this model serves the first
three objectives; the delay of its answer is reported, not minimised.
"""

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.aggregated_model import CLOUD, Dealt
from ecotone.placement.exact.bounds import edge_nodes
from ecotone.placement.exact.classes import nameless
from ecotone.placement.exact.milp import Model, Objective, whole
from ecotone.placement.exact.scaling import scale
from ecotone.placement.problem.instance import Component, Instance, QueueApplication, delay_bound
from ecotone.placement.problem.reasons import cloud_candidates, queue_candidates


@dataclass(frozen=True)
class _Part:
    positions: tuple[int, ...]
    hosts: Ints
    x: Ints
    z: Ints


@dataclass(frozen=True)
class _Application:
    hosts: Ints
    q: Ints
    rejected: int
    parts: tuple[_Part, ...]


class BallModel:
    """Applications without pinned components or channel requirements beyond delay; see `applies`."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.model = Model()
        self._scaled = scale(instance)
        edge = instance.edge
        self._f = np.full(len(instance.hosts), -1, dtype=np.int64)
        self._f[edge] = self.model.variables(len(edge), lower=instance.in_use[edge].astype(np.float64))
        self._capacity = np.full((len(instance.resources), len(instance.hosts)), -1, dtype=np.int64)
        for r in range(len(instance.resources)):
            self._capacity[r, edge] = self.model.constraints(len(edge), upper=0.0)
            free = self._scaled.free[edge, r].astype(np.float64)
            self.model.entries(self._capacity[r, edge], self._f[edge], -free)
        cloud = self._scaled.free[instance.cloud].sum(axis=0)
        self._cloud = [self.model.constraints(1, upper=float(total)) for total in cloud]
        self._applications = [self._application(application) for application in instance.applications]

    def rejected(self) -> Objective:
        columns = np.array([each.rejected for each in self._applications], dtype=np.int64)
        return Objective("applications rejected", columns, np.ones(len(columns)))

    def forwarded(self) -> Objective:
        columns = np.concatenate([part.z for each in self._applications for part in each.parts] or [self._f[:0]])
        return Objective("microservices forwarded", columns, np.ones(len(columns)))

    def nodes(self) -> Objective:
        return edge_nodes(self.instance, self._scaled, self._f[self.instance.edge])

    def deal(self, x: Floats) -> Dealt:
        rows: list[tuple[int, ...] | None] = []
        for application, each in zip(self.instance.applications, self._applications, strict=True):
            chosen = whole(x, each.q)
            if not chosen.any():
                rows.append(None)
                continue
            row = [CLOUD] * len(application.components)
            row[0] = int(each.hosts[np.argmax(chosen)])
            for part in each.parts:
                stock = [int(host) for host, n in zip(part.hosts, whole(x, part.x), strict=True) for _ in range(n)]
                for position, host in zip(part.positions, stock, strict=False):
                    row[position] = host
            rows.append(tuple(row))
        return Dealt(hosts=tuple(rows))

    def _application(self, application: QueueApplication) -> _Application:
        model, instance = self.model, self.instance
        mask = queue_candidates(instance, application) & self._roomy(application.queue)
        hosts: Ints = np.flatnonzero(mask)
        q = model.variables(len(hosts))
        rejected = int(model.variables(1)[0])
        row = model.constraints(1, lower=1.0, upper=1.0)
        model.entries(row, q, 1.0)
        model.entries(row, np.array([rejected]), 1.0)
        self._load(application.queue, hosts, q)
        self._open(hosts, q, np.ones(len(hosts)))
        classes: dict[Component, list[int]] = {}
        for position, component in enumerate(application.microservices, start=1):
            classes.setdefault(nameless(component), []).append(position)
        parts = tuple(
            self._part(application, component, positions, queues=hosts, q=q, rejected=rejected)
            for component, positions in classes.items()
        )
        return _Application(hosts=hosts, q=q, rejected=rejected, parts=parts)

    def _part(
        self,
        application: QueueApplication,
        component: Component,
        positions: list[int],
        *,
        queues: Ints,
        q: Ints,
        rejected: int,
    ) -> _Part:
        model, instance = self.model, self.instance
        k = len(positions)
        near = np.asarray(instance.distance[queues] <= delay_bound(application, component))
        allowed = instance.allowed(component)
        mask = instance.is_edge & self._roomy(component) & near.any(axis=0)
        hosts: Ints = np.flatnonzero(mask if allowed is None else mask & allowed)
        most = np.minimum(self._copies(component, hosts), k).astype(np.float64)
        x = model.variables(len(hosts), upper=most)
        cloudy = len(queues) and (cloud_candidates(instance, component, int(queues[0])) & self._roomy(component)).any()
        z = model.variables(1 if cloudy else 0, upper=float(k))
        row = model.constraints(1, lower=float(k), upper=float(k))
        model.entries(row, x, 1.0)
        model.entries(row, z, 1.0)
        model.entries(row, np.array([rejected]), float(k))
        ball = model.constraints(len(hosts), upper=0.0)
        model.entries(ball, x, 1.0)
        v, u = np.nonzero(near[:, hosts])
        model.entries(ball[u], q[v], -most[u])
        self._load(component, hosts, x)
        self._open(hosts, x, most)
        if cloudy:
            for r, amount in enumerate(self._scaled.demand(component)):
                model.entries(self._cloud[r], z, float(amount))
        return _Part(positions=tuple(positions), hosts=hosts, x=x, z=z)

    def _open(self, hosts: Ints, columns: Ints, most: Floats) -> None:
        rows = self.model.constraints(len(hosts), upper=0.0)
        self.model.entries(rows, columns, 1.0)
        self.model.entries(rows, self._f[hosts], -most)

    def _load(self, component: Component, hosts: Ints, columns: Ints) -> None:
        for r, amount in enumerate(self._scaled.demand(component)):
            if amount:
                self.model.entries(self._capacity[r, hosts], columns, float(amount))

    def _roomy(self, component: Component) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        demand = np.array(self._scaled.demand(component), dtype=np.int64)
        return np.asarray((self._scaled.free >= demand).all(axis=1), dtype=np.bool_)

    def _copies(self, component: Component, hosts: Ints) -> Ints:
        most = np.full(len(hosts), 10**6, dtype=np.int64)
        for r, amount in enumerate(self._scaled.demand(component)):
            if amount:
                most = np.minimum(most, self._scaled.free[hosts, r] // amount)
        return most


def applies(instance: Instance) -> bool:
    """True if the model can express the instance: nothing runs yet and channels ask for delay alone."""
    return all(
        component.pinned is None and component.qos is None
        for application in instance.applications
        for component in application.components
    )
