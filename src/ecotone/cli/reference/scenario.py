"""The scenario format, from the grammar that the reader itself uses."""

from __future__ import annotations

from math import inf
from typing import Any

from ecotone.cli.reference.markdown import code, table, value
from ecotone.cli.reference.markdown import page as whole
from ecotone.sim.scenario import grammar
from ecotone.sim.scenario.grammar import Field

_UNITS = """A scenario is one YAML document. `ecotone scenarios NAME` prints any that ships, as a file to start from, and what
is wrong in a file is told with line, column and the nearest valid word.

Quantities carry their unit; only 0 needs none.

* duration: `us`, `ms`, `s`, `m`, `h`, `d`
* size: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`
* rate: `bit`, `kbit`, `Mbit`, `Gbit`, each per second
* share: `%`
* CPU and memory quantities are Kubernetes': `"2"`, `500m`, `4Gi`"""


def page() -> str:
    parts = [_UNITS]
    for block in grammar.BLOCKS:
        rows = [[code(name), each.kind, _default(each), each.meaning] for name, each in block.fields.items()]
        parts += [f"## {block.path}", block.meaning, table(["field", "type", "default", "meaning"], rows)]
    return whole("The scenario format", *parts)


def _default(field: Field) -> str:
    if field.default in (grammar.REQUIRED, grammar.NONE):
        return field.default if field.default == grammar.REQUIRED else ""
    return code(_written(field.kind, field.default))


def _written(kind: str, given: Any) -> str:
    if given == inf:
        return "unlimited"
    if kind == grammar.RATE and isinstance(given, float):
        return f"{given * 8 / 1e6:g}Mbit"
    unit = {grammar.DURATION: "s", "duration or mapping": "s", grammar.SIZE: "B", grammar.SHARE: "%"}.get(kind, "")
    return value(given) + (unit if given else "")
