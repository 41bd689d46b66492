"""The extension points, as small protocols over whole columns.

They carry the names and the order of the Kubernetes scheduling framework, but each call is about *every* node at once: a
filter returns a mask, a score returns an array. A plugin implements the ones it needs; one file each under `plugins/`.

    PreEnqueue -> QueueSort -> PreFilter -> Filter -> (PostFilter) -> PreScore -> Score -> Normalize -> Reserve -> Permit

PreBind, Bind and PostBind need time and I/O: they are protocols of the executors, not of this pure framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from ecotone.model.arrays import Floats, Ints, Mask, Rows
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState

Args = Mapping[str, Any]
Scores = Floats | Ints
Change = Literal["nothing", "row", "everything"]
SortKey = tuple[Any, ...]


@dataclass(slots=True)
class Cycle:
    """One pod's way through the framework. `scratch` is each plugin's own notebook for this pod, keyed by its name."""

    state: ClusterState
    pod: Pod
    scratch: dict[str, Any] = field(default_factory=dict)
    feasible: Rows | None = None

    @property
    def spec(self) -> Any:
        return self.pod.kind.spec


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why some of the rows fail. `final`: evicting pods from the node would not help."""

    mask: Mask
    reason: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """The pod can go nowhere at all, whatever the nodes look like."""

    reason: str
    final: bool = True


@dataclass(frozen=True, slots=True)
class Hold:
    """Placed, but not alone: the pod goes when `needed` pods of its group have a place."""

    group: str
    needed: int
    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something changed in the cluster; `hint` decides whether a waiting pod should care."""

    resource: str
    action: str
    old: object | None = None
    new: object | None = None


class Plugin(Protocol):
    """Made once per profile with its arguments. `placement_changes` says what placing a pod *of the same kind* does to
    this plugin's answers: nothing, only the chosen row, or everything; a method if that depends on the pod. Left out
    (None), the profile is never batched.
    """

    name: str

    @property
    def placement_changes(self) -> Change | Callable[[Cycle], Change] | None: ...


def change_by_placement(plugin: Plugin, cycle: Cycle) -> Change | None:
    declared = plugin.placement_changes
    return declared(cycle) if callable(declared) else declared


@runtime_checkable
class PreEnqueue(Protocol):
    def admit(self, state: ClusterState, pod: Pod) -> str | None:
        """Why the pod may not enter the queue, or None."""
        ...


@runtime_checkable
class QueueSort(Protocol):
    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        """Pods are taken in ascending order of this key."""
        ...


@runtime_checkable
class QueueOrder(Protocol):
    """A QueueSort that must see the whole queue to place one pod in it."""

    def order(self, state: ClusterState, pods: Sequence[Pod]) -> list[Pod]: ...


@runtime_checkable
class PreFilter(Protocol):
    def prefilter(self, cycle: Cycle) -> Refusal | None: ...


@runtime_checkable
class Narrow(Protocol):
    """A PreFilter that knows the only nodes in question; the rest is turned away in its name, unexamined."""

    def narrow(self, cycle: Cycle) -> Mask | None: ...


@runtime_checkable
class Incremental(Protocol):
    """A PreFilter whose notebook must follow pods that come and go during the cycle (preemption, batches)."""

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None: ...
    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None: ...


@runtime_checkable
class Filter(Protocol):
    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        """Which of these rows pass; None: all of them."""
        ...

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        """The same verdict with its reasons, asked only when somebody wants to know."""
        ...


@runtime_checkable
class PostFilter(Protocol):
    def postfilter(self, cycle: Cycle, framework: Any) -> Any:
        """Nothing fits: a Preempt decision that would help, or words for the pod's event on why none does, or None."""
        ...


@runtime_checkable
class PreScore(Protocol):
    def prescore(self, cycle: Cycle) -> None:
        """`cycle.feasible` is known now."""
        ...


@runtime_checkable
class Score(Protocol):
    def score(self, cycle: Cycle, rows: Rows) -> Scores | None:
        """The plugin's own figure for each row, before normalising; None: has no opinion on this pod (skipped)."""
        ...


@runtime_checkable
class Normalize(Protocol):
    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        """0..100 over the feasible rows. Without it, raw scores count as they are."""
        ...


@runtime_checkable
class Reserve(Protocol):
    def reserve(self, cycle: Cycle, row: int) -> str | None: ...
    def unreserve(self, cycle: Cycle, row: int) -> None: ...


@runtime_checkable
class Permit(Protocol):
    def permit(self, cycle: Cycle, row: int) -> Hold | Refusal | None: ...


@runtime_checkable
class Gang(Protocol):
    """A Permit plugin whose groups are known beforehand: one pod that fits nowhere dooms its group at once."""

    def group_of(self, pod: Pod) -> str | None: ...


@runtime_checkable
class Gathering(Gang, Protocol):
    """A Gang that may still be waiting for members: what a solver, which places groups as wholes, asks beforehand."""

    def incomplete(self, state: ClusterState, pod: Pod) -> Hold | None:
        """The hold on the pod's group while more of it, or of its rivals, is expected; None when it may be decided."""
        ...


@runtime_checkable
class Hint(Protocol):
    def hint(self, event: Event, pod: Pod, reasons: Sequence[str]) -> bool:
        """Could this event help that pod, which this plugin turned away for these reasons?"""
        ...


@runtime_checkable
class Remember(Protocol):
    """A policy with a memory (a round-robin pointer, say): opaque, handed out and in again with the snapshot."""

    def recall(self, memory: object | None) -> None: ...
    def remember(self) -> object: ...


@runtime_checkable
class Describe(Protocol):
    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        """One node's raw score in human units: ms, Mbit/s, millicores."""
        ...


@runtime_checkable
class Cost(Protocol):
    """A score that has an absolute meaning: what the pod would cost on each row, in `cost_unit`, lower is better.

    The descheduler weighs moves by it, so that scheduler and descheduler can never disagree about what is better.
    """

    cost_unit: str

    def cost(self, cycle: Cycle, rows: Rows) -> Floats: ...


_IMPLEMENTS: dict[tuple[type, type], bool] = {}


def implements(plugin: object, protocol: type) -> bool:
    """`isinstance(plugin, protocol)`, asked once per class: the check walks all attributes, decisions are made often."""
    key = (type(plugin), protocol)
    known = _IMPLEMENTS.get(key)
    if known is None:
        known = _IMPLEMENTS[key] = isinstance(plugin, protocol)
    return known


def pick(column: Any, rows: Rows, cycle: Cycle) -> Any:
    """`column[rows]`, without copying when all nodes are asked for."""
    return column if rows is cycle.state.nodes.all_rows else column[rows]
