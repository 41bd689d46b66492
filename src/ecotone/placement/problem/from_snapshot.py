"""From a snapshot of a Kubernetes cluster to a placement problem, and nothing lost on the way.

Capacity is what a scheduler may still hand out: allocatable minus requested minus what reservations hold, per
resource any of the pods asks for, and the number of pods. Pods that run stay where they are (`pinned`) and make their
node one that is in use. Rules that belong to a pod (taints, selectors, affinity to nodes, ports) are asked of the
scheduler's own filters, so a solver cannot put a pod where the scheduler would refuse it; rules between pods (spread,
pod affinity) are not part of the paper's problem and not kept by it.

Delays are the snapshot's round trips. A pair that nobody measured takes the shortest path over the pairs that were,
which turns a file with links alone into the paper's distances, and only then the largest delay known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.model.errors import InputError
from ecotone.model.objects import Pod
from ecotone.model.paths import path_lengths
from ecotone.model.snapshot import Snapshot
from ecotone.placement.problem.allowed import Allowed
from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication
from ecotone.scheduling.plugins.pogonip.application import (
    CONTROL_LABEL,
    QUEUE_ROLE,
    ApplicationKey,
    application_of,
    cloud_rows,
    control_rows,
    is_queue,
)


@dataclass(frozen=True)
class Reading:
    """The problem, the pod behind each component, and the pending pods that are outside it, with the reason."""

    instance: Instance
    pods: dict[str, tuple[Pod, ...]]
    outside: tuple[tuple[Pod, str], ...] = ()
    asked: frozenset[str] = frozenset()


def read(snapshot: Snapshot, waiting: Sequence[Pod]) -> Reading:
    """The applications that have pods among `waiting` or running, and the hosts they may use."""
    groups, outside = _groups(snapshot, waiting)
    resources = _resources(groups.values())
    allowed = Allowed(snapshot)
    applications = tuple(_application(key, pods, resources, allowed) for key, pods in groups.items())
    busy = {pod.node for pods in groups.values() for pod in pods if pod.node is not None}
    instance = Instance(
        hosts=_hosts(snapshot, resources, busy),
        applications=applications,
        control=_control(snapshot) if applications else (),
        distance=delays(snapshot),
        resources=resources,
    )
    return Reading(
        instance=instance,
        pods={str(key): pods for key, pods in groups.items()},
        outside=tuple(outside),
        asked=frozenset(pod.key for pod in waiting),
    )


def delays(snapshot: Snapshot) -> Floats:
    """Round trips between all nodes; unmeasured pairs by shortest path, then by the largest known."""
    size = len(snapshot.nodes)
    table = np.zeros((size, size))
    missing = np.zeros((size, size), dtype=np.bool_)
    for row in range(size):
        table[:, row] = snapshot.network.toward(row)
        missing[:, row] = snapshot.network.unknown_toward(row)
    if missing.any() and not missing.all() and snapshot.network.anything_known:
        starts, ends = np.nonzero(~missing)
        paths = path_lengths(size, starts=starts, ends=ends, lengths=table[~missing], directed=True)
        filled = missing & np.isfinite(paths)
        table[filled] = np.round(paths[filled], 6)
    return table


def _groups(
    snapshot: Snapshot, waiting: Sequence[Pod]
) -> tuple[dict[ApplicationKey, tuple[Pod, ...]], list[tuple[Pod, str]]]:
    members: dict[ApplicationKey, list[Pod]] = {}
    outside: list[tuple[Pod, str]] = []
    # A caller may ask about some pods of an application; the others that wait with them are part of its problem too.
    asked = {pod.key for pod in waiting}
    touched = {application_of(pod.kind) for pod in waiting}
    others = [
        pod
        for key, pod in snapshot.pending.items()
        if key not in asked and application_of(pod.kind) in touched - {None}
    ]
    for pod in [*waiting, *others, *(each for each in snapshot.usage.pods() if each.is_peer)]:
        key = application_of(pod.kind)
        if key is not None:
            members.setdefault(key, []).append(pod)
        elif pod.node is None:
            outside.append((pod, "belongs to no application: it carries no app-group label"))
    groups: dict[ApplicationKey, tuple[Pod, ...]] = {}
    for key in sorted(members, key=lambda each: min((pod.created, pod.key) for pod in members[each])):
        pods = members[key]
        queues = [pod for pod in pods if is_queue(pod.kind)]
        trouble = _trouble(key, queues, pods)
        if trouble is not None:
            outside += [(pod, trouble) for pod in pods if pod.node is None]
            continue
        others = sorted((pod for pod in pods if not is_queue(pod.kind)), key=lambda pod: (pod.created, pod.key))
        groups[key] = (queues[0], *others)
    return groups, outside


def _trouble(key: ApplicationKey, queues: list[Pod], pods: list[Pod]) -> str | None:
    if not queues:
        return f"application {key} has no message queue: no pod is labelled ecotone.dev/role={QUEUE_ROLE}"
    if len(queues) > 1:
        return f"application {key} has {len(queues)} message queue pods; one is what this policy places"
    if all(pod.kind.max_latency_ms is None for pod in pods):
        return f"application {key} states no delay bound: annotate its pods with ecotone.dev/max-latency"
    return None


def _resources(groups: Iterable[tuple[Pod, ...]]) -> tuple[str, ...]:
    asked = {name for pods in groups for pod in pods for name, amount in pod.spec.requests if amount > 0}
    return ("cpu", "memory", "pods", *sorted(asked - {"cpu", "memory", "pods"}))


def _application(
    key: ApplicationKey, pods: tuple[Pod, ...], resources: tuple[str, ...], allowed: Allowed
) -> QueueApplication:
    queue, *others = (_component(pod, resources, allowed) for pod in pods)
    bounds = [pod.kind.max_latency_ms for pod in pods if pod.kind.max_latency_ms is not None]
    return QueueApplication(name=str(key), queue=queue, microservices=tuple(others), max_delay_ms=min(bounds))


def _component(pod: Pod, resources: tuple[str, ...], allowed: Allowed) -> Component:
    demand = tuple(1 if name == "pods" else pod.spec.request(name) for name in resources)
    if pod.node is not None:
        return Component(name=pod.key, demand=demand, pinned=pod.node)
    for resource in ("cpu", "memory"):
        if pod.spec.request(resource) <= 0:
            raise InputError(
                f"pod {pod.key} requests no {resource}", hint=f"this policy needs resources.requests.{resource}"
            )
    return Component(name=pod.key, demand=demand, allowed=allowed.hosts(pod))


def _hosts(snapshot: Snapshot, resources: tuple[str, ...], busy: set[str]) -> tuple[Host, ...]:
    nodes, usage = snapshot.nodes, snapshot.usage
    free = np.zeros((len(nodes), len(resources)), dtype=np.int64)
    for r, name in enumerate(resources):
        column = nodes.column(name)
        if name == "pods":
            free[:, r] = nodes.max_pods - usage.pod_count
        elif column is not None:
            free[:, r] = nodes.allocatable[:, column] - usage.requested[:, column]
    for held in snapshot.reservations:
        row = nodes.index.get(held.node)
        if row is not None:
            for name, amount in held.requests:
                if name in resources:
                    free[row, resources.index(name)] -= amount
    cloud = cloud_rows(nodes)
    return tuple(
        Host(
            name=name,
            tier="cloud" if cloud[row] else "edge",
            free=tuple(int(amount) for amount in free[row]),
            price=float(nodes.price[row]),
            in_use=name in busy,
        )
        for row, name in enumerate(nodes.names)
    )


def _control(snapshot: Snapshot) -> tuple[str, ...]:
    rows = control_rows(snapshot.nodes)
    if not len(rows):
        raise InputError("no control node: queues are placed near it", hint=f"label one node {CONTROL_LABEL}")
    return tuple(snapshot.nodes.names[row] for row in rows)
