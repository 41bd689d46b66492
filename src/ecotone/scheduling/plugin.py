"""The extension points, as small protocols over whole columns.

They carry the names and the order of the Kubernetes scheduling framework, but each call is about *every* node at once: a
filter returns a mask, a score returns an array. A plugin implements the ones it needs; one file each under `plugins/`.

    PreEnqueue -> QueueSort -> PreFilter -> Filter -> (PostFilter) -> PreScore -> Score -> Normalize -> Reserve -> Permit

PreBind, Bind and PostBind need time and I/O: they are protocols of the executors, not of this pure framework.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeGuard, TypeVar, runtime_checkable

import msgspec
from numpy import generic
from numpy.typing import NDArray

from ecotone.model.arrays import Floats, Ints, Mask, Rows
from ecotone.model.decisions import Preempt
from ecotone.model.objects import Pod, PodKind, PodSpec
from ecotone.model.state import ClusterState

if TYPE_CHECKING:
    from ecotone.scheduling.costs.deadlines import Bound, Lateness
    from ecotone.scheduling.evaluation import Evaluation

Args = Mapping[str, Any]
Scores = Floats | Ints
Change = Literal["nothing", "row", "everything"]
SortKey = tuple[float | str | bool, ...]
P = TypeVar("P")
Cell = TypeVar("Cell", bound=generic)


class Cycle(msgspec.Struct):
    """One pod's way through the framework. `scratch` is each plugin's own notebook for this pod, keyed by its name."""

    state: ClusterState
    pod: Pod
    scratch: dict[str, Any] = msgspec.field(default_factory=dict)
    feasible: Rows | None = None

    @property
    def spec(self) -> PodSpec:
        return self.pod.kind.spec


class Rejection(msgspec.Struct, frozen=True):
    """Why some of the rows fail. `final`: evicting pods from the node would not help."""

    mask: Mask
    reason: str
    final: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """The pod can go nowhere at all, whatever the nodes look like."""

    reason: str
    final: bool = True


class Hold(msgspec.Struct, frozen=True):
    """Placed, but not alone: the pod goes when `needed` pods of its group have a place."""

    group: str
    needed: int
    seconds: float
    why: str


class Event(msgspec.Struct, frozen=True):
    """Something changed in the cluster; `hint` decides whether a waiting pod should care."""

    resource: str
    action: str
    old: object | None = None
    new: object | None = None


class Plugin(Protocol):
    """Made once per profile with its arguments; keeps no cluster state: what it works out for one pod belongs into the
    cycle's `scratch`, what must outlive the round into `state.memory`, both under its name.

    It may declare `placement_changes`: what placing a pod *of the same kind* does to its answers (nothing, only the chosen
    row, or everything; a method if that depends on the pod). Left out, the profile is never batched.
    """

    name: str


def change_by_placement(plugin: Plugin, cycle: Cycle) -> Change | None:
    declared: Change | Callable[[Cycle], Change] | None = getattr(plugin, "placement_changes", None)
    return declared(cycle) if callable(declared) else declared


def declares_changes(plugin: Plugin) -> bool:
    """True if the plugin says what a placement changes."""
    return getattr(plugin, "placement_changes", None) is not None


@runtime_checkable
class PreEnqueue(Plugin, Protocol):
    def admit(self, state: ClusterState, pod: Pod) -> str | None:
        """Why the pod may not enter the queue, or None."""
        ...


@runtime_checkable
class QueueSort(Plugin, Protocol):
    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        """Pods are taken in ascending order of this key."""
        ...


@runtime_checkable
class QueueOrder(Plugin, Protocol):
    """A QueueSort that must see the whole queue to place one pod in it."""

    def order(self, state: ClusterState, pods: Sequence[Pod]) -> list[Pod]:
        """The pods as they are to be taken."""
        ...


@runtime_checkable
class PreFilter(Plugin, Protocol):
    def prefilter(self, cycle: Cycle) -> Refusal | None:
        """Looks at the pod once, before any node; a Refusal ends its cycle."""
        ...


@runtime_checkable
class Narrow(Plugin, Protocol):
    """A PreFilter that knows the only nodes in question; the rest is turned away in its name, unexamined."""

    def narrow(self, cycle: Cycle) -> Mask | None:
        """True for the nodes in question; None: all are."""
        ...


@runtime_checkable
class Incremental(Plugin, Protocol):
    """A PreFilter whose notebook must follow pods that come and go during the cycle (preemption, batches)."""

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """The pod is taken to run on this row from now on."""
        ...

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """The pod is taken not to run there any more."""
        ...


@runtime_checkable
class Filter(Plugin, Protocol):
    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        """Which of these rows pass; None: all of them."""
        ...

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        """The same verdict with its reasons, asked only when somebody wants to know."""
        ...


@runtime_checkable
class PostFilter(Plugin, Protocol):
    def postfilter(self, cycle: Cycle, evaluation: Evaluation) -> Preempt | str | None:
        """Nothing fits: a Preempt decision that would help, or words for the pod's event on why none does, or None."""
        ...


