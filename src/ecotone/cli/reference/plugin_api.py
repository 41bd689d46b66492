"""What a plugin may implement, from the protocols that the framework asks for."""

from __future__ import annotations

import inspect
from typing import Any

from ecotone.cli.reference.markdown import code, prose, table
from ecotone.cli.reference.markdown import page as whole
from ecotone.scheduling import plugin
from ecotone.scheduling.plugin import SEAMS, Cycle, Event, Hold, Plugin, Refusal, Rejection, Seam
from ecotone.scheduling.profiles import registry

_HEAD = """A plugin is a class with a `name` and the methods of the points it takes part in; nothing has to be inherited.
[Write and compare your own policy](../own-policy.md) goes through one. Rows are the numbers of nodes in the columns of
`cycle.state`; arrays are numpy's."""
_ENTRY_POINTS = """A package declares its plugins as entry points, by which profiles then name them:"""


def page() -> str:
    parts = [_HEAD, prose(plugin.__doc__), "## Every plugin", prose(Plugin.__doc__)]
    named = {id(seam): point for point, seam in SEAMS.items()}
    for seam in _seams():
        point = named.get(id(seam))
        title = seam.protocol.__name__
        told = (
            f"In profiles: {code(point)}." if point else "Asked for wherever a plugin has it; not a point of profiles."
        )
        parts += [f"## {title}", told, prose(seam.protocol.__doc__), *_methods(seam.protocol)]
    parts.append("## What they are given and return")
    for struct in (Cycle, Rejection, Refusal, Hold, Event):
        fields = ", ".join(code(f"{name}: {kind}") for name, kind in inspect.get_annotations(struct).items())
        parts += [f"### {struct.__name__}", prose(struct.__doc__), f"Fields: {fields}."]
    groups = {
        registry.PLUGIN_GROUP: "plugins",
        registry.SOLVER_GROUP: "solvers of whole applications",
        registry.RULE_GROUP: "rules of descheduling",
        registry.REPORT_GROUP: "figures that a plan shows before and after",
        registry.GUIDE_GROUP: "guides for pods that wait together",
    }
    parts += [
        "## Entry points",
        _ENTRY_POINTS,
        table(["group", ""], [[code(name), each] for name, each in groups.items()]),
    ]
    return whole("Plugin API", *parts)


def _seams() -> list[Seam[Any]]:
    """In the order of the framework, as the module lists them."""
    return [each for each in vars(plugin).values() if isinstance(each, Seam)]


def _methods(protocol: type) -> list[str]:
    found = []
    for name, method in vars(protocol).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            found.append(f"    def {name}{_signature(method)}")
            found.append(prose(method.__doc__))
    return found


def _signature(method: Any) -> str:
    signature = inspect.signature(method)
    inner = ", ".join(str(each).replace("'", "") for each in signature.parameters.values())
    return f"({inner}) -> {str(signature.return_annotation).strip(chr(39))}"
