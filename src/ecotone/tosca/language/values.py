"""Values against their types.

`check` turns a node into the Python value its schema promises, or reports exactly where it does not: the element of a
list, the key of a map, the property of a data type. It never converts silently; `cpu: 1` for a string is an error that
says to write `"1"`.
"""

from __future__ import annotations

from typing import Any

from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.constraints import INVALID, violation
from ecotone.tosca.language.definitions import EntityType, Schema
from ecotone.tosca.language.problems import Problems
from ecotone.tosca.language.scalars import SHOWN, UNITS, Range, is_timestamp, scalar_unit, version

_NATIVE: dict[str, type] = {"string": str, "integer": int, "float": float, "boolean": bool}


class Checker:
    """Checks and converts values; whatever is wrong goes to the problems, at its exact place."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def check(self, node: Node, schema: Schema, what: str, *, narrowed: bool = True) -> Any:
        """The value, or INVALID after reporting. `narrowed=False` leaves constraints aside."""
        value = self._convert(node, schema, what)
        if value is INVALID or not narrowed:
            return value
        constraints = schema.constraints
        if isinstance(schema.type, EntityType) and schema.type.constraints:
            constraints = [*schema.type.constraints, *constraints]
        for constraint in constraints:
            if not constraint.holds(value):
                message, hint = violation(node, constraint, value, what)
                self._problems.report(node, message, hint=hint)
                return INVALID
        return value

    def _convert(self, node: Node, schema: Schema, what: str) -> Any:
        primitive = schema.primitive
        if primitive is None:
            return self._record(node, schema, what)
        native = _NATIVE.get(primitive)
        if native is not None:
            if node.kind == "scalar" and type(node.value) is native:
                return node.value
            return self._wrong(node, schema, what, _how_to_write(node, primitive))
        if primitive == "list":
            return self._list(node, schema, what)
        if primitive == "map":
            return self._map(node, schema, what)
        return self._special(node, schema, primitive, what)

    def _special(self, node: Node, schema: Schema, primitive: str, what: str) -> Any:
        if primitive == "null":
            return None if node.is_null else self._wrong(node, schema, what)
        if primitive == "range":
            return self._range(node, what)
        if not (node.is_scalar and isinstance(node.value, str)):
            return self._wrong(node, schema, what, self._unit_hint(node, primitive))
        if primitive in UNITS:
            value: Any = scalar_unit(node.value, primitive)
            if value is None:
                hint = f"a number and a unit: {SHOWN[primitive]}"
                return self._report(node, f"{what} is `{node.text}`, which is no {primitive}", hint)
            return value
        if primitive == "version":
            value = version(node.value)
            if value is None:
                return self._report(node, f"{what} is `{node.text}`, which is no version", "for example 1.2 or 1.2.3")
            return value
        if not is_timestamp(node.value):
            return self._report(
                node, f"{what} is `{node.text}`, which is no timestamp", "for example 2024-05-01T12:00:00Z"
            )
        return node.value

    def _unit_hint(self, node: Node, primitive: str) -> str | None:
        if primitive in UNITS and node.is_scalar and node.text:
            return f"add a unit: {SHOWN[primitive]}"
        return f'write "{node.text}"' if node.is_scalar and node.text else None

    def _list(self, node: Node, schema: Schema, what: str) -> Any:
        if not node.is_sequence:
            return self._wrong(node, schema, what)
        if schema.entry is None:
            return node.plain()
        values = [self.check(element, schema.entry, f"element {i} of {what}") for i, element in enumerate(node.value)]
        return INVALID if any(value is INVALID for value in values) else values

    def _map(self, node: Node, schema: Schema, what: str) -> Any:
        if not node.is_mapping:
            return self._wrong(node, schema, what)
        if schema.entry is None:
            return node.plain()
        result: dict[str, Any] = {}
        sound = True
        for name, (key, element) in node.value.items():
            if schema.key is not None and self.check(key, schema.key, f"the key `{name}` of {what}") is INVALID:
                sound = False
            value = self.check(element, schema.entry, f"`{name}` of {what}")
            sound = sound and value is not INVALID
            result[name] = value
        return result if sound else INVALID

    def _record(self, node: Node, schema: Schema, what: str) -> Any:
        """A data type with properties."""
        entity = schema.type
        assert isinstance(entity, EntityType)
        if not node.is_mapping:
            return self._wrong(node, schema, what)
        sound = True
        for name, (key, _) in node.value.items():
            if name not in entity.properties:
                self._problems.unknown(key, "property", name, entity.properties, of=f"of {what}")
                sound = False
        result: dict[str, Any] = {}
        for name, definition in entity.properties.items():
            given = node.get(name) or definition.default
            if given is None:
                if definition.required:
                    self._problems.report(node, f"{what} lacks the required property `{name}`")
                    sound = False
                continue
            result[name] = self.check(given, definition.schema, f"`{name}` of {what}")
            sound = sound and result[name] is not INVALID
        return result if sound else INVALID

    def _range(self, node: Node, what: str) -> Any:
        ends = node.elements()
        if len(ends) != 2 or not all(end.is_scalar for end in ends):
            return self._report(node, f"{what} must be a range `[lower, upper]`, not {node.describe()}", None)
        lower, upper = (end.value for end in ends)
        unbounded = upper == "UNBOUNDED"
        if type(lower) is not int:
            return self._report(ends[0], f"{what} must begin with an integer, not {ends[0].describe()}", None)
        if type(upper) is not int and not unbounded:
            return self._report(
                ends[1], f"{what} must end with an integer or UNBOUNDED, not {ends[1].describe()}", None
            )
        if not unbounded and upper < lower:
            return self._report(node, f"{what} is empty: [{lower}, {upper}] ends before it begins", None)
        return Range(lower, None if unbounded else upper)

    def _wrong(self, node: Node, schema: Schema, what: str, hint: str | None = None) -> Any:
        shown = schema.shown if schema.primitive is None else str(schema.primitive)
        article = "an" if shown[:1] in "aeiou" else "a"
        return self._report(node, f"{what} must be {article} {shown}, not {node.describe()}", hint)

    def _report(self, node: Node, message: str, hint: str | None) -> Any:
        self._problems.report(node, message, hint=hint)
        return INVALID


def _how_to_write(node: Node, primitive: str) -> str | None:
    """How a person should have written it, where that can be told."""
    if not node.is_scalar or node.is_null:
        return None
    if primitive == "string":
        return f'write "{node.text}"'
    if primitive == "float" and type(node.value) is int:
        return f"write {node.text}.0"
    if primitive == "integer" and isinstance(node.value, str) and node.value.isascii() and node.value.isdigit():
        return f"write {node.value} without quotes"
    if primitive == "boolean" and str(node.value).lower() in ("yes", "no", "on", "off"):
        return "write " + ("true" if str(node.value).lower() in ("yes", "on") else "false")
    return None
