"""A policy as data: which plugins run where, with which weights and arguments, or which solver takes over.

Shaped like a profile of KubeSchedulerConfiguration, so that what people know carries over: `multiPoint` enables a plugin
at every point it implements, single points add or disable. Two additions: `tieBreak` lists plugins whose plain sum decides
between equal totals, and `solver` replaces the pod-by-pod framework for whole-application placement. A profile says all
there is to a policy: how running pods are moved (`descheduler`), what its gains and plans are measured by (`objective`) and
whether groups of pods are placed as wholes (`all_or_nothing`). Its name is nothing but a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.use import Use

__all__ = ["POINTS", "POINTS_OF_SCORE", "Objective", "Profile", "Solver", "Use"]

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


class Solver(msgspec.Struct, frozen=True):
    name: str
    args: Mapping[str, Any] = msgspec.field(default_factory=dict)


POINTS_OF_SCORE = "points"


class Objective(msgspec.Struct, frozen=True):
    """`unit` of a gain: `points` of the total score, or that of the one scoring plugin that is a cost (`ms`). `report`
    names what a plan shows before and after, see `registry.find_report`.
    """

    unit: str = POINTS_OF_SCORE
    report: str = "traffic"


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
    descheduler: DeschedulerSettings | None = None
    objective: Objective = Objective()
    all_or_nothing: bool = False

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

    def judging(self, *, score: tuple[Use, ...], queue_sort: str | None) -> Profile:
        """The same filters, with another score or another order: what some deschedulers judge running pods by."""
        points, disabled = dict(self.points), dict(self.disabled)
        if score:
            points["score"], disabled["score"] = score, frozenset({"*"})
        if queue_sort is not None:
            points["queueSort"], disabled["queueSort"] = (Use(queue_sort),), frozenset({"*"})
        return replace(self, points=points, disabled=disabled, tie_break=() if score else self.tie_break)

    def with_args(self, plugin: str, **args: Any) -> Profile:
        merged = {**self.args.get(plugin, {}), **args}
        return replace(self, args={**self.args, plugin: merged})
