"""The exact edge model that runs: whole classes of applications counted, not named.

Per application class g, component class c (k_c of them per application) and hosts u, v:

    Q[g,v]      applications of g with their queue on v
    X[g,c,u,v]  components c on u whose queue is on v, only where the delay bound allows u near v
    Z[g,c,v]    components c in the cloud whose queue is on v
    R[g]        applications of g not admitted
    f[n]        host n is in use

    sum_v Q[g,v] + R[g] = n_g          sum_u X[g,c,u,v] + Z[g,c,v] = k_c Q[g,v]
    sum of demands on n <= free_n f[n]     copies on n of one kind <= (most that fit) f[n]

    W[v,s]      the queues on v are the multiset s: redundant, but it tells the relaxation what is left beside them

It says the same as the paper's formulation (6)-(18) with admission added, its size does not depend on the number of
applications, and delay is linear in X and Z for free. Any solution is dealt out to the applications of a class one by
one: every queue on v gets its k_c units of (g, c, v).

The cloud enters as total capacity. If the forwarded components then do not pack into single cloud hosts, the caller
builds the model again with `pack_cloud`, where T[class, s] counts components per cloud host.
"""

from dataclasses import dataclass

import numpy as np

from ecotone.placement.classes import ApplicationClass, application_classes
from ecotone.placement.instance import BoolArray, Component, Instance, delay_bound
from ecotone.placement.milp import Index, Model, Objective, Vector, whole
from ecotone.placement.reasons import cloud_candidates, edge_candidates, queue_candidates
from ecotone.placement.scaling import Scaled, scale

CloudKey = tuple[tuple[int, ...], bytes]


@dataclass(frozen=True)
class _Part:
    """The columns of one component class of one application class."""

    pair_queue: Index
    pair_host: Index
    x: Index
    z: Index
    z_queue: Index


@dataclass(frozen=True)
class _Group:
    kind: ApplicationClass
    queue_hosts: Index
    q: Index
    r: int
    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class Dealt:
    """Per application its queue host and, per microservice, an edge host or CLOUD; None if rejected."""

    hosts: tuple[tuple[int, ...] | None, ...]


CLOUD = -1
MOST_QUEUE_SETS = 60


