"""The policies `pogonip` and `pogonip-opt`: whole applications of a snapshot, decided at once.

Every pending pod of an admitted application gets a Bind; all pending pods of a rejected one wait with the same
reason. Pods outside any asynchronous application wait too, and say so: these policies have nothing to place them by.
Decisions stand in the order queue, then microservices, application by application. An answer is handed out only after
the independent checker has found nothing wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.model.decisions import Bind, Decision, Decisions, Wait
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.placement.exact import pogonip_opt as exact
from ecotone.placement.heuristic import improved_greedy
from ecotone.placement.heuristic import pogonip as heuristic
from ecotone.placement.heuristic.pogonip import Order, Tie
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.from_snapshot import Reading, read
from ecotone.placement.problem.instance import Instance, QueueApplication
from ecotone.placement.problem.solution import Figures, Placement, figures


def pogonip(
    snapshot: Snapshot,
    waiting: Sequence[Pod],
    *,
    order: Order = "queues-first",
    tie: Tie = "name",
    seed: int | None = None,
) -> Decisions:
    """The heuristic of 2021. `order: application` is Algorithm 1 to the letter; `tie` is name, latency or random.

    `seed` is that of the random ties; null: the snapshot's.
    """
    reading = read(snapshot, waiting)
    draw = snapshot.seed if seed is None else seed
    return _decisions(reading, heuristic.pogonip(reading.instance, order=order, tie=tie, seed=draw))


def pogonip_opt(
    snapshot: Snapshot,
    waiting: Sequence[Pod],
    *,
    timeLimit: float | None = 60.0,
    gap: float = 0.0,
) -> Decisions:
    """The exact models. `timeLimit` is in seconds, shared over the stages; null lets them run to the end.

    `gap` is the relative gap to the bound at which a stage counts as solved.
    """
    reading = read(snapshot, waiting)
    answer = exact.pogonip_opt(reading.instance, time_limit=timeLimit, gap=gap)
    return _decisions(reading, answer.placement)


def pogonip_greedy(snapshot: Snapshot, waiting: Sequence[Pod]) -> Decisions:
    """Queues first, smallest microservice first: our order of Pogonip's rules."""
    reading = read(snapshot, waiting)
    return _decisions(reading, improved_greedy.improved_greedy(reading.instance))


def objective(snapshot: Snapshot, decisions: Sequence[Decision]) -> dict[str, Any]:
    """The figures of these policies after the decisions, over every asynchronous application of the snapshot."""
    waiting = list(snapshot.pending.values())
    reading = read(snapshot, waiting)
    target = {each.pod: each.node for each in decisions if isinstance(each, Bind)}
    rows: list[tuple[int, ...] | None] = []
    for application in reading.instance.applications:
        names = [component.pinned or target.get(component.name) for component in application.components]
        complete = all(name is not None for name in names)
        rows.append(tuple(reading.instance.index[name] for name in names if name is not None) if complete else None)
    after = figures(reading.instance, Placement(hosts=tuple(rows)))
    return as_objective(after)


def as_objective(result: Figures) -> dict[str, Any]:
    return {
        "apps_placed": result.apps_placed,
        "apps_rejected": result.apps_rejected,
        "edge_nodes_used": result.edge_nodes_used,
        "edge_cost_per_hour": result.edge_cost_per_hour,
        "forwarded_to_cloud": result.forwarded_to_cloud,
        "cloud_cost_per_hour": result.cloud_cost_per_hour,
        "latency_ms": {
            "mean": result.latency_ms.mean,
            "median": result.latency_ms.median,
            "max": result.latency_ms.max,
        },
    }


def _decisions(reading: Reading, placement: Placement) -> Decisions:
    instance = reading.instance
    wrong = violations(instance, placement)
    if wrong:
        raise AssertionError(f"placement refused by the checker: {'; '.join(wrong)}")
    decisions: list[Decision] = []
    for application, hosts in zip(instance.applications, placement.hosts, strict=True):
        for i, pod in enumerate(reading.pods[application.name]):
            if pod.key not in reading.asked:
                continue
            if hosts is None:
                why = f"application {application.name}: {placement.reasons[application.name]}"
                decisions.append(Wait(pod.key, why, uid=pod.uid, group=application.name))
            else:
                why = _why(instance, application, hosts, i)
                decisions.append(Bind(pod.key, instance.hosts[hosts[i]].name, why, uid=pod.uid))
    decisions += [Wait(pod.key, why, uid=pod.uid) for pod, why in reading.outside if pod.key in reading.asked]
    return Decisions(tuple(decisions))


def _why(instance: Instance, application: QueueApplication, hosts: tuple[int, ...], i: int) -> str:
    bound = f"bound {application.max_delay_ms:g} ms"
    if i == 0:
        delay = float(instance.control_distance[hosts[0]])
        return f"message queue of {application.name}, {delay:g} ms from the control node ({bound})"
    host = instance.hosts[hosts[i]]
    delay = float(instance.delay(application.components[i])[hosts[0], hosts[i]])
    queue = instance.hosts[hosts[0]].name
    if host.tier == "edge":
        return f"{delay:g} ms from its queue on {queue} ({bound})"
    return f"forwarded to the cloud at {host.price:g}/h, {delay:g} ms from its queue on {queue}"
