"""A policy as data: which plugins run where, with which weights and arguments, or which solver takes over.

Shaped like a profile of KubeSchedulerConfiguration, so that what people know carries over: `multiPoint` enables a plugin
at every point it implements, single points add or disable. Two additions: `tieBreak` lists plugins whose plain sum decides
between equal totals, and `solver` replaces the pod-by-pod framework for whole-application placement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
)


@dataclass(frozen=True, slots=True)
class Use:
    """One enabled plugin; `weight` counts only where it scores."""

    name: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Solver:
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    summary: str = ""
    scheduler_name: str = "ecotone"
    enabled: tuple[Use, ...] = ()
    points: Mapping[str, tuple[Use, ...]] = field(default_factory=dict)
    disabled: Mapping[str, frozenset[str]] = field(default_factory=dict)
    tie_break: tuple[Use, ...] = ()
    tie_draw: bool = False
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    solver: Solver | None = None

    def at(self, point: str) -> tuple[Use, ...]:
        """The plugins asked to run at one point, in order, multiPoint first."""
        off = self.disabled.get(point, frozenset())
        own = self.points.get(point, ())
        named = {use.name for use in own}
        spread = () if "*" in off else tuple(use for use in self.enabled if use.name not in off | named)
        return (*spread, *own)

    def named(self) -> tuple[str, ...]:
        """Every plugin that runs somewhere."""
        uses = [use.name for point in POINTS for use in self.at(point)] + [use.name for use in self.tie_break]
        return tuple(dict.fromkeys(uses))

    def with_args(self, plugin: str, **args: Any) -> Profile:
        merged = {**self.args.get(plugin, {}), **args}
        return replace(self, args={**self.args, plugin: merged})
