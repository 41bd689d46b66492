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


GONE = {
    name: (
        f"{name} is gone: policy ecotone keeps replicas apart without being told, see redundancy in docs/policies.md",
        "leave it out; argument redundancy of ResponseTime, or annotation ecotone.dev/redundancy, says otherwise",
    )
    for name in ("apart", "togetherMs")
}


def read_arguments(node: Node, factory: Any, *, by_place: bool = False) -> dict[str, Any]:
    """The arguments given; one that is unknown to the factory is an error at its place."""
    expect(node, "mapping", "args")
    given = {key: value.plain() for key, value in node.items() if key not in ("apiVersion", "kind")}
    known = arguments(factory, by_place=by_place)
    _refuse_what_is_gone(node, given, factory, known)
    unknown = next((key for key in given if known is not None and key not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known or ()) or "it takes none"
        raise (node.key(unknown) or node).error(f"unknown argument {unknown!r}", hint=hint)
    return given


def _refuse_what_is_gone(node: Node, given: dict[str, Any], factory: Any, known: list[str] | None) -> None:
    """Arguments that our own plugins and rules had once, with what says the same now."""
    if not str(getattr(factory, "__module__", "")).startswith("ecotone."):
        return
    for name in given:
        if name in GONE and name not in (known or ()):
            told, hint = GONE[name]
            raise (node.key(name) or node).error(told, hint=hint)
