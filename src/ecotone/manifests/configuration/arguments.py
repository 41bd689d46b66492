"""Which arguments a plugin, a solver or a rule of descheduling understands: the keyword arguments of what makes it."""

from __future__ import annotations

import inspect
from typing import Any

from ecotone.manifests.configuration.expecting import expect
from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node


def arguments(factory: Any, *, by_place: bool = False) -> list[str] | None:
    """The keyword arguments a plugin or solver understands; None if it takes any, or nobody can tell.

    A solver's arguments by place are the snapshot and the pods, not the profile's to set.
    """
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:
        return None
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return None
    kinds = {inspect.Parameter.KEYWORD_ONLY, *([inspect.Parameter.POSITIONAL_OR_KEYWORD] if by_place else [])}
    return [each.name for each in parameters if each.kind in kinds]


def read_arguments(node: Node, factory: Any, *, by_place: bool = False) -> dict[str, Any]:
    """The arguments given; one that is unknown to the factory is an error at its place."""
    expect(node, "mapping", "args")
    given = {key: value.plain() for key, value in node.items() if key not in ("apiVersion", "kind")}
    known = arguments(factory, by_place=by_place)
    unknown = next((key for key in given if known is not None and key not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known or ()) or "it takes none"
        raise (node.key(unknown) or node).error(f"unknown argument {unknown!r}", hint=hint)
    return given
