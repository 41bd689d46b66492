"""A profile brought to life: its plugins made and sorted by extension point.

Holds no cluster state. The same `Framework` serves the simulator, files and live clusters, one cycle after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.model.errors import InputError
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling import registry
from ecotone.scheduling.plugin import (
    Event,
    Filter,
    Gang,
    Hint,
    Permit,
    PostFilter,
    PreEnqueue,
    PreFilter,
    QueueOrder,
    QueueSort,
    Remember,
    Reserve,
    Score,
    SortKey,
    implements,
)
from ecotone.scheduling.profile import Profile, Use


@dataclass(frozen=True, slots=True)
class Scorer:
    plugin: Any
    weight: float

    @property
    def name(self) -> str:
        return str(self.plugin.name)


class Framework:
    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._plugins: dict[str, Any] = {
            name: registry.make_plugin(name, profile.args.get(name, {})) for name in profile.named()
        }
        self.gates = self._at("preEnqueue", PreEnqueue)
        self.prefilters = self._at("preFilter", PreFilter)
        self.filters = self._at("filter", Filter)
        self.postfilters = self._at("postFilter", PostFilter)
        self.reservers = self._at("reserve", Reserve)
        self.permits = self._at("permit", Permit)
        self.scorers = self._scorers(profile.at("score"))
        self.tie_breakers = self._scorers(profile.tie_break)
        sorters = self._at("queueSort", QueueSort)
        if len(sorters) != 1 and profile.solver is None:
            named = ", ".join(plugin.name for plugin in sorters) or "none"
            raise InputError(f"profile {profile.name!r} needs exactly one queueSort plugin, not {named}")
        self.sorter: Any = sorters[0] if sorters else None

    def _at(self, point: str, protocol: type) -> list[Any]:
        return [
            self._plugins[use.name] for use in self.profile.at(point) if isinstance(self._plugins[use.name], protocol)
        ]

    def _scorers(self, uses: tuple[Use, ...]) -> list[Scorer]:
        return [
            Scorer(self._plugins[use.name], use.weight)
            for use in uses
            if isinstance(self._plugins[use.name], Score) and use.weight != 0
        ]

    @property
    def plugins(self) -> dict[str, Any]:
        return dict(self._plugins)

    @property
    def batches(self) -> bool:
        """Whether every plugin that looks at nodes says what a placement changes."""
        looking = [*self.prefilters, *self.filters, *(scorer.plugin for scorer in [*self.scorers, *self.tie_breakers])]
        return all(getattr(plugin, "placement_changes", None) is not None for plugin in looking)

    def refusal_at_the_gate(self, state: ClusterState, pod: Pod) -> tuple[str, str] | None:
        """Which plugin keeps the pod out of the queue, and why."""
        for plugin in self.gates:
            why = plugin.admit(state, pod)
            if why is not None:
                return plugin.name, why
        return None

    def groups_of(self, pod: Pod) -> frozenset[str]:
        """The all-or-nothing groups the pod belongs to."""
        named = (plugin.group_of(pod) for plugin in self.permits if implements(plugin, Gang))
        return frozenset(group for group in named if group is not None)

    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        assert self.sorter is not None
        key: SortKey = self.sorter.sort_key(state, pod)
        return key

    def order(self, state: ClusterState, pods: Sequence[Pod]) -> list[Pod]:
        """The queue in QueueSort order."""
        if implements(self.sorter, QueueOrder):
            ordered: list[Pod] = self.sorter.order(state, pods)
            return ordered
        return sorted(pods, key=lambda pod: self.sort_key(state, pod))

    def could_help(self, event: Event, pod: Pod, plugins: tuple[str, ...], reasons: tuple[str, ...]) -> bool:
        """Whether an event may make a pod schedulable that these plugins turned away."""
        for name in plugins:
            plugin = self._plugins.get(name)
            if plugin is None or not implements(plugin, Hint) or plugin.hint(event, pod, reasons):
                return True
        return not plugins

    def recall(self, memory: dict[str, object]) -> None:
        for name, plugin in self._plugins.items():
            if implements(plugin, Remember):
                plugin.recall(memory.get(name))

    def remember(self) -> dict[str, object]:
        return {name: plugin.remember() for name, plugin in self._plugins.items() if implements(plugin, Remember)}
