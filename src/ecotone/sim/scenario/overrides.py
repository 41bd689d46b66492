"""A scenario file with some of its values replaced, as sweeps and published grids need it.

A value is named by its path below `spec`: `cluster.network.default.rtt`, `load.0.for`, `load.*.arrivals.users`. A number
counts list items from 0 and `*` means all of them. What was changed is part of the text that comes back, so a run on it is
described by that text alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecotone.manifests.yaml.positions import Limits, load_document
from ecotone.manifests.yaml.text import yaml_text
from ecotone.model.errors import InputError, did_you_mean

_LIMITS = Limits(max_bytes=8 * 1024 * 1024, max_nodes=500_000)
_BELOW_CLUSTER = ("network", "nodes")


def with_values(content: str, values: Mapping[str, object], *, file: str) -> str:
    """The scenario's text with each path set to its value. The path must lead to something that is there."""
    document = load_document(content, file=file, limits=_LIMITS).plain()
    spec = document.get("spec") if isinstance(document, dict) else None
    if not isinstance(spec, dict):
        raise InputError("a scenario needs `spec`", file=file)
    for path, value in values.items():
        steps = path.split(".")
        if steps[0] in _BELOW_CLUSTER:
            steps = ["cluster", *steps]
        _set(spec, steps, value, path=path)
    return yaml_text([document])


def _set(here: Any, steps: list[str], value: object, *, path: str) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(here, dict):
        if rest and step not in here:
            raise InputError(
                f"`{path}`: there is no `{step}` in the scenario",
                hint=did_you_mean(step, [str(key) for key in here]) or f"known: {', '.join(map(str, here))}",
            )
        if rest:
            _set(here[step], rest, value, path=path)
        else:
            here[step] = value
    elif isinstance(here, list):
        for index in _items(here, step, path):
            if rest:
                _set(here[index], rest, value, path=path)
            else:
                here[index] = value
    else:
        raise InputError(f"`{path}`: `{step}` is below a plain value", hint="name the value itself")


def _items(here: list[Any], step: str, path: str) -> range:
    if step == "*":
        return range(len(here))
    if not step.isascii() or not step.isdigit() or int(step) >= len(here):
        raise InputError(f"`{path}`: `{step}` is no item of a list of {len(here)}", hint="count from 0, or `*` for all")
    return range(int(step), int(step) + 1)