@runtime_checkable
class PreScore(Plugin, Protocol):
    def prescore(self, cycle: Cycle) -> None:
        """`cycle.feasible` is known now."""
        ...


@runtime_checkable
class Score(Plugin, Protocol):
    def score(self, cycle: Cycle, rows: Rows) -> Scores | None:
        """The plugin's own figure for each row, before normalising; None: has no opinion on this pod (skipped)."""
        ...


@runtime_checkable
class Normalize(Plugin, Protocol):
    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        """0..100 over the feasible rows. Without it, raw scores count as they are."""
        ...


@runtime_checkable
class Relative(Normalize, Protocol):
    """A normalisation that takes a figure or two from all rows (the best one, say) and then looks at each row alone.

    As long as these figures stay, one row that changed is normalised without the others.
    """

    def yardstick(self, cycle: Cycle, raw: Scores) -> Hashable:
        """What it takes from the raw scores of all feasible rows."""
        ...

    def normalize_by(self, cycle: Cycle, raw: Scores, rows: Rows, yardstick: Any) -> Scores:
        """`normalize` for some rows, given that."""
        ...


@runtime_checkable
class Steady(Relative, Protocol):
    """A Relative that can tell from one row whether its yardstick stays: it need not look at all of them again."""

    def keeps_yardstick(self, yardstick: Any, before: float, after: float) -> bool:
        """True if the yardstick is the same after one feasible row's raw score has changed so; False: it may not be."""
        ...


@runtime_checkable
class Local(Score, Protocol):
    """A score that a placement changes on more rows than one, but on rows that can be named."""

    def changed_rows(self, cycle: Cycle, row: int) -> Rows | None:
        """Every row whose figure may differ after a placement on this row; None: any may."""
        ...


@runtime_checkable
class SteadyNearby(Local, Relative, Protocol):
    """A Local that can tell from the rows a placement changed whether its yardstick stays."""

    def keeps_yardstick_nearby(self, yardstick: Any, before: Scores, after: Scores) -> bool:
        """True if the yardstick is the same after their raw scores have changed so; False: it may not be."""
        ...


@runtime_checkable
class Reserve(Plugin, Protocol):
    def reserve(self, cycle: Cycle, row: int) -> str | None:
        """The pod gets this row: take note of it, or say why it must not."""
        ...

    def unreserve(self, cycle: Cycle, row: int) -> None:
        """It does not get it after all."""
        ...


@runtime_checkable
class Permit(Plugin, Protocol):
    def permit(self, cycle: Cycle, row: int) -> Hold | Refusal | None:
        """The last word on a pod that has a row: let it go (None), hold it for its group, or refuse."""
        ...


@runtime_checkable
class Gang(Plugin, Protocol):
    """A Permit plugin whose groups are known beforehand: one pod that fits nowhere dooms its group at once."""

    def group_of(self, pod: Pod) -> str | None:
        """The pod's group; None: it is on its own."""
        ...


@runtime_checkable
class Gathering(Gang, Protocol):
    """A Gang that may still be waiting for members: what a solver, which places groups as wholes, asks beforehand.

    Its argument `settleSeconds` says how long it waits after the last arrival; live schedulers set it.
    """

    def incomplete(self, state: ClusterState, pod: Pod) -> Hold | None:
        """The hold on the pod's group while more of it, or of its rivals, is expected; None when it may be decided."""
        ...


@runtime_checkable
class Hint(Plugin, Protocol):
    def hint(self, event: Event, pod: Pod) -> bool:
        """True if this event could help that pod, which this plugin turned away."""
        ...


@runtime_checkable
class Describe(Plugin, Protocol):
    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        """One node's raw score in human units: ms, Mbit/s, millicores."""
        ...


@runtime_checkable
class Account(Plugin, Protocol):
    """A score whose one figure hides why: what it is made of on one node, told of the winner and its rival."""

    def account(self, cycle: Cycle, row: int, raw: float) -> str | None: ...


@runtime_checkable
class Cost(Plugin, Protocol):
    """A score that has an absolute meaning: what the pod would cost on each row, in `cost_unit`, lower is better.

    The descheduler weighs moves by it, so that scheduler and descheduler can never disagree about what is better.
    """

    cost_unit: str

    def cost(self, cycle: Cycle, rows: Rows) -> Floats:
        """What the pod costs on each row."""
        ...


@runtime_checkable
class CountsWaiting(Plugin, Protocol):
    """A cost of which a part is how long a pod waits for CPU, by what its node is measured to use."""

    def waiting_cost(self, cycle: Cycle, rows: Rows) -> Floats:
        """That part of the cost on each row."""
        ...


@runtime_checkable
class ChargesLateness(Plugin, Protocol):
    """A cost that charges for missed soft deadlines: plans for whole applications then charge the same."""

    lateness: Lateness


@runtime_checkable
class WeighsMessages(Plugin, Protocol):
    """A cost that says what a millisecond counts for which nobody waits: plans for whole applications count it so."""

    unawaited: float


