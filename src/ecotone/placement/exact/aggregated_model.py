"""The exact edge model that runs: whole classes of applications counted, not named.

Per application class g, component class c (k_c of them per application) and hosts u, v:

    Q[g,v]      applications of g with their queue on v
    X[g,c,u,v]  components c on u whose queue is on v, only where the delay bound allows u near v
    Z[g,c,v]    components c in the cloud whose queue is on v
    R[g]        applications of g not admitted
    f[n]        host n is in use

    sum_v Q[g,v] + R[g] = n_g          sum_u X[g,c,u,v] + Z[g,c,v] = k_c Q[g,v]
    sum of demands on n <= free_n f[n]     copies on n of one kind <= (most that fit) f[n]

    W[v,s]      with `list_homes`: v is the home s, these queues and this many of their own microservices (see `homes`).
                Q and X[g,c,v,v] follow from it; the relaxation's delay is far better with it, but what is possible at
                all, and on how few nodes, is found faster without

It says the same as the paper's formulation (6)-(18) with admission added, its size does not depend on the number of
applications, and delay is linear in X and Z for free. Any solution is dealt out to the applications of a class one by
one: every queue on v gets its k_c units of (g, c, v).

The cloud enters as total capacity. If the forwarded components then do not pack into single cloud hosts, the caller
builds the model again with `pack_cloud`, where T[class, s] counts components per cloud host.
"""

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.placement.exact.bounds import edge_nodes
from ecotone.placement.exact.classes import ApplicationClass, application_classes
from ecotone.placement.exact.homes import Homes, Tenant, divides, fits, homes
from ecotone.placement.exact.milp import Model, Objective, whole
from ecotone.placement.exact.scaling import Scaled, scale
from ecotone.placement.problem.instance import Component, Instance, delay_bound
from ecotone.placement.problem.reasons import cloud_candidates, edge_candidates, queue_candidates

CloudKey = tuple[tuple[int, ...], bytes]


@dataclass(frozen=True)
class Part:
    """The columns of one component class of one application class."""

    pair_queue: Ints
    pair_host: Ints
    x: Ints
    delay: Floats
    z: Ints
    z_queue: Ints
    z_delay: Floats


@dataclass(frozen=True)
class Group:
    kind: ApplicationClass
    queue_hosts: Ints
    q: Ints
    r: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Listed:
    """The homes of one host: which row of counts the columns take decides which W is one."""

    host: int
    w: Ints
    columns: Ints
    counts: Ints


@dataclass(frozen=True, slots=True)
class Dealt:
    """Per application its queue host and, per microservice, an edge host or CLOUD; None if rejected."""

    hosts: tuple[tuple[int, ...] | None, ...]


CLOUD = -1


