"""A profile brought to life: its plugins made and sorted by extension point.

Holds no cluster state. The same `Framework` serves the simulator, files and live clusters, one cycle after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from ecotone.model.errors import InputError
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.channels import UNAWAITED
from ecotone.scheduling.costs.deadlines import DEFAULT as LATENESS
from ecotone.scheduling.costs.deadlines import Lateness
from ecotone.scheduling.plugin import (
    AWAITS_ARRIVALS,
    COST,
    FILTER,
    GANG,
    GATHERING,
    HINT,
    INCREMENTAL,
    LAST_WORD,
    LOCAL,
    NARROW,
    NORMALIZE,
    PERMIT,
    POST_FILTER,
    PRE_ENQUEUE,
    PRE_FILTER,
    PRE_SCORE,
    QUEUE_ORDER,
    QUEUE_SORT,
    RELATIVE,
    RESERVE,
    SCORE,
    SEAMS,
    STEADY,
    STEADY_NEARBY,
    ChargesLateness,
    Cost,
    Event,
    KeepsRedundancy,
    Local,
    Normalize,
    Permit,
    Plugin,
    PreScore,
    QueueOrder,
    QueueSort,
    Relative,
    Score,
    Seam,
    SortKey,
    Steady,
    SteadyNearby,
    WeighsMessages,
    declares_changes,
    points_of,
)
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.profile import POINTS_OF_SCORE, Profile, Use

P = TypeVar("P")


class Scorer(msgspec.Struct, frozen=True):
    """A scoring plugin with its weight and its other extension points (pre-score, normalize).

    `relative` is `normalizes` where rows can be normalised apart, `steady` where it knows what one row does to its yardstick,
    `local` the plugin where it names the rows that change, `nearby` where it knows what these do to its yardstick.
    """

    plugin: Score
    weight: float
    prepares: PreScore | None
    normalizes: Normalize | None
    relative: Relative | None
    local: Local | None
    steady: Steady | None
    nearby: SteadyNearby | None = None

    @property
    def name(self) -> str:
        return self.plugin.name


class Framework:
    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._judges: dict[tuple[tuple[Use, ...], str | None], Framework] = {}
        self.plugins: dict[str, Plugin] = {
            name: registry.make_plugin(name, profile.args.get(name, {})) for name in profile.named()
        }
        self._check_named_points()
        self.gates = self._at("preEnqueue", PRE_ENQUEUE)
        self.prefilters = self._at("preFilter", PRE_FILTER)
        self.narrowing = [plugin for plugin in self.prefilters if NARROW.has(plugin)]
        self.incremental = [plugin for plugin in self.prefilters if INCREMENTAL.has(plugin)]
        self.filters = self._at("filter", FILTER)
        self.postfilters = self._at("postFilter", POST_FILTER)
        self.reservers = self._at("reserve", RESERVE)
        self.permits = self._permits()
        self.gangs = [plugin for plugin in self.permits if GANG.has(plugin)]
        self.gathering = [plugin for plugin in self.permits if GATHERING.has(plugin)]
        self.scorers = self._scorers(profile.at("score"))
        self.tie_breakers = self._scorers(profile.tie_break)
        self.cost = self._cost()
        # Neither a place nor a move may leave a workload on fewer nodes, or in fewer zones, than it should have.
        self.keeps_redundancy = isinstance(self.cost, KeepsRedundancy) and self.cost.redundancy
        self.settle_seconds = self.cost.settling_seconds() if AWAITS_ARRIVALS.has(self.cost) else 0.0
        self.last_word = next((each for scorer in self.scorers if LAST_WORD.has(each := scorer.plugin)), None)
        self.sorter = self._sorter()
        self._queue_order: QueueOrder | None = self.sorter if QUEUE_ORDER.has(self.sorter) else None
        self.batches = self._batches()

    def _at(self, point: str, seam: Seam[P]) -> list[P]:
        plugins: Iterable[Plugin] = (self.plugins[use.name] for use in self.profile.at(point))
        return [plugin for plugin in plugins if seam.has(plugin)]

    def _check_named_points(self) -> None:
        """At `multiPoint` a plugin runs wherever it can; at a point that is named it must be able to."""
        for point, uses in self.profile.points.items():
            for use in uses:
                plugin = self.plugins[use.name]
                if not SEAMS[point].has(plugin):
                    raise lacks_point(use.name, point, points_of(plugin))

    def _scorers(self, uses: tuple[Use, ...]) -> list[Scorer]:
        found = []
        for use in uses:
            plugin: Plugin = self.plugins[use.name]
            prepares = plugin if PRE_SCORE.has(plugin) else None
            normalizes = plugin if NORMALIZE.has(plugin) else None
            relative = plugin if RELATIVE.has(plugin) else None
            local = plugin if LOCAL.has(plugin) else None
            steady = plugin if STEADY.has(plugin) else None
            nearby = plugin if STEADY_NEARBY.has(plugin) else None
            if use.weight != 0 and SCORE.has(plugin):
                found.append(Scorer(plugin, use.weight, prepares, normalizes, relative, local, steady, nearby))
        return found

    def _permits(self) -> list[Permit]:
        """Those that hold groups only if the profile wants them placed as wholes."""
        asked = self._at("permit", PERMIT)
        if not self.profile.all_or_nothing:
            return [plugin for plugin in asked if not GANG.has(plugin)]
        if not any(GANG.has(plugin) for plugin in asked):
            raise InputError(
                f"profile {self.profile.name!r} is all-or-nothing, but no permit plugin of it knows groups",
                hint="enable AtomicDeployment at permit",
            )
        return asked

    def _sorter(self) -> QueueSort | None:
        sorters = self._at("queueSort", QUEUE_SORT)
        if len(sorters) != 1 and self.profile.solver is None:
            named = ", ".join(plugin.name for plugin in sorters) or "none"
            raise InputError(f"profile {self.profile.name!r} needs exactly one queueSort plugin, not {named}")
        return sorters[0] if sorters else None

    def _cost(self) -> Cost | None:
        """The scoring plugin that is the objective itself; None where points are counted, or a solver decides."""
        unit = self.profile.objective.unit
        if unit == POINTS_OF_SCORE or self.profile.solver is not None:
            return None
        plugins: list[Plugin] = [scorer.plugin for scorer in self.scorers]
        if len(plugins) == 1 and COST.has(plugins[0]) and plugins[0].cost_unit == unit:
            return plugins[0]
        raise InputError(
            f"profile {self.profile.name!r} has its objective in {unit}, but its score is not one plugin that costs in {unit}",
            hint="objective: {unit: points}",
        )

    @property
    def lateness(self) -> Lateness:
        """What missed deadlines cost in this profile."""
        return self.cost.lateness if isinstance(self.cost, ChargesLateness) else LATENESS

    @property
    def unawaited(self) -> float:
        """What a millisecond of a call that nobody waits for counts beside one of a user's."""
        return self.cost.unawaited if isinstance(self.cost, WeighsMessages) else UNAWAITED

    def _batches(self) -> bool:
        """True if every plugin that looks at nodes says what a placement changes."""
        scoring = [scorer.plugin for scorer in [*self.scorers, *self.tie_breakers]]
        return all(declares_changes(plugin) for plugin in (*self.prefilters, *self.filters, *scoring))

    def judge(self, *, score: tuple[Use, ...], queue_sort: str | None) -> Framework:
        """The same filters with another score or order, made once; this one if neither is given."""
        if not score and queue_sort is None:
            return self
        key = (score, queue_sort)
        if key not in self._judges:
            self._judges[key] = Framework(self.profile.judging(score=score, queue_sort=queue_sort))
        return self._judges[key]

    def refusal_at_the_gate(self, state: ClusterState, pod: Pod) -> tuple[str, str] | None:
        """Which plugin keeps the pod out of the queue, and why."""
        for plugin in self.gates:
            why = plugin.admit(state, pod)
            if why is not None:
                return plugin.name, why
        return None

    def groups_of(self, pod: Pod) -> frozenset[str]:
        """The all-or-nothing groups the pod belongs to."""
        named = (plugin.group_of(pod) for plugin in self.gangs)
        return frozenset(group for group in named if group is not None)

    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        return (pod.created, pod.key) if self.sorter is None else self.sorter.sort_key(state, pod)

    def order(self, state: ClusterState, pods: Sequence[Pod]) -> list[Pod]:
        """The queue in QueueSort order."""
        if self._queue_order is not None:
            return self._queue_order.order(state, pods)
        return sorted(pods, key=lambda pod: self.sort_key(state, pod))

    def could_help(self, event: Event, pod: Pod, plugins: Iterable[str]) -> bool:
        """True if an event may make a pod schedulable that these plugins turned away."""
        asked = False
        for name in plugins:
            asked = True
            plugin: Plugin | None = self.plugins.get(name)
            if not HINT.has(plugin) or plugin.hint(event, pod):
                return True
        return not asked


def lacks_point(plugin: str, point: str, has: Sequence[str]) -> InputError:
    hint = f"it has {', '.join(has)}" if has else "it has none"
    return InputError(f"plugin {plugin} is enabled at {point}, which it does not implement", hint=hint)
