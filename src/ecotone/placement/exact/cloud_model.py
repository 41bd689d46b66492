"""The exact cloud model: which cloud hosts to rent for the forwarded microservices, at the lowest price.

The paper's formulation (19)-(28) names every microservice and every host. Here equal microservices are counted and
equal hosts are rented by the number, each with a pattern: how many components of each class it carries. With few
classes all maximal patterns can be listed, and the model is a handful of integers without any symmetry:

    min sum price_t n[t,p]    sum_{t,p} pattern[p,c] n[t,p] >= demand_c    sum_p n[t,p] <= hosts of type t

With too many patterns to list (all microservices different) the model falls back to counts per host. A host already
in use costs nothing more. Price is the only objective, as in the paper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.milp import Clock, Model, Objective, Stage, lexicographic, whole
from ecotone.placement.exact.scaling import Scaled, scale
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.reasons import cloud_candidates

MOST_PATTERNS = 20_000
Pattern = tuple[int, ...]
Built = tuple[Model, Objective, Callable[[Floats], list[tuple[int, Pattern]]]]


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A microservice (application, position) to be put in the cloud, and where its queue is."""

    application: int
    position: int
    queue: int


@dataclass(frozen=True, slots=True)
class Rented:
    """`hosts` gives each forwarded microservice its cloud host; None when they do not fit (or no answer in time)."""

    hosts: dict[tuple[int, int], int] | None
    stage: Stage


@dataclass(frozen=True)
class _Problem:
    """Item classes (demand, permitted hosts) with their members, and host types with their members."""

    demands: list[tuple[int, ...]]
    members: list[list[tuple[int, int]]]
    types: list[list[int]]
    capacity: list[tuple[int, ...]]
    price: list[float]
    permits: list[list[bool]]  # permits[type][class]


def rent(
    instance: Instance,
    items: Sequence[Forwarded],
    *,
    time_limit: float | None = None,
    clock: Clock | None = None,
    gap: float = 0.0,
) -> Rented:
    """The cheapest set of cloud hosts for the items."""
    sunk = float(instance.price[instance.in_use & ~instance.is_edge].sum())
    if not items:
        return Rented(hosts={}, stage=Stage(name="cloud price", value=sunk, bound=sunk, status="optimal"))
    problem = _problem(instance, items, scale(instance))
    patterns = _all_patterns(problem)
    built = _by_host(problem, sunk) if patterns is None else _by_pattern(problem, patterns, sunk)
    model, objective, decode = built
    outcome = lexicographic(model, [objective], time_limit=time_limit, clock=clock, gap=gap)
    if outcome.x is None:
        return Rented(hosts=None, stage=outcome.stages[0])
    return Rented(hosts=_deal(problem, decode(outcome.x)), stage=outcome.stages[0])


def _problem(instance: Instance, items: Sequence[Forwarded], scaled: Scaled) -> _Problem:
    classes: dict[tuple[tuple[int, ...], bytes], list[tuple[int, int]]] = {}
    for item in items:
        component = instance.applications[item.application].components[item.position]
        mask = cloud_candidates(instance, component, item.queue)
        classes.setdefault((scaled.demand(component), mask.tobytes()), []).append((item.application, item.position))
    masks = [np.frombuffer(key[1], dtype=np.bool_) for key in classes]
    types: dict[tuple[tuple[int, ...], float, tuple[bool, ...]], list[int]] = {}
    for s in instance.cloud:
        price = 0.0 if instance.in_use[s] else float(instance.price[s])
        capacity = tuple(int(amount) for amount in scaled.free[s])
        types.setdefault((capacity, price, tuple(bool(mask[s]) for mask in masks)), []).append(int(s))
    return _Problem(
        demands=[demand for demand, _ in classes],
        members=list(classes.values()),
        types=[hosts[: len(items)] for hosts in types.values()],
        capacity=[capacity for capacity, _, _ in types],
        price=[price for _, price, _ in types],
        permits=[list(permits) for _, _, permits in types],
    )


def _all_patterns(problem: _Problem) -> list[list[Pattern]] | None:
    """Maximal patterns of every host type, or None when there are too many to list."""
    result: list[list[Pattern]] = []
    budget = MOST_PATTERNS
    for t in range(len(problem.types)):
        found = _patterns(problem, t, budget)
        if found is None:
            return None
        budget -= len(found)
        result.append(found)
    return result


