"""The paper's own formulation (6)-(28), kept to be compared with.

Every component and every pair of nodes is named: x[A,i,n], z[A,i], f[n], and y[A,i,u,v] = x[A,i,u] x[A,q,v], which
carries the delay from microservice to queue. The objective is G = F + Z, edge nodes at their prices (1 each where none has
one), the cloud is endless, and an application whose queue fits nowhere makes the whole model infeasible. What the text
leaves open is filled as follows:

* the product after (4) is x[A,i,u] x[A,q,v] (the text writes x[A,q,n]); y is continuous, which (12) and (13) make
  enough;
* Gamma is one more than the number of components, the least that works;
* delta and t of the cloud problem are binary ((27) gives t's domain, the text promises delta's).

Admission, an order of importance among objectives and a preference among equal optima are what the other models add.
"""

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.placement.exact.milp import Model, Objective, Stage, whole
from ecotone.placement.exact.scaling import scale
from ecotone.placement.problem.instance import Instance, delay_bound

CLOUD = -1


@dataclass(frozen=True, slots=True)
class PaperEdge:
    """`hosts` per application, CLOUD for a forwarded microservice; None when infeasible or out of time."""

    hosts: tuple[tuple[int, ...], ...] | None
    stage: Stage
    variables: int


@dataclass(frozen=True, slots=True)
class PaperCloud:
    hosts: dict[tuple[int, int], int] | None
    stage: Stage


def edge_problem(instance: Instance, *, time_limit: float | None = None) -> PaperEdge:
    """Equations (6)-(18) over the edge hosts. Components that already run are not part of this model."""
    model, edge, scaled = Model(), instance.edge, scale(instance)
    n = len(edge)
    distance = np.asarray(instance.distance[np.ix_(edge, edge)], dtype=np.float64)
    to_control = instance.control_distance[edge]
    gamma = 1.0 + sum(len(application.components) for application in instance.applications)
    zeta = instance.in_use[edge].astype(np.float64)
    f = model.variables(n)
    capacity = [model.constraints(n, upper=scaled.free[edge, r].astype(np.float64)) for r in range(len(scaled.units))]
    used_low = model.constraints(n, upper=-zeta / gamma)  # (14)
    used_high = model.constraints(n, lower=-zeta)  # (15)
    model.entries(used_low, f, -1.0)
    model.entries(used_high, f, -1.0)
    x: list[list[Ints]] = []
    z: list[Ints] = []
    for application in instance.applications:
        parts = []
        forward = model.variables(len(application.components))
        model_z = model.constraints(1, upper=0.0)
        model.entries(model_z, forward[[0]], 1.0)  # (7)
        for i, component in enumerate(application.components):
            columns = model.variables(n)
            one = model.constraints(1, lower=1.0, upper=1.0)  # (6)
            model.entries(one, columns, 1.0)
            model.entries(one, forward[[i]], 1.0)
            for r, amount in enumerate(scaled.demand(component)):
                model.entries(capacity[r], columns, float(amount))  # (8), (9)
            model.entries(used_low, columns, 1.0 / gamma)
            model.entries(used_high, columns, 1.0)
            parts.append(columns)
        near = model.constraints(n, upper=application.max_delay_ms)  # (10)
        model.entries(near, parts[0], to_control)
        for component, columns in zip(application.microservices, parts[1:], strict=True):
            y = model.variables(n * n, upper=np.inf, integer=False).reshape(n, n)
            delay = model.constraints(1, upper=delay_bound(application, component))  # (4), (11)
            model.entries(delay, y.ravel(), distance.ravel())
            here = model.constraints(n, lower=0.0, upper=0.0)  # (12)
            model.entries(here[:, None], y, 1.0)
            model.entries(here, columns, -1.0)
            there = model.constraints(n, upper=0.0)  # (13)
            model.entries(there[None, :], y, 1.0)
            model.entries(there, parts[0], -1.0)
        x.append(parts)
        z.append(forward)
    forwarded = np.concatenate([forward[1:] for forward in z] or [f[:0]])
    prices = np.concatenate([instance.opening[edge], np.ones(len(forwarded))])
    objective = Objective("G", np.concatenate([f, forwarded]), prices, integral=bool((prices == np.rint(prices)).all()))
    solution, stage = model.minimise(objective, time_limit=time_limit)
    if solution is None:
        return PaperEdge(hosts=None, stage=stage, variables=model.columns)
    hosts = tuple(tuple(_host(whole(solution, columns), edge) for columns in parts) for parts in x)
    return PaperEdge(hosts=hosts, stage=stage, variables=model.columns)


def cloud_problem(
    instance: Instance, forwarded: list[tuple[int, int]], *, time_limit: float | None = None
) -> PaperCloud:
    """Equations (19)-(28): every forwarded microservice (application, position) on one named cloud host."""
    if not forwarded:
        return PaperCloud(hosts={}, stage=Stage(name="P", value=0.0, bound=0.0, status="optimal"))
    model, cloud, scaled = Model(), instance.cloud, scale(instance)
    s = len(cloud)
    gamma, psi = 1.0 + len(forwarded), instance.in_use[cloud].astype(np.float64)
    delta = model.variables(s)
    capacity = [model.constraints(s, upper=scaled.free[cloud, r].astype(np.float64)) for r in range(len(scaled.units))]
    used_low = model.constraints(s, upper=-psi / gamma)  # (25)
    used_high = model.constraints(s, lower=-psi)  # (26)
    model.entries(used_low, delta, -1.0)
    model.entries(used_high, delta, -1.0)
    t = []
    for a, i in forwarded:
        columns = model.variables(s)  # (27)
        one = model.constraints(1, lower=1.0, upper=1.0)  # (22)
        model.entries(one, columns, 1.0)
        for r, amount in enumerate(scaled.demand(instance.applications[a].components[i])):
            model.entries(capacity[r], columns, float(amount))  # (23), (24)
        model.entries(used_low, columns, 1.0 / gamma)
        model.entries(used_high, columns, 1.0)
        t.append(columns)
    price = Objective("P", delta, instance.price[cloud], integral=False)
    solution, stage = model.minimise(price, time_limit=time_limit)
    if solution is None:
        return PaperCloud(hosts=None, stage=stage)
    hosts = {item: _host(whole(solution, columns), cloud) for item, columns in zip(forwarded, t, strict=True)}
    return PaperCloud(hosts=hosts, stage=stage)


def _host(chosen: Ints, hosts: Ints) -> int:
    return int(hosts[np.argmax(chosen)]) if chosen.any() else CLOUD