class AggregatedModel:
    def __init__(
        self,
        instance: Instance,
        *,
        pack_cloud: bool = False,
        admission: bool = True,
        list_homes: bool = False,
    ) -> None:
        self.instance = instance
        self.model = Model()
        self._scaled: Scaled = scale(instance)
        self._admission = admission
        self._pack_cloud = pack_cloud
        self._forwarded: dict[CloudKey, list[Ints]] = {}
        self._masks: dict[CloudKey, Mask] = {}
        width = len(instance.resources)
        self.f = np.full(len(instance.hosts), -1, dtype=np.int64)
        self.f[instance.edge] = self.model.variables(
            len(instance.edge), lower=instance.in_use[instance.edge].astype(np.float64)
        )
        self._capacity = np.full((width, len(instance.hosts)), -1, dtype=np.int64)
        for r in range(width):
            rows = self.model.constraints(len(instance.edge), upper=0.0)
            self._capacity[r, instance.edge] = rows
            free = self._scaled.free[instance.edge, r].astype(np.float64)
            self.model.entries(rows, self.f[instance.edge], -free)
        self.groups = [self._group(kind) for kind in application_classes(instance)]
        self.homes: list[Listed] = []
        if list_homes:
            self._list_homes()
        self._cloud_capacity()

    # Objectives, in order of importance

    def rejected(self) -> Objective:
        columns = np.array([group.r for group in self.groups], dtype=np.int64)
        return Objective("applications rejected", columns, np.ones(len(columns)))

    def forwarded(self) -> Objective:
        columns = _join([part.z for group in self.groups for part in group.parts])
        return Objective("microservices forwarded", columns, np.ones(len(columns)))

    def nodes(self) -> Objective:
        return edge_nodes(self.instance, self._scaled, self.f[self.instance.edge])

    def latency(self) -> Objective:
        parts = [part for group in self.groups for part in group.parts]
        columns = _join([each for part in parts for each in (part.x, part.z)])
        cost = np.concatenate([each for part in parts for each in (part.delay, part.z_delay)] or [np.zeros(0)])
        return Objective("delay", columns, cost, integral=False)

    def sizes(self) -> list[Ints]:
        """The columns f of hosts with equal room, largest room first."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for host in self.instance.edge:
            groups.setdefault(tuple(self._scaled.free[host].tolist()), []).append(int(self.f[host]))
        return [np.array(groups[room], dtype=np.int64) for room in sorted(groups, reverse=True)]

    def papers(self) -> Objective:
        """G = F + Z of the paper: edge nodes by their prices, one each where none carries any."""
        nodes, forwarded = self.nodes(), self.forwarded()
        columns = np.concatenate([nodes.columns, forwarded.columns])
        prices = np.concatenate([nodes.coefficients, forwarded.coefficients])
        return Objective("G", columns, prices, integral=nodes.integral)

    def deal(self, x: Floats) -> Dealt:
        hosts: list[tuple[int, ...] | None] = [None] * len(self.instance.applications)
        for group in self.groups:
            queues = whole(x, group.q)
            units = [_units(part, whole(x, part.x), whole(x, part.z), len(queues)) for part in group.parts]
            waiting = list(group.kind.members)
            for v, count in enumerate(queues):
                for _ in range(int(count)):
                    a = waiting.pop(0)
                    row = [int(group.queue_hosts[v])] + [CLOUD] * len(self.instance.applications[a].microservices)
                    for positions, stock in zip(group.kind.positions(self.instance, a), units, strict=True):
                        for i in positions:
                            row[i] = stock[v].pop(0)
                    hosts[a] = tuple(row)
        return Dealt(hosts=tuple(hosts))

    # Building

    def _group(self, kind: ApplicationClass) -> Group:
        instance, model = self.instance, self.model
        application = kind.application
        queue = application.queue
        candidates = queue_candidates(instance, application) & self._roomy(queue)
        hosts: Ints = np.flatnonzero(candidates)
        most = np.minimum(self._copies(queue, hosts), kind.size).astype(np.float64)
        q = model.variables(len(hosts), upper=most)
        r = int(model.variables(1, upper=float(kind.size) if self._admission else 0.0)[0])
        row = model.constraints(1, lower=float(kind.size), upper=float(kind.size))
        model.entries(row, q, 1.0)
        model.entries(row, np.array([r]), 1.0)
        self._load(queue, hosts, q)
        if queue.pinned is None:
            rows = model.constraints(len(hosts), upper=0.0)
            model.entries(rows, q, 1.0)
            model.entries(rows, self.f[hosts], -most)
        parts = tuple(self._part(kind, c, k, hosts, q) for c, k in kind.components)
        return Group(kind=kind, queue_hosts=hosts, q=q, r=r, parts=parts)

    def _part(self, kind: ApplicationClass, component: Component, k: int, queues: Ints, q: Ints) -> Part:
        instance, model = self.instance, self.model
        pair_queue, pair_host = self._pairs(kind, component, queues)
        total = kind.size * k
        most = np.minimum(self._copies(component, pair_host), total).astype(np.float64)
        x = model.variables(len(pair_queue), upper=most)
        rows = model.constraints(len(queues), lower=0.0, upper=0.0)
        model.entries(rows, q, -float(k))
        model.entries(rows[pair_queue], x, 1.0)
        self._load(component, pair_host, x)
        if component.pinned is None and len(pair_host):
            used, where = np.unique(pair_host, return_inverse=True)
            links = model.constraints(len(used), upper=0.0)
            model.entries(links[where], x, 1.0)
            top = np.minimum(self._copies(component, used), total).astype(np.float64)
            model.entries(links, self.f[used], -top)
        delay = instance.delay(component)
        near = np.asarray(delay[queues[pair_queue], pair_host], dtype=np.float64)
        z, z_queue, z_delay = self._forward(component, queues, rows, total)
        return Part(pair_queue=pair_queue, pair_host=pair_host, x=x, delay=near, z=z, z_queue=z_queue, z_delay=z_delay)

    def _pairs(self, kind: ApplicationClass, component: Component, queues: Ints) -> tuple[Ints, Ints]:
        instance, application = self.instance, kind.application
        roomy = self._roomy(component)
        if component.pinned is not None:
            masks = [edge_candidates(instance, application, component, int(v)) for v in queues]
            near = np.array(masks, dtype=np.bool_).reshape(len(queues), len(instance.hosts))
        else:
            allowed = instance.allowed(component)
            near = instance.delay(component)[queues] <= delay_bound(application, component)
            near &= instance.is_edge & roomy if allowed is None else instance.is_edge & roomy & allowed
        first, second = np.nonzero(near)
        return first.astype(np.int64), second.astype(np.int64)

    def _forward(self, component: Component, queues: Ints, balance: Ints, total: int) -> tuple[Ints, Ints, Floats]:
        """Columns Z for the queue hosts from which some cloud host may be used."""
        instance, model = self.instance, self.model
        open_queues, costs, masks = [], [], []
        roomy = self._roomy(component) & ~instance.is_edge
        if len(instance.cloud):
            delay = instance.delay(component)
            for position, v in enumerate(queues):
                mask = cloud_candidates(instance, component, int(v)) & roomy
                if mask.any():
                    open_queues.append(position)
                    costs.append(float(delay[v][mask].min()))
                    masks.append(mask)
        z = model.variables(len(open_queues), upper=float(total))
        z_queue = np.array(open_queues, dtype=np.int64)
        model.entries(balance[z_queue], z, 1.0)
        demand = self._scaled.demand(component)
        for column, mask in zip(z, masks, strict=True):
            key = (demand, mask.tobytes())
            self._masks[key] = mask
            self._forwarded.setdefault(key, []).append(np.array([column], dtype=np.int64))
        return z, z_queue, np.array(costs, dtype=np.float64)

    def _list_homes(self) -> None:
        """W for the hosts that may hold queues; a host with too many homes to list goes without."""
        free = [group for group in self.groups if group.kind.application.queue.pinned is None]
        for v in sorted({int(host) for group in free for host in group.queue_hosts}):
            here = [group for group in free if v in group.queue_hosts]
            own = [self._own(group, v) for group in here]
            listed = homes(self._scaled.free[v], list(map(self._tenant, here, own)))
            if listed is not None:
                self._tighten(v, here, own, listed)

    def _own(self, group: Group, v: int) -> list[Ints]:
        """Per component class the column of those beside their own queue on v, if they may be there."""
        place = int(np.searchsorted(group.queue_hosts, v))
        return [
            part.x[(part.pair_queue == place) & (part.pair_host == v)] if component.pinned is None else part.x[:0]
            for part, (component, _) in zip(group.parts, group.kind.components, strict=True)
        ]

    def _tenant(self, group: Group, own: list[Ints]) -> Tenant:
        return Tenant(
            queue=self._demand(group.kind.application.queue),
            most=group.kind.size,
            own=tuple(
                (self._demand(component), k) if len(column) else None
                for column, (component, k) in zip(own, group.kind.components, strict=True)
            ),
        )

    def _tighten(self, v: int, here: list[Group], own: list[list[Ints]], listed: Homes) -> None:
        model = self.model
        w = model.variables(len(listed.left))
        row = model.constraints(1, upper=0.0)
        model.entries(row, w, 1.0)
        model.entries(row, self.f[[v]], -1.0)
        followers: list[tuple[Ints, Ints]] = []
        for position, (group, beside) in enumerate(zip(here, own, strict=True)):
            followers.append((group.q[group.queue_hosts == v], listed.queues[:, position]))
            followers += [(x, listed.own[position][:, c]) for c, x in enumerate(beside) if len(x)]
        for column, counts in followers:
            self._follows(column, w, counts)
        resident = _join([column for column, _ in followers])
        self.homes.append(
            Listed(host=v, w=w, columns=resident, counts=np.stack([counts for _, counts in followers], axis=1))
        )
        room = self._scaled.free[[v]]
        for demand, columns in self._guests(v).items():
            asked = np.array(demand, dtype=np.int64)
            guests = np.setdiff1d(columns, resident)
            if divides(np.vstack([room, listed.left]), asked) or not len(guests):
                continue
            alone = int(fits(room, asked)[0])
            row = model.constraints(1, upper=0.0)
            model.entries(row, guests, 1.0)
            model.entries(row, self.f[[v]], -float(alone))
            model.entries(row, w, (alone - fits(listed.left, asked)).astype(np.float64))

    def _follows(self, column: Ints, w: Ints, counts: Ints) -> None:
        """A column that follows from the home."""
        row = self.model.constraints(1, lower=0.0, upper=0.0)
        self.model.entries(row, w, counts.astype(np.float64))
        self.model.entries(row, column, -1.0)

    def _guests(self, v: int) -> dict[tuple[int, ...], Ints]:
        """The columns of equal microservices on a host."""
        columns: dict[tuple[int, ...], list[Ints]] = {}
        for group in self.groups:
            for part, (component, _) in zip(group.parts, group.kind.components, strict=True):
                if component.pinned is None:
                    columns.setdefault(self._scaled.demand(component), []).append(part.x[part.pair_host == v])
        return {demand: _join(parts) for demand, parts in columns.items()}

    def _demand(self, component: Component) -> Ints:
        return np.array(self._scaled.demand(component), dtype=np.int64)

    def _cloud_capacity(self) -> None:
        instance, model = self.instance, self.model
        cloud = instance.cloud
        if not len(cloud):
            return
        if not self._pack_cloud:
            total = self._scaled.free[cloud].sum(axis=0)
            for r in range(len(instance.resources)):
                row = model.constraints(1, upper=float(total[r]))
                for (demand, _), columns in self._forwarded.items():
                    if demand[r]:
                        model.entries(row, _join(columns), float(demand[r]))
            return
        capacity = [
            model.constraints(len(cloud), upper=self._scaled.free[cloud, r].astype(np.float64))
            for r in range(len(instance.resources))
        ]
        position = {int(s): k for k, s in enumerate(cloud)}
        for key, columns in self._forwarded.items():
            demand = key[0]
            hosts = np.flatnonzero(self._masks[key])
            t = model.variables(len(hosts), upper=float(len(instance.applications) * 1000))
            row = model.constraints(1, lower=0.0, upper=0.0)
            model.entries(row, t, 1.0)
            model.entries(row, _join(columns), -1.0)
            where = np.array([position[int(s)] for s in hosts], dtype=np.int64)
            for r, amount in enumerate(demand):
                if amount:
                    model.entries(capacity[r][where], t, float(amount))

    def _roomy(self, component: Component) -> Mask:
        if component.pinned is not None:
            return np.ones(len(self.instance.hosts), dtype=np.bool_)
        demand = self._demand(component)
        return np.asarray((self._scaled.free >= demand).all(axis=1), dtype=np.bool_)

    def _copies(self, component: Component, hosts: Ints) -> Ints:
        most = np.full(len(hosts), 10**6, dtype=np.int64)
        for r, amount in enumerate(self._scaled.demand(component)):
            if amount:
                most = np.minimum(most, self._scaled.free[hosts, r] // amount)
        return most

    def _load(self, component: Component, hosts: Ints, columns: Ints) -> None:
        for r, amount in enumerate(self._scaled.demand(component)):
            if amount:
                self.model.entries(self._capacity[r, hosts], columns, float(amount))


def _units(part: Part, on_edge: Ints, in_cloud: Ints, queues: int) -> list[list[int]]:
    """Per queue host, the hosts of the components dealt to its applications, edge first."""
    stock: list[list[int]] = [[] for _ in range(queues)]
    for k in np.flatnonzero(on_edge):
        stock[part.pair_queue[k]] += [int(part.pair_host[k])] * int(on_edge[k])
    for k in np.flatnonzero(in_cloud):
        stock[part.z_queue[k]] += [CLOUD] * int(in_cloud[k])
    return stock


def _join(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
