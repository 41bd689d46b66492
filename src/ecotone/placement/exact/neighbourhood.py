"""A good answer made better, a few neighbouring hosts at a time.

The exact search starts with the bound and is late with answers; where nodes are plenty it may end with a poor one. Here the
same model is solved again and again with everything fixed but the applications whose queues stand around one host. Every
such question is small, its answer is never worse than what was there, and the hosts with the longest delays are asked
first.
"""

from itertools import count

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.aggregated_model import CLOUD, AggregatedModel, Dealt, Group
from ecotone.placement.exact.milp import Clock, Objective

NEIGHBOURS = 8
SECONDS_EACH = 2.0
BLIND_ROUNDS = 30


def improve(
    model: AggregatedModel, objective: Objective, start: Floats, *, time_limit: float | None, clock: Clock | None
) -> Floats:
    """A solution at least as good as the start: no neighbourhood makes it better, or the time is up.

    Without a clock the time is dealt out to so many neighbourhoods, whether they need it or not.
    """
    begin = clock() if clock is not None else 0.0
    blind = time_limit is not None and clock is None
    seconds = None if time_limit is None else time_limit / BLIND_ROUNDS if blind else SECONDS_EACH
    x, value = start, objective.of(start)
    settled: set[int] = set()
    for done in count():
        centres = [v for v in _by_delay(model, x) if v not in settled]
        late = time_limit is not None and clock is not None and clock() - begin > time_limit
        if not centres or late or (blind and done == BLIND_ROUNDS):
            break
        near = _neighbours(model, centres[0])
        part = model.model.fork()
        fixed = np.setdiff1d(np.arange(part.columns), _columns_of(model, near))
        part.fix(fixed, x[fixed])
        found, stage = part.minimise(objective, time_limit=seconds)
        if found is not None and stage.value is not None and stage.value < value - 1e-6 * max(1.0, value):
            x, value = np.rint(found), stage.value
            settled -= set(near.tolist())
        settled.add(centres[0])
    return x


def vector(model: AggregatedModel, dealt: Dealt) -> Floats:
    """The columns of a placement: what the model's `deal` turns into it again, up to the order of equal applications."""
    x = np.zeros(model.model.columns)
    x[model.f[model.instance.edge]] = model.instance.in_use[model.instance.edge]
    for group in model.groups:
        _count(model, group, dealt, x)
    for listed in model.homes:
        x[listed.w[(listed.counts == x[listed.columns]).all(axis=1)]] = 1.0
    return x


def _count(model: AggregatedModel, group: Group, dealt: Dealt, x: Floats) -> None:
    place = {int(host): position for position, host in enumerate(group.queue_hosts)}
    edges = [
        dict(zip(zip(p.pair_queue.tolist(), p.pair_host.tolist(), strict=True), p.x, strict=True)) for p in group.parts
    ]
    clouds = [dict(zip(p.z_queue.tolist(), p.z, strict=True)) for p in group.parts]
    for a in group.kind.members:
        row = dealt.hosts[a]
        if row is None:
            x[group.r] += 1.0
            continue
        v = place[row[0]]
        x[group.q[v]] += 1.0
        x[model.f[row[0]]] = 1.0
        for c, positions in enumerate(group.kind.positions(model.instance, a)):
            for host in (row[i] for i in positions):
                if host == CLOUD or not model.instance.is_edge[host]:
                    x[clouds[c][v]] += 1.0
                else:
                    x[edges[c][v, host]] += 1.0
                    x[model.f[host]] = 1.0


def _by_delay(model: AggregatedModel, x: Floats) -> list[int]:
    """Hosts with queues, those whose microservices are farthest away first."""
    total = np.zeros(len(model.instance.hosts))
    used = np.zeros(len(model.instance.hosts), dtype=np.bool_)
    for group in model.groups:
        used[group.queue_hosts[x[group.q] > 0.5]] = True
        for part in group.parts:
            np.add.at(total, group.queue_hosts[part.pair_queue], part.delay * x[part.x])
            np.add.at(total, group.queue_hosts[part.z_queue], part.z_delay * x[part.z])
    hosts = np.flatnonzero(used)
    return [int(v) for v in hosts[np.argsort(-total[hosts], kind="stable")]]


def _neighbours(model: AggregatedModel, host: int) -> Ints:
    """The host and the nearest others that may hold queues."""
    candidates = np.unique(np.concatenate([group.queue_hosts for group in model.groups]))
    order = np.argsort(model.instance.distance[host, candidates], kind="stable")
    return np.union1d(candidates[order[:NEIGHBOURS]], [host])


def _columns_of(model: AggregatedModel, hosts: Ints) -> Ints:
    """Everything about applications whose queues are on these hosts, and which hosts are in use."""
    columns = [model.f[model.instance.edge], np.array([group.r for group in model.groups], dtype=np.int64)]
    for group in model.groups:
        here = np.isin(group.queue_hosts, hosts)
        columns.append(group.q[here])
        for part in group.parts:
            columns += [part.x[here[part.pair_queue]], part.z[here[part.z_queue]]]
    columns += [listed.w for listed in model.homes if listed.host in hosts]
    return np.concatenate(columns)
