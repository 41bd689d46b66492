"""The schema of scenario files, from the grammar that their reader uses."""

from __future__ import annotations

from collections.abc import Iterable

from ecotone.cli.schema.parts import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    document,
    either,
    list_of,
    map_of,
    mapping,
    words,
)
from ecotone.sim.scenario import application, grammar, reader, units
from ecotone.sim.scenario.grammar import Block, Field
from ecotone.sim.scenario.schema import BALANCES

_BLOCKS = {block.path: block for block in grammar.BLOCKS}
_NUMBER = r"\s*\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_CHOICES: dict[tuple[str, str], Iterable[str]] = {
    ("(top)", "apiVersion"): (reader.API_VERSION,),
    ("(top)", "kind"): ("Scenario",),
    (grammar.TAINT.path, "effect"): ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    (grammar.NETWORK.path, "routing"): ("direct", "shortest-path"),
    (grammar.SERVICE.path, "balance"): BALANCES,
    (grammar.DEMAND.path, "distribution"): ("exponential", "constant"),
    (grammar.CALL.path, "protocol"): application.PROTOCOLS,
    (grammar.CALL.path, "connection"): ("kept", "new"),
    (grammar.LOAD.path, "connection"): ("kept", "new"),
    (grammar.EVENT.path, "state"): reader.STATES,
}


def schema() -> Schema:
    return document("Ecotone scenario", _block(grammar.TOP))


def _quantity(units_of_it: Iterable[str]) -> Schema:
    """A number with its unit; only 0 needs none."""
    told = {"type": "string", "pattern": f"^{_NUMBER}({'|'.join(units_of_it)})\\s*$"}
    return either(told, {"const": 0}, {"const": "0"})


_PLAIN: dict[str, Schema] = {
    grammar.TEXT: TEXT,
    grammar.WHOLE: WHOLE,
    grammar.NUMBER: NUMBER,
    grammar.FLAG: FLAG,
    grammar.CPU: TEXT,
    grammar.MEMORY: TEXT,
    grammar.DURATION: _quantity(units.TIMES),
    grammar.SIZE: _quantity(units.SIZES),
    grammar.RATE: _quantity(units.RATES),
    grammar.SHARE: _quantity(("%",)),
    "mapping of text": map_of(TEXT),
    "list of text": list_of(TEXT),
    "list of two": {**list_of(TEXT), "minItems": 2, "maxItems": 2},
    "list or `all`": either({"const": "all"}, list_of(TEXT)),
}
# Mappings whose keys are names of the file's own.
_BY_NAME: dict[tuple[str, str], Schema] = {
    (grammar.APPLICATION.path, "traces"): map_of(
        list_of({"type": "array", "prefixItems": [_PLAIN[grammar.DURATION], WHOLE], "minItems": 2, "maxItems": 2})
    ),
    (grammar.QOS.path, "latency"): map_of(_PLAIN[grammar.DURATION]),
    (grammar.QOS.path, "targets"): map_of(NUMBER),
}


def _block(block: Block) -> Schema:
    properties = {
        name: {**_field(block, name, each), "description": each.meaning} for name, each in block.fields.items()
    }
    needed = [name for name, each in block.fields.items() if each.default == grammar.REQUIRED]
    return mapping(properties, required=needed, meaning=block.meaning)


def _field(block: Block, name: str, field: Field) -> Schema:
    at = (block.path, name)
    if at in _CHOICES:
        return words(_CHOICES[at])
    if at in _BY_NAME:
        return _BY_NAME[at]
    if block.path == grammar.SERVICE.path and name in ("requests", "limits"):
        return _block(grammar.RESOURCES)
    path = name if block.path == "(top)" else f"{block.path}.{name}"
    match field.kind:
        case "mapping":
            return _block(_BLOCKS[path]) if path in _BLOCKS else map_of(_block(_BLOCKS[f"{path}.*"]))
        case "list":
            return list_of(_block(_BLOCKS[f"{path}[]"]))
        case "list of lists":
            return list_of(list_of(_block(_BLOCKS[f"{path}[][]"])))
        case "duration or mapping":
            return either(_PLAIN[grammar.DURATION], _block(_BLOCKS[path]))
    return _PLAIN[field.kind]
