"""Constraint clauses (standard, 3.6.3): reading them against the type they narrow, and applying them.

A clause's own arguments are values of the constrained type, so `in_range: [1 MB, 2 GB]` is converted once, when the
definition is read; a clause that makes no sense for the type is an error in the definition, not in the template.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.patterns import Pattern, PatternError, compile_pattern
from ecotone.tosca.language.problems import Problems

Convert = Callable[[Node], Any]

INVALID: Any = object()
"""Stands for a value whose error has been reported already."""

_COMPARED = frozenset({"integer", "float", "string", "timestamp", "version"})
_SIZED = frozenset({"string", "list", "map"})
OPERATORS = (
    "equal",
    "greater_than",
    "greater_or_equal",
    "less_than",
    "less_or_equal",
    "in_range",
    "valid_values",
    "length",
    "min_length",
    "max_length",
    "pattern",
    "schema",
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One clause, ready to be applied."""

    operator: str
    argument: Any
    shown: str

    def holds(self, value: Any) -> bool:
        try:
            return _TESTS[self.operator](value, self.argument)
        except TypeError:
            return False

    def __str__(self) -> str:
        return f"{self.operator}: {self.shown}"


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": lambda value, wanted: bool(value == wanted),
    "greater_than": lambda value, bound: bool(value > bound),
    "greater_or_equal": lambda value, bound: bool(value >= bound),
    "less_than": lambda value, bound: bool(value < bound),
    "less_or_equal": lambda value, bound: bool(value <= bound),
    "in_range": lambda value, ends: bool(
        (ends[0] is None or value >= ends[0]) and (ends[1] is None or value <= ends[1])
    ),
    "valid_values": lambda value, choice: value in choice,
    "length": lambda value, size: len(value) == size,
    "min_length": lambda value, size: len(value) >= size,
    "max_length": lambda value, size: len(value) <= size,
    "pattern": lambda value, pattern: pattern.matches(value),
    "schema": lambda _value, _schema: True,
}


def read_constraints(
    node: Node | None, *, primitive: str | None, convert: Convert, problems: Problems
) -> list[Constraint]:
    """The clauses of a `constraints` list; whatever is wrong with one is reported and it is left out."""
    if node is None:
        return []
    if not node.is_sequence:
        problems.report(node, f"constraints must be a list, not {node.describe()}")
        return []
    read = []
    for clause in node.elements():
        constraint = _read(clause, primitive=primitive, convert=convert, problems=problems)
        if constraint is not None:
            read.append(constraint)
    return read


def _read(clause: Node, *, primitive: str | None, convert: Convert, problems: Problems) -> Constraint | None:
    if not clause.is_mapping or len(clause.value) != 1:
        problems.report(clause, f"a constraint is `operator: value`, not {clause.describe()}")
        return None
    ((key, argument),) = clause.entries()
    operator = key.text
    if operator not in OPERATORS:
        problems.unknown(key, "constraint", operator, OPERATORS)
        return None
    if not _fits(operator, primitive):
        problems.report(key, f"the constraint `{operator}` does not apply to the type `{primitive or 'data type'}`")
        return None
    value = _argument(operator, argument, convert=convert, problems=problems)
    return None if value is INVALID else Constraint(operator, value, _shown(argument))


def _fits(operator: str, primitive: str | None) -> bool:
    if operator in ("equal", "valid_values", "schema"):
        return True
    if operator == "pattern":
        return primitive == "string"
    if operator in ("length", "min_length", "max_length"):
        return primitive in _SIZED
    return primitive in _COMPARED or (primitive or "").startswith("scalar-unit.")


def _argument(operator: str, node: Node, *, convert: Convert, problems: Problems) -> Any:
    if operator == "in_range":
        return _range(node, convert=convert, problems=problems)
    if operator == "valid_values":
        if not node.is_sequence:
            problems.report(node, f"valid_values must be a list, not {node.describe()}")
            return INVALID
        values = [convert(element) for element in node.elements()]
        return INVALID if any(value is INVALID for value in values) else values
    if operator in ("length", "min_length", "max_length"):
        if node.is_scalar and type(node.value) is int and node.value >= 0:
            return node.value
        problems.report(node, f"`{operator}` must be an integer of at least 0, not {node.describe()}")
        return INVALID
    if operator == "pattern":
        return _pattern(node, problems)
    if operator == "schema":
        return node.plain()
    return convert(node)


def _range(node: Node, *, convert: Convert, problems: Problems) -> Any:
    ends = node.elements()
    if len(ends) != 2:
        problems.report(node, f"in_range must be a list of two ends, not {node.describe()}")
        return INVALID
    low, high = (None if end.is_scalar and end.value == "UNBOUNDED" else convert(end) for end in ends)
    if low is INVALID or high is INVALID:
        return INVALID
    try:
        inverted = low is not None and high is not None and low > high
    except TypeError:
        inverted = True
    if inverted:
        problems.report(node, f"in_range is empty: {_shown(node)} ends before it begins")
        return INVALID
    return (low, high)


def _pattern(node: Node, problems: Problems) -> Pattern | Any:
    if not (node.is_scalar and isinstance(node.value, str)):
        problems.report(node, f"a pattern must be a string, not {node.describe()}")
        return INVALID
    try:
        return compile_pattern(node.value)
    except PatternError as error:
        problems.report(node, f"the pattern `{node.value}` cannot be used: {error}")
        return INVALID


def _shown(node: Node) -> str:
    if node.is_scalar:
        return node.text
    if node.is_sequence:
        return "[" + ", ".join(_shown(element) for element in node.elements()) + "]"
    return "{...}"


def violation(node: Node, constraint: Constraint, value: Any, what: str) -> tuple[str, str | None]:
    """Message and hint for a value that breaks a constraint."""
    hint = None
    if constraint.operator == "valid_values" and isinstance(value, str):
        hint = did_you_mean(value, [choice for choice in constraint.argument if isinstance(choice, str)])
    shown = node.text if node.is_scalar else node.describe()
    return f"{what} is `{shown}`, which breaks the constraint `{constraint}`", hint