@runtime_checkable
class KeepsRedundancy(Plugin, Protocol):
    """A cost that says whether replicas are kept on several nodes, and in several zones, whatever that costs."""

    redundancy: bool


@runtime_checkable
class AwaitsArrivals(Plugin, Protocol):
    """A cost that places new applications as wholes: the pods of one that is still being created wait for the rest.

    Its argument `settleSeconds` says how long they wait after the last arrival; live schedulers set it.
    """

    def settling_seconds(self) -> float: ...


@runtime_checkable
class KeepsNear(Plugin, Protocol):
    """A filter that holds pods near others: whoever places several at once must know, as it looks at one after the other."""

    def keeps_near(self, state: ClusterState, kind: PodKind) -> Sequence[Bound]:
        """What every pod of the kind must be near to."""
        ...


@runtime_checkable
class LastWord(Plugin, Protocol):
    """Decides between nodes that score alike and that Kubernetes' own scores do not tell apart either."""

    def last_word(self, cycle: Cycle, rows: Rows, raw: Scores) -> Floats | None:
        """What each costs, the least wins; None: lots are drawn, as kube-scheduler draws them. `raw`: its own scores."""
        ...


_IMPLEMENTS: dict[tuple[type, type], bool] = {}


class Seam(Generic[P]):
    """A protocol that plugins may implement, as a value that types can follow: where `has` is true, the plugin is a P.

    `isinstance` with a protocol walks all attributes; decisions are made often, so a class is asked once.
    """

    __slots__ = ("protocol",)

    def __init__(self, protocol: type) -> None:
        self.protocol = protocol

    def has(self, plugin: object) -> TypeGuard[P]:
        key = (type(plugin), self.protocol)
        known = _IMPLEMENTS.get(key)
        if known is None:
            known = _IMPLEMENTS[key] = isinstance(plugin, self.protocol)
        return known

    def offered_by(self, factory: object) -> bool:
        """True if what this class makes has the protocol's methods."""
        return all(callable(getattr(factory, name, None)) for name in _methods(self.protocol))


def _methods(protocol: type) -> frozenset[str]:
    return frozenset(
        name
        for each in protocol.__mro__
        if getattr(each, "_is_protocol", False)
        for name, value in vars(each).items()
        if not name.startswith("_") and callable(value)
    )


PRE_ENQUEUE: Seam[PreEnqueue] = Seam(PreEnqueue)
QUEUE_SORT: Seam[QueueSort] = Seam(QueueSort)
QUEUE_ORDER: Seam[QueueOrder] = Seam(QueueOrder)
PRE_FILTER: Seam[PreFilter] = Seam(PreFilter)
NARROW: Seam[Narrow] = Seam(Narrow)
INCREMENTAL: Seam[Incremental] = Seam(Incremental)
FILTER: Seam[Filter] = Seam(Filter)
POST_FILTER: Seam[PostFilter] = Seam(PostFilter)
PRE_SCORE: Seam[PreScore] = Seam(PreScore)
SCORE: Seam[Score] = Seam(Score)
NORMALIZE: Seam[Normalize] = Seam(Normalize)
RELATIVE: Seam[Relative] = Seam(Relative)
STEADY: Seam[Steady] = Seam(Steady)
LOCAL: Seam[Local] = Seam(Local)
STEADY_NEARBY: Seam[SteadyNearby] = Seam(SteadyNearby)
RESERVE: Seam[Reserve] = Seam(Reserve)
PERMIT: Seam[Permit] = Seam(Permit)
GANG: Seam[Gang] = Seam(Gang)
GATHERING: Seam[Gathering] = Seam(Gathering)
HINT: Seam[Hint] = Seam(Hint)
DESCRIBE: Seam[Describe] = Seam(Describe)
COST: Seam[Cost] = Seam(Cost)
COUNTS_WAITING: Seam[CountsWaiting] = Seam(CountsWaiting)
AWAITS_ARRIVALS: Seam[AwaitsArrivals] = Seam(AwaitsArrivals)
KEEPS_NEAR: Seam[KeepsNear] = Seam(KeepsNear)
LAST_WORD: Seam[LastWord] = Seam(LastWord)

# The points at which a profile may enable plugins, by their names in configuration files.
SEAMS: dict[str, Seam[Any]] = {
    "preEnqueue": PRE_ENQUEUE,
    "queueSort": QUEUE_SORT,
    "preFilter": PRE_FILTER,
    "filter": FILTER,
    "postFilter": POST_FILTER,
    "preScore": PRE_SCORE,
    "score": SCORE,
    "reserve": RESERVE,
    "permit": PERMIT,
}


def points_of(factory: object) -> list[str]:
    """The points that a plugin's class, or a plugin, implements."""
    return [point for point, seam in SEAMS.items() if seam.offered_by(factory)]


def pick(column: NDArray[Cell], rows: Rows, cycle: Cycle) -> NDArray[Cell]:
    """`column[rows]`, without copying when all nodes are asked for."""
    return column if rows is cycle.state.nodes.all_rows else column[rows]