def _patterns(problem: _Problem, t: int, budget: int) -> list[Pattern] | None:
    wanted = [len(members) if problem.permits[t][c] else 0 for c, members in enumerate(problem.members)]
    found: list[Pattern] = []
    steps = 0
    stack: list[tuple[Pattern, tuple[int, ...]]] = [((), problem.capacity[t])]
    while stack:
        counts, room = stack.pop()
        c = len(counts)
        steps += 1
        if steps > 4 * MOST_PATTERNS or len(found) > budget:
            return None
        if c == len(wanted):
            if any(counts) and not _extensible(problem, counts, wanted, room):
                found.append(counts)
            continue
        most = min(wanted[c], _fit(room, problem.demands[c]))
        least = most if c == len(wanted) - 1 else 0
        for k in range(least, most + 1):
            rest = tuple(have - k * want for have, want in zip(room, problem.demands[c], strict=True))
            stack.append(((*counts, k), rest))
    return found


def _extensible(problem: _Problem, counts: Pattern, wanted: list[int], room: tuple[int, ...]) -> bool:
    return any(counts[c] < wanted[c] and _fit(room, problem.demands[c]) > 0 for c in range(len(counts)))


def _fit(room: Sequence[int], demand: Sequence[int]) -> int:
    return min((have // want for have, want in zip(room, demand, strict=True) if want > 0), default=10**6)


def _by_pattern(problem: _Problem, patterns: list[list[Pattern]], sunk: float) -> Built:
    """Hosts counted by what they carry."""
    model = Model()
    need = np.array([len(members) for members in problem.members], dtype=np.float64)
    cover = model.constraints(len(need), lower=need)
    columns: list[Ints] = []
    for t, listed in enumerate(patterns):
        n = model.variables(len(listed), upper=float(len(problem.types[t])))
        row = model.constraints(1, upper=float(len(problem.types[t])))
        model.entries(row, n, 1.0)
        for c in range(len(need)):
            model.entries(cover[[c]], n, np.array([float(p[c]) for p in listed]))
        columns.append(n)
    prices = np.concatenate([np.full(len(n), problem.price[t]) for t, n in enumerate(columns)])
    objective = _price(np.concatenate(columns), prices, sunk)

    def decode(x: Floats) -> list[tuple[int, Pattern]]:
        rented: list[tuple[int, Pattern]] = []
        for t, n in enumerate(columns):
            hosts = iter(problem.types[t])
            for p, count in enumerate(whole(x, n)):
                rented += [(next(hosts), patterns[t][p]) for _ in range(int(count))]
        return rented

    return model, objective, decode


def _by_host(problem: _Problem, sunk: float) -> Built:
    """Hosts named, components counted on each."""
    model = Model()
    need = np.array([len(members) for members in problem.members], dtype=np.float64)
    served = model.constraints(len(need), lower=need, upper=need)
    opened: list[Ints] = []
    loads: list[tuple[int, Ints]] = []
    for t, hosts in enumerate(problem.types):
        delta = model.variables(len(hosts))
        opened.append(delta)
        order = model.constraints(len(hosts) - 1, upper=0.0)
        model.entries(order, delta[1:], 1.0)
        model.entries(order, delta[:-1], -1.0)
        for k, host in enumerate(hosts):
            most = [
                min(need[c], _fit(problem.capacity[t], d)) * problem.permits[t][c]
                for c, d in enumerate(problem.demands)
            ]
            count = model.variables(len(need), upper=np.array(most, dtype=np.float64))
            loads.append((host, count))
            model.entries(served, count, 1.0)
            for r, room in enumerate(problem.capacity[t]):
                row = model.constraints(1, upper=0.0)
                model.entries(row, count, np.array([float(d[r]) for d in problem.demands]))
                model.entries(row, delta[[k]], -float(room))
            rows = model.constraints(len(need), upper=0.0)
            model.entries(rows, count, 1.0)
            model.entries(rows, np.repeat(delta[k], len(need)), -np.array(most, dtype=np.float64))
    prices = np.concatenate([np.full(len(delta), problem.price[t]) for t, delta in enumerate(opened)])
    objective = _price(np.concatenate(opened), prices, sunk)

    def decode(x: Floats) -> list[tuple[int, Pattern]]:
        return [(host, tuple(int(n) for n in whole(x, count))) for host, count in loads]

    return model, objective, decode


def _price(columns: Ints, prices: Floats, sunk: float) -> Objective:
    integral = bool((prices == np.round(prices)).all()) and sunk == round(sunk)
    return Objective("cloud price", columns, prices, integral=integral, lower=sunk, constant=sunk)


def _deal(problem: _Problem, rented: list[tuple[int, Pattern]]) -> dict[tuple[int, int], int] | None:
    """Hands slots to items; patterns may offer more slots than there are items, never fewer."""
    waiting = [list(members) for members in problem.members]
    hosts: dict[tuple[int, int], int] = {}
    for host, pattern in rented:
        for c, count in enumerate(pattern):
            for _ in range(min(count, len(waiting[c]))):
                hosts[waiting[c].pop(0)] = host
    return None if any(waiting) else hosts
