"""Where plugins and solvers come from: ours by name, third parties' through entry points.

A package that declares `[project.entry-points."ecotone.plugins"] MyPlugin = "my_package:MyPlugin"` is used by naming
`MyPlugin` in a profile; a solver likewise in the group `ecotone.solvers`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from ecotone.model.errors import InputError, did_you_mean
from ecotone.scheduling.plugin import Args, Plugin

PLUGIN_GROUP = "ecotone.plugins"
SOLVER_GROUP = "ecotone.solvers"

_BUILT_IN: dict[str, str] = {}
_SOLVERS: dict[str, str] = {}


def built_in(**plugins: str) -> None:
    """Declares plugins of this package: name -> `module:Class`, imported when first used."""
    _BUILT_IN.update(plugins)


def built_in_solver(name: str, target: str) -> None:
    _SOLVERS[name] = target


def make_plugin(name: str, args: Args) -> Plugin:
    factory = find_plugin(name)
    try:
        plugin: Plugin = factory(**args)
    except TypeError as error:
        raise InputError(f"plugin {name}: {_argument_trouble(error)}") from error
    return plugin


def find_plugin(name: str) -> Callable[..., Any]:
    return _find(name, _BUILT_IN, PLUGIN_GROUP, "plugin")


def find_solver(name: str) -> Callable[..., Any]:
    return _find(name, _SOLVERS, SOLVER_GROUP, "solver")


def plugin_names() -> list[str]:
    return sorted({*_BUILT_IN, *(entry.name for entry in entry_points(group=PLUGIN_GROUP))})


def solver_names() -> list[str]:
    return sorted({*_SOLVERS, *(entry.name for entry in entry_points(group=SOLVER_GROUP))})


def _find(name: str, ours: dict[str, str], group: str, what: str) -> Callable[..., Any]:
    target = ours.get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found
    foreign = {entry.name: entry for entry in entry_points(group=group)}
    if name in foreign:
        loaded: Callable[..., Any] = foreign[name].load()
        return loaded
    raise InputError(f"unknown {what} {name!r}", hint=did_you_mean(name, [*ours, *foreign]))


def _argument_trouble(error: TypeError) -> str:
    text = str(error)
    return text.split("()", 1)[-1].strip() if "()" in text else text
