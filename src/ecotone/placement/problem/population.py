"""How many pods of what kind run where, and what room there is for them: a snapshot as counts.

Pods of one kind are interchangeable, so solvers that move pods think in counts per kind and node; `pods` gives the pods
behind a count back, those first that would be moved first. Only pods of our own scheduler are counted, everything else that
occupies a node (other schedulers' pods, DaemonSets, pods on their way out, reservations) is taken off its capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.model.objects import Pod, PodKind, Reservation
from ecotone.model.snapshot import Snapshot
from ecotone.placement.problem.allowed import Allowed

_FIRST = ("cpu", "memory")


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Rows are kinds, columns are all nodes of the snapshot; the first two resources are CPU and memory."""

    kinds: tuple[PodKind, ...]
    resources: tuple[str, ...]
    size: Floats
    capacity: Floats
    placed: Ints
    fixed: Ints
    ready: Ints
    allowed: Mask
    waiting: tuple[tuple[Pod, ...], ...]
    pods: dict[tuple[int, int], tuple[Pod, ...]]


def population(
    snapshot: Snapshot,
    waiting: Sequence[Pod],
    *,
    stays: Callable[[Pod], bool] = lambda _: False,
    reservations: Iterable[Reservation] | None = None,
) -> Population:
    """`stays`: pods that count but must not be moved. `reservations`: those that hold capacity, by default all in force."""
    schedulers = {pod.spec.scheduler_name for pod in (*waiting, *snapshot.pending.values())}
    running = [pod for pod in snapshot.usage.pods() if _counts(pod, schedulers)]
    kinds = tuple(dict.fromkeys(pod.kind for pod in (*running, *waiting)))
    number = {kind: index for index, kind in enumerate(kinds)}
    resources = (*_FIRST, *sorted({name for kind in kinds for name, _ in kind.spec.requests} - set(_FIRST)), "pods")
    shape = (len(kinds), len(snapshot.nodes))
    placed, fixed, ready = (np.zeros(shape, np.int64) for _ in range(3))
    there: dict[tuple[int, int], list[Pod]] = {}
    for pod in running:
        place = (number[pod.kind], snapshot.nodes.index[pod.node or ""])
        placed[place] += 1
        ready[place] += pod.ready
        fixed[place] += stays(pod)
        there.setdefault(place, []).append(pod)
    size = np.array([[_request(kind, name) for name in resources] for kind in kinds], np.float64)
    size = size.reshape(len(kinds), len(resources))
    held = snapshot.reservations if reservations is None else reservations
    capacity = _free(snapshot, resources, held) + placed.T @ size
    allowed, example = Allowed(snapshot), {pod.kind: pod for pod in (*running, *waiting)}
    return Population(
        kinds=kinds,
        resources=resources,
        size=size,
        capacity=capacity,
        placed=placed,
        fixed=fixed,
        ready=ready,
        allowed=np.array([allowed.mask(example[kind]) for kind in kinds], np.bool_).reshape(shape),
        waiting=tuple(tuple(pod for pod in waiting if pod.kind == kind) for kind in kinds),
        pods={place: tuple(sorted(found, key=lambda pod: _first(pod, stays))) for place, found in there.items()},
    )


def _counts(pod: Pod, schedulers: set[str]) -> bool:
    """True for a bound pod that is here to stay and whose replacement would be ours to place."""
    ours = not schedulers or pod.spec.scheduler_name in schedulers
    return pod.is_peer and ours and pod.owner is not None and pod.kind.workload.kind != "DaemonSet" and not pod.mirror


def _first(pod: Pod, stays: Callable[[Pod], bool]) -> tuple[bool, bool, int, float, str]:
    """Movable before fixed, not ready before ready, cheap to delete before dear, young before old."""
    return stays(pod), pod.ready, pod.deletion_cost, -pod.created, pod.key


def _request(kind: PodKind, resource: str) -> float:
    return 1.0 if resource == "pods" else float(kind.spec.request(resource))


def _free(snapshot: Snapshot, resources: tuple[str, ...], reservations: Iterable[Reservation]) -> Floats:
    nodes, usage = snapshot.nodes, snapshot.usage
    free = np.zeros((len(nodes), len(resources)))
    for index, name in enumerate(resources):
        column = nodes.column(name)
        if name == "pods":
            free[:, index] = nodes.max_pods - usage.pod_count
        elif column is not None:
            free[:, index] = nodes.allocatable[:, column] - usage.requested[:, column]
    for held in reservations:
        row = nodes.index.get(held.node)
        if row is not None and held.expires > snapshot.now and not held.taken_by:
            amounts = {**dict(held.requests), "pods": 1}
            free[row] -= [amounts.get(name, 0) for name in resources]
    return free