class AggregatedModel:
    def __init__(self, instance: Instance, *, pack_cloud: bool = False, admission: bool = True) -> None:
        self.instance = instance
        self.model = Model()
        self._scaled: Scaled = scale(instance)
        self._admission = admission
        self._cost_columns: list[Index] = []
        self._cost: list[Vector] = []
        self._pack_cloud = pack_cloud
        self._forwarded: dict[CloudKey, list[Index]] = {}
        self._masks: dict[CloudKey, BoolArray] = {}
        width = len(instance.resources)
        self._f = np.full(len(instance.hosts), -1, dtype=np.int64)
        self._f[instance.edge] = self.model.variables(
            len(instance.edge), lower=instance.in_use[instance.edge].astype(np.float64)
        )
        self._capacity = np.full((width, len(instance.hosts)), -1, dtype=np.int64)
        for r in range(width):
            rows = self.model.constraints(len(instance.edge), upper=0.0)
            self._capacity[r, instance.edge] = rows
            free = self._scaled.free[instance.edge, r].astype(np.float64)
            self.model.entries(rows, self._f[instance.edge], -free)
        self._groups = [self._group(kind) for kind in application_classes(instance)]
        self._co_location()
        self._cloud_capacity()

    # Objectives, in order of importance

    def rejected(self) -> Objective:
        columns = np.array([group.r for group in self._groups], dtype=np.int64)
        return Objective("applications rejected", columns, np.ones(len(columns)))

    def forwarded(self) -> Objective:
        columns = _join([part.z for group in self._groups for part in group.parts])
        return Objective("microservices forwarded", columns, np.ones(len(columns)))

    def nodes(self) -> Objective:
        columns = self._f[self.instance.edge]
        return Objective("edge nodes in use", columns, np.ones(len(columns)), lower=self._fewest_nodes())

    def latency(self) -> Objective:
        return Objective("delay", _join(self._cost_columns), _join_float(self._cost), integral=False)

    def papers(self) -> Objective:
        """G = F + Z of the paper with the price of every edge node 1."""
        nodes, forwarded = self.nodes(), self.forwarded()
        columns = np.concatenate([nodes.columns, forwarded.columns])
        return Objective("G", columns, np.ones(len(columns)))

    def deal(self, x: Vector) -> Dealt:
        hosts: list[tuple[int, ...] | None] = [None] * len(self.instance.applications)
        for group in self._groups:
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

    def _group(self, kind: ApplicationClass) -> _Group:
        instance, model = self.instance, self.model
        application = kind.application
        queue = application.queue
        candidates = queue_candidates(instance, application) & self._roomy(queue)
        hosts: Index = np.flatnonzero(candidates)
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
            model.entries(rows, self._f[hosts], -most)
        parts = tuple(self._part(kind, c, k, hosts, q) for c, k in kind.components)
        return _Group(kind=kind, queue_hosts=hosts, q=q, r=r, parts=parts)

    def _part(self, kind: ApplicationClass, component: Component, k: int, queues: Index, q: Index) -> _Part:
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
            model.entries(links, self._f[used], -top)
        delay = instance.delay(component)
        self._cost_columns.append(x)
        self._cost.append(np.asarray(delay[queues[pair_queue], pair_host], dtype=np.float64))
        z, z_queue = self._forward(component, queues, rows, total)
        return _Part(pair_queue=pair_queue, pair_host=pair_host, x=x, z=z, z_queue=z_queue)

    def _pairs(self, kind: ApplicationClass, component: Component, queues: Index) -> tuple[Index, Index]:
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

    def _forward(self, component: Component, queues: Index, balance: Index, total: int) -> tuple[Index, Index]:
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
        self._cost_columns.append(z)
        self._cost.append(np.array(costs, dtype=np.float64))
        demand = self._scaled.demand(component)
        for column, mask in zip(z, masks, strict=True):
            key = (demand, mask.tobytes())
            self._masks[key] = mask
            self._forwarded.setdefault(key, []).append(np.array([column], dtype=np.int64))
        return z, z_queue

    def _co_location(self) -> None:
        """What a host's own queues leave for their own microservices, said per set of queues.

        Without it a relaxation puts half a queue beside half of its microservices, at no delay, on a host that holds
        either but not both. W[v,s] says that the queues on v are the multiset s; everything else follows from Q, so the
        rows only tighten the model, and hosts may go without: those with too many sets, and those where sizes divide one
        another, since there the rows move the bound little and the search took longer.
        """
        free = [group for group in self._groups if group.kind.application.queue.pinned is None]
        for v in sorted({int(host) for group in free for host in group.queue_hosts}):
            here = [(group, int(np.searchsorted(group.queue_hosts, v))) for group in free if v in group.queue_hosts]
            sets = self._queue_sets(v, [group for group, _ in here])
            if sets is not None:
                self._tighten(v, here, sets)

    def _queue_sets(self, v: int, groups: list[_Group]) -> list[tuple[tuple[int, ...], Index]] | None:
        """Every multiset of queues that fits the host, with what it leaves; None when there are too many."""
        room = self._scaled.free[v]
        found: list[tuple[tuple[int, ...], Index]] = [((), room)]
        for group in groups:
            demand = np.array(self._scaled.demand(group.kind.application.queue), dtype=np.int64)
            grown = []
            for counts, rest in found:
                for count in range(group.kind.size + 1):
                    left = rest - count * demand
                    if (left < 0).any():
                        break
                    grown.append(((*counts, count), left))
            found = grown
            if len(found) > MOST_QUEUE_SETS:
                return None
        return found

    def _tighten(self, v: int, here: list[tuple[_Group, int]], sets: list[tuple[tuple[int, ...], Index]]) -> None:
        model = self.model
        rest = np.array([left for _, left in sets])
        guests = self._guests(v, rest)
        if not guests:
            return
        w = model.variables(len(sets))
        one = model.constraints(1, lower=1.0, upper=1.0)
        model.entries(one, w, 1.0)
        used = model.constraints(1, upper=0.0)
        taken = np.array([any(counts) for counts, _ in sets])
        model.entries(used, w[taken], 1.0)
        model.entries(used, self._f[[v]], -1.0)
        own_columns: list[Index] = []
        own_demands: list[tuple[int, ...]] = []
        wanted = np.zeros_like(rest)
        for position, (group, place) in enumerate(here):
            queues = np.array([counts[position] for counts, _ in sets], dtype=np.int64)
            same = model.constraints(1, lower=0.0, upper=0.0)
            model.entries(same, w, queues.astype(np.float64))
            model.entries(same, group.q[[place]], -1.0)
            for part, (component, k) in zip(group.parts, group.kind.components, strict=True):
                own = part.x[(part.pair_queue == place) & (part.pair_host == v)]
                if component.pinned is not None or not len(own):
                    continue
                demand = self._scaled.demand(component)
                most = k * queues
                for r, amount in enumerate(demand):
                    if amount:
                        most = np.minimum(most, rest[:, r] // amount)
                row = model.constraints(1, upper=0.0)
                model.entries(row, own, 1.0)
                model.entries(row, w, -most.astype(np.float64))
                own_columns.append(own)
                own_demands.append(demand)
                wanted += np.outer(most, demand)
        for r in range(rest.shape[1]):
            row = model.constraints(1, upper=0.0)
            for own, demand in zip(own_columns, own_demands, strict=True):
                model.entries(row, own, float(demand[r]))
            model.entries(row, w, -np.minimum(wanted, rest)[:, r].astype(np.float64))
        for columns, fit in guests:
            alone = float(fit[~taken].max())
            row = model.constraints(1, upper=0.0)
            model.entries(row, columns, 1.0)
            model.entries(row, self._f[[v]], -alone)
            model.entries(row, w[taken], alone - fit[taken])

    def _guests(self, v: int, rest: Index) -> list[tuple[Index, Vector]]:
        """Columns of equal microservices on a host and how many fit beside each set, where that is no whole number.

        Where it is for all of them, the capacity row says as much.
        """
        columns: dict[tuple[int, ...], list[Index]] = {}
        for group in self._groups:
            for part, (component, _) in zip(group.parts, group.kind.components, strict=True):
                if component.pinned is None:
                    columns.setdefault(self._scaled.demand(component), []).append(part.x[part.pair_host == v])
        found = []
        for demand, parts in columns.items():
            asked = np.array(demand, dtype=np.int64)
            share = (rest[:, asked > 0] / asked[asked > 0]).min(axis=1)
            fit = np.floor(share + 1e-9)
            if (share - fit > 1e-9).any():
                found.append((_join(parts), fit))
        return found

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

    def _roomy(self, component: Component) -> BoolArray:
        if component.pinned is not None:
            return np.ones(len(self.instance.hosts), dtype=np.bool_)
        demand = np.array(self._scaled.demand(component), dtype=np.int64)
        return np.asarray((self._scaled.free >= demand).all(axis=1), dtype=np.bool_)

    def _copies(self, component: Component, hosts: Index) -> Index:
        most = np.full(len(hosts), 10**6, dtype=np.int64)
        for r, amount in enumerate(self._scaled.demand(component)):
            if amount:
                most = np.minimum(most, self._scaled.free[hosts, r] // amount)
        return most

    def _load(self, component: Component, hosts: Index, columns: Index) -> None:
        for r, amount in enumerate(self._scaled.demand(component)):
            if amount:
                self.model.entries(self._capacity[r, hosts], columns, float(amount))

    def _fewest_nodes(self) -> float:
        return float(self.instance.in_use[self.instance.edge].sum())


def _units(part: _Part, on_edge: Index, in_cloud: Index, queues: int) -> list[list[int]]:
    """Per queue host, the hosts of the components dealt to its applications, edge first."""
    stock: list[list[int]] = [[] for _ in range(queues)]
    for k in np.flatnonzero(on_edge):
        stock[part.pair_queue[k]] += [int(part.pair_host[k])] * int(on_edge[k])
    for k in np.flatnonzero(in_cloud):
        stock[part.z_queue[k]] += [CLOUD] * int(in_cloud[k])
    return stock


def _join(parts: list[Index]) -> Index:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _join_float(parts: list[Vector]) -> Vector:
    return np.concatenate(parts) if parts else np.zeros(0)
