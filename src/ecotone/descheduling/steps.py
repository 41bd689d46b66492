"""A plan of moves that outlives one look at the cluster.

A suggestion is a sequence: an offload makes the room that the next pod moves into. The plan is kept in the policy's memory
as the steps that have not begun, and every round asks of the snapshot which of them can begin now: the pod is still there
and ready, its target has room, its service has another ready pod and no other move under way. Steps that do not depend on
each other begin together. A plan that no longer matches the cluster, or takes too long, is given up; whatever it has done
so far is a placement like any other, and the next suggestion starts from it. Nothing here waits for a particular event, so
lost, doubled or unrelated events and restarts do no harm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot

MEMORY = "plan"


@dataclass(frozen=True, slots=True)
class Step:
    """One pod of a workload (`namespace/name`) from node to node."""

    workload: str
    origin: str
    target: str


@dataclass(frozen=True, slots=True)
class StepPlan:
    """`gain` is what the whole plan brings, `made` how many steps it had; `moving`: the workloads of its last stage.

    `least`: the fewest nodes and zones that its workloads keep; `gives_up`: those that keep a promise only without.
    """

    steps: tuple[Step, ...] = ()
    since: float = 0.0
    gain: float = 0.0
    made: int = 0
    moving: tuple[str, ...] = ()
    least: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    gives_up: tuple[str, ...] = ()

    def as_memory(self) -> Mapping[str, object]:
        return {
            "steps": [[step.workload, step.origin, step.target] for step in self.steps],
            "since": self.since,
            "gain": self.gain,
            "made": self.made,
            "moving": list(self.moving),
            **({"least": {name: list(each) for name, each in self.least.items()}} if self.least else {}),
            **({"gives up": list(self.gives_up)} if self.gives_up else {}),
        }

    def after(self, begun: Sequence[Step]) -> StepPlan:
        """What is left of it once these have begun: they are its stage then."""
        moving = tuple(sorted({step.workload for step in begun})) or self.moving
        return replace(self, steps=left(self.steps, begun), moving=moving)


def plan_in(memory: Mapping[str, object]) -> StepPlan:
    """The plan that a policy's memory holds."""
    return from_memory(memory.get(MEMORY))


def from_memory(memory: object) -> StepPlan:
    """What `as_memory` wrote; anything else is no plan."""
    if not isinstance(memory, Mapping):
        return StepPlan()
    try:
        steps = tuple(Step(*map(str, each)) for each in memory["steps"])
        moving = tuple(str(workload) for workload in memory.get("moving", ()))
        least = {str(name): (int(nodes), int(zones)) for name, (nodes, zones) in memory.get("least", {}).items()}
        gives_up = tuple(str(workload) for workload in memory.get("gives up", ()))
        figures = (float(memory["since"]), float(memory["gain"]), int(memory["made"]))
        return StepPlan(steps, *figures, moving, least, gives_up)
    except (AttributeError, KeyError, TypeError, ValueError):
        return StepPlan()


def under_way(snapshot: Snapshot, only: Collection[WorkloadKey] | None = None) -> frozenset[str]:
    """Workloads with a move that has not ended: a place is reserved, a pod waits or is not ready, or one is leaving.

    `only` these are asked about, so that a pod of somebody else's that waits for ever stops nobody.
    """
    busy = {str(held.workload) for held in snapshot.reservations if held.expires > snapshot.now and not held.taken_by}
    busy |= {str(pod.kind.workload) for pod in snapshot.pending.values()}
    busy |= {str(pod.kind.workload) for pod in snapshot.usage.pods() if not pod.ready and not pod.terminal}
    return frozenset(busy if only is None else busy & {str(each) for each in only})


def left(steps: Sequence[Step], begun: Sequence[Step]) -> tuple[Step, ...]:
    remaining = list(steps)
    for step in begun:
        remaining.remove(step)
    return tuple(remaining)
