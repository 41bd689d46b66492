"""Where the parts of a profile come from: ours by name, third parties' through entry points.

A package that declares `[project.entry-points."ecotone.plugins"] MyPlugin = "my_package:MyPlugin"` is used by naming
`MyPlugin` in a profile; a solver likewise in the group `ecotone.solvers`, a rule of descheduling in
`ecotone.descheduling`, a report of plans in `ecotone.reports`, a guide for pods that wait together in `ecotone.guides`. A
plugin may also be named by its file, `PATH.py:Class`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ecotone.model.arrays import Ints
from ecotone.model.decisions import Decision, Decisions
from ecotone.model.errors import InputError, did_you_mean
from ecotone.model.objects import PodKind
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Args, Plugin
from ecotone.scheduling.profiles import plugin_files
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGIN_GROUP = "ecotone.plugins"
SOLVER_GROUP = "ecotone.solvers"
RULE_GROUP = "ecotone.descheduling"
REPORT_GROUP = "ecotone.reports"
GUIDE_GROUP = "ecotone.guides"

_BUILT_IN: dict[str, str] = {}
_SOLVERS: dict[str, str] = {}
_RULES: dict[str, str] = {}
_REPORTS: dict[str, str] = {}
_GUIDES: dict[str, str] = {}
_RULE_SETTINGS: dict[str, DeschedulerSettings] = {}


class Rule(Protocol):
    """Which running pods move now, each with its target, and what to remember; `settings.args` come as keywords."""

    def __call__(
        self, snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings, **args: Any
    ) -> Decisions: ...


class Report(Protocol):
    """What a plan shows of a snapshot and the decisions taken on it."""

    def __call__(self, snapshot: Snapshot, decisions: Sequence[Decision]) -> dict[str, Any]: ...


class Guide(Protocol):
    """How many pods of each kind should run on each node once the pods that wait are placed; kinds it knows nothing of
    are left out."""

    def __call__(self, state: ClusterState) -> Mapping[PodKind, Ints]: ...


def built_in(**plugins: str) -> None:
    """Declares plugins of this package: name -> `module:Class`, imported when first used."""
    _BUILT_IN.update(plugins)


def built_in_solver(name: str, target: str) -> None:
    _SOLVERS[name] = target


def built_in_rule(target: str, settings: DeschedulerSettings) -> None:
    """Declares a rule of descheduling under the name its settings carry; profiles that name it start from these."""
    _RULES[settings.rule] = target
    _RULE_SETTINGS[settings.rule] = settings


def built_in_report(name: str, target: str) -> None:
    _REPORTS[name] = target


def built_in_guide(name: str, target: str) -> None:
    _GUIDES[name] = target


def make_plugin(name: str, args: Args) -> Plugin:
    factory = find_plugin(name)
    try:
        plugin: Plugin = factory(**args)
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        # Arguments come from a file and may be of any kind; what a plugin makes of a wrong one is its own affair.
        raise InputError(f"plugin {name}: {_argument_trouble(error)}") from error
    return plugin if name in _BUILT_IN else plugin_files.guarded(plugin)


def find_plugin(name: str) -> Callable[..., Any]:
    if plugin_files.names_file(name):
        return plugin_files.load(name)
    return _find(name, _BUILT_IN, PLUGIN_GROUP, "plugin")


def find_solver(name: str) -> Callable[..., Any]:
    return _find(name, _SOLVERS, SOLVER_GROUP, "solver")


def find_rule(name: str) -> Rule:
    return _find(name, _RULES, RULE_GROUP, "rule of descheduling")


def find_report(name: str) -> Report:
    return _find(name, _REPORTS, REPORT_GROUP, "report")


def find_guide(name: str) -> Guide:
    return _find(name, _GUIDES, GUIDE_GROUP, "guide")


def settings_of_rule(name: str) -> DeschedulerSettings:
    """Where a profile starts that names this rule."""
    return _RULE_SETTINGS.get(name) or DeschedulerSettings(rule=name)


def plugin_names() -> list[str]:
    return sorted({*_BUILT_IN, *_foreign(PLUGIN_GROUP)})


def built_in_names() -> list[str]:
    """Those of this package alone, whatever else is installed."""
    return sorted(_BUILT_IN)


def solver_names() -> list[str]:
    return sorted({*_SOLVERS, *_foreign(SOLVER_GROUP)})


def rule_names() -> list[str]:
    return sorted({*_RULES, *_foreign(RULE_GROUP)})


def report_names() -> list[str]:
    return sorted({*_REPORTS, *_foreign(REPORT_GROUP)})


def _foreign(group: str) -> dict[str, EntryPoint]:
    """What other packages that are installed offer."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def _find(name: str, ours: dict[str, str], group: str, what: str) -> Callable[..., Any]:
    target = ours.get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found
    foreign = _foreign(group)
    if name in foreign:
        loaded: Callable[..., Any] = foreign[name].load()
        return loaded
    raise InputError(f"unknown {what} {name!r}", hint=did_you_mean(name, [*ours, *foreign]))


def _argument_trouble(error: Exception) -> str:
    text = str(error)
    return text.split("()", 1)[-1].strip() if "()" in text else text
