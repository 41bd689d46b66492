"""TOSCA's functions (standard, chapter 4): values that are computed from other values.

`get_input`, `get_property`, `concat`, `join` and `token` are worked out while reading, so that what comes after sees
plain values. Functions that only make sense while an application runs (`get_attribute`, `get_operation_output`,
`get_nodes_of_type`, `get_artifact`) are errors where a value is needed now.

Properties may refer to each other in any order, so they are evaluated on demand. Circles are errors; chains are limited
in length and results in size, since a few lines of `concat` could otherwise double a text for every line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.constraints import INVALID
from ecotone.tosca.language.definitions import PropertyDef, Schema
from ecotone.tosca.language.problems import Problems
from ecotone.tosca.language.values import Checker

if TYPE_CHECKING:
    from typing import Any

    from ecotone.tosca.language.topology import NodeTemplate, Topology

EVALUATED = ("get_input", "get_property", "concat", "join", "token")
AT_RUN_TIME = ("get_attribute", "get_operation_output", "get_nodes_of_type", "get_artifact")
FUNCTIONS = frozenset((*EVALUATED, *AT_RUN_TIME))
_LONGEST_CHAIN = 64
_LARGEST_TEXT = 65_536
_LARGEST_VALUE = 100_000


def function_of(node: Node) -> str | None:
    """The function a node calls: a mapping with exactly one key that is a function's name."""
    if node.kind == "mapping" and len(node.value) == 1:
        name = next(iter(node.value))
        if name in FUNCTIONS:
            return str(name)
    return None


def calls_function(node: Node) -> bool:
    """Is there a function call anywhere inside?"""
    todo = [node]
    while todo:
        current = todo.pop()
        if function_of(current) is not None:
            return True
        if current.kind == "mapping":
            todo += [value for _, value in current.value.values()]
        elif current.kind == "sequence":
            todo += current.value
    return False


@dataclass(frozen=True, slots=True)
class Context:
    """Who is asking: the entity whose property is being computed."""

    owner: NodeTemplate | None = None
    properties: Properties | None = None
    source: NodeTemplate | None = None
    target: NodeTemplate | None = None


class Evaluator:
    """Replaces function calls by their values. Returns None after reporting what is wrong."""

    def __init__(self, topology: Topology, problems: Problems) -> None:
        self._topology = topology
        self._problems = problems
        self._depth = 0

    def evaluate(self, node: Node, context: Context) -> Node | None:
        """The node with every call inside it replaced; the same node when there is none."""
        if node.kind == "scalar" or not calls_function(node):
            return node
        name = function_of(node)
        if name is not None:
            return self._call(name, node, context)
        if node.kind == "sequence":
            elements = [self.evaluate(element, context) for element in node.value]
            return None if None in elements else _like(node, elements)
        pairs = {key: (at, self.evaluate(value, context)) for key, (at, value) in node.value.items()}
        return None if any(value is None for _, value in pairs.values()) else _like(node, pairs)

    def _call(self, name: str, node: Node, context: Context) -> Node | None:
        key, argument = node.value[name]
        if name in AT_RUN_TIME:
            self._problems.report(key, f"`{name}` is only known while the application runs; a value is needed here")
            return None
        if self._depth >= _LONGEST_CHAIN:
            self._problems.report(key, f"values refer to each other over more than {_LONGEST_CHAIN} steps")
            return None
        self._depth += 1
        try:
            result = self._dispatch(name, key, argument, context)
        finally:
            self._depth -= 1
        if result is not None and (result.weight > _LARGEST_VALUE or len(result.text) > _LARGEST_TEXT):
            self._problems.report(key, f"the result of `{name}` is too large")
            return None
        return result

    def _dispatch(self, name: str, key: Node, argument: Node, context: Context) -> Node | None:
        if name == "get_input":
            return self._get_input(key, argument, context)
        if name == "get_property":
            return self._get_property(key, argument, context)
        evaluated = self.evaluate(argument, context)
        if evaluated is None:
            return None
        call: Callable[[Node, Node], Node | None] = {"concat": self._concat, "join": self._join, "token": self._token}[
            name
        ]
        return call(key, evaluated)

    def _words(self, name: str, argument: Node, context: Context, *, least: int) -> list[Node] | None:
        evaluated = self.evaluate(argument, context)
        if evaluated is None:
            return None
        words = evaluated.elements() if evaluated.is_sequence else [evaluated]
        if len(words) < least or not all(word.is_scalar and word.text for word in words):
            self._problems.report(
                argument, f"`{name}` takes a list of at least {least} names, not {argument.describe()}"
            )
            return None
        return words

    def _get_input(self, key: Node, argument: Node, context: Context) -> Node | None:
        words = self._words("get_input", argument, context, least=1)
        if words is None:
            return None
        value = self._topology.input_value(words[0])
        if value is None:
            return None
        return self._walk(value, words[1:], key)

    def _get_property(self, key: Node, argument: Node, context: Context) -> Node | None:
        words = self._words("get_property", argument, context, least=2)
        if words is None:
            return None
        holder, rest = self._holder(words, context)
        if holder is None:
            return None
        if rest[0].text not in holder.definitions:
            self._problems.unknown(rest[0], "property", rest[0].text, holder.definitions, of=f"of {holder.what}")
            return None
        value = holder.evaluated(rest[0].text, at=key)
        if value is None:
            return None
        return self._walk(value, rest[1:], key)

    def _holder(self, words: list[Node], context: Context) -> tuple[Properties | None, list[Node]]:
        """Whose properties are meant, and the words that remain."""
        entity, second = words[0], words[1]
        if entity.text == "SELF" and context.owner is None and context.properties is not None:
            return context.properties, words[1:]
        node = self._entity(entity, context)
        if node is None:
            return None, words
        if len(words) == 2 or second.text in node.properties.definitions:
            return node.properties, words[1:]
        capability = node.capabilities.get(second.text)
        if capability is not None:
            return capability.properties, words[2:]
        requirement = next((r for r in node.requirements if r.name == second.text), None)
        if requirement is not None and requirement.target is not None and requirement.capability is not None:
            return requirement.target.capabilities[requirement.capability].properties, words[2:]
        valid = [*node.capabilities, *node.properties.definitions, *(r.name for r in node.requirements)]
        self._problems.unknown(
            second, "capability, requirement or property", second.text, valid, of=f"of `{node.name}`"
        )
        return None, words

    def _entity(self, word: Node, context: Context) -> NodeTemplate | None:
        keywords = {"SELF": context.owner, "SOURCE": context.source, "TARGET": context.target}
        if word.text in keywords:
            node = keywords[word.text]
            if node is None:
                self._problems.report(word, f"`{word.text}` means nothing here")
            return node
        if word.text == "HOST":
            host = next((r for r in context.owner.requirements if r.name == "host"), None) if context.owner else None
            if host is None or host.target is None:
                self._problems.report(word, "`HOST` means nothing here: there is no `host` requirement")
                return None
            return host.target
        node = self._topology.nodes.get(word.text)
        if node is None:
            valid = [*self._topology.nodes, "SELF", "SOURCE", "TARGET", "HOST"]
            self._problems.unknown(word, "node template", word.text, valid)
        return node

    def _walk(self, value: Node, path: list[Node], at: Node) -> Node | None:
        """Follow map keys and list positions into a value; the result stands where it was asked for."""
        for step in path:
            inner: Node | None = None
            if value.is_mapping:
                inner = value.get(step.text)
                if inner is None:
                    self._problems.unknown(step, "key", step.text, value.keys())
                    return None
            elif value.is_sequence and type(step.value) is int and 0 <= step.value < len(value.value):
                inner = value.value[step.value]
            if inner is None:
                self._problems.report(step, f"`{step.text}` leads nowhere: the value is {value.describe()}")
                return None
            value = inner
        return _moved(value, at)

    def _concat(self, key: Node, argument: Node) -> Node | None:
        parts = self._texts("concat", argument)
        return None if parts is None else _text("".join(parts), key)

    def _join(self, key: Node, argument: Node) -> Node | None:
        arguments = argument.elements()
        if not 1 <= len(arguments) <= 2 or not arguments[0].is_sequence:
            self._problems.report(argument, "`join` takes a list of strings and an optional delimiter")
            return None
        parts = self._texts("join", arguments[0])
        delimiter = self._texts("join", _like(argument, arguments[1:]))
        return None if parts is None or delimiter is None else _text("".join(delimiter).join(parts), key)

    def _token(self, key: Node, argument: Node) -> Node | None:
        arguments = argument.elements()
        if len(arguments) != 3 or type(arguments[2].value) is not int:
            self._problems.report(argument, "`token` takes a string, its separators and the position of a part")
            return None
        texts = self._texts("token", _like(argument, arguments[:2]))
        if texts is None:
            return None
        text, separators = texts
        for separator in separators[1:]:
            text = text.replace(separator, separators[0])
        parts = text.split(separators[0]) if separators else [text]
        position = arguments[2].value
        if not 0 <= position < len(parts):
            self._problems.report(arguments[2], f"`token` has {len(parts)} parts, there is none at {position}")
            return None
        return _text(parts[position], key)

    def _texts(self, name: str, argument: Node) -> list[str] | None:
        if not argument.is_sequence:
            self._problems.report(argument, f"`{name}` takes a list, not {argument.describe()}")
            return None
        sound = True
        for element in argument.value:
            if not (element.is_scalar and isinstance(element.value, str)):
                hint = f'write "{element.text}"' if element.is_scalar and element.text else None
                self._problems.report(element, f"`{name}` takes strings, not {element.describe()}", hint=hint)
                sound = False
        if sound and sum(len(element.text) for element in argument.value) > _LARGEST_TEXT:
            self._problems.report(argument, f"the result of `{name}` is too large")
            sound = False
        return [element.value for element in argument.value] if sound else None


class Properties:
    """The properties of one entity: definitions, what was assigned, and values worked out on demand."""

    __slots__ = ("_at", "_checker", "_evaluated", "_evaluator", "_open", "_problems", "_values", "assigned", "context",
                 "definitions", "what")  # fmt: skip

    def __init__(
        self,
        definitions: dict[str, PropertyDef],
        assigned: Node | None,
        *,
        what: str,
        at: Node,
        evaluator: Evaluator,
        checker: Checker,
        problems: Problems,
    ) -> None:
        self.definitions = definitions
        self.assigned = assigned
        self.what = what
        self.context = Context(properties=self)
        self._at = at
        self._evaluator = evaluator
        self._checker = checker
        self._problems = problems
        self._open: set[str] = set()
        self._evaluated: dict[str, Node | None] = {}
        self._values: dict[str, Any] = {}

    def evaluated(self, name: str, *, at: Node) -> Node | None:
        """The assigned or default node of a property with its functions worked out."""
        if name in self._evaluated:
            return self._evaluated[name]
        if name in self._open:
            self._problems.report(at, f"`{name}` of {self.what} refers to itself")
            return None
        given = self._given(name)
        if given is None:
            if not self.definitions[name].required:
                self._problems.report(at, f"`{name}` of {self.what} has no value")
            return None
        self._open.add(name)
        value = self._evaluator.evaluate(given, self.context)
        self._open.discard(name)
        self._evaluated[name] = value
        return value

    def _given(self, name: str) -> Node | None:
        assigned = self.assigned.get(name) if self.assigned is not None else None
        return assigned if assigned is not None else self.definitions[name].default

    def place(self, name: str) -> Node:
        """Where a property's value stands, for errors about its meaning."""
        assigned = self.assigned.get(name) if self.assigned is not None else None
        return assigned if assigned is not None else self._at

    def has(self, name: str) -> bool:
        """Is there a value, right or wrong?"""
        return self._given(name) is not None

    def get(self, name: str) -> Any:
        """The checked value; None when it is absent or wrong."""
        return self._values.get(name)

    def values(self) -> dict[str, Any]:
        return dict(self._values)

    def settle(self) -> None:
        """Evaluate and check everything, reporting what is unknown, missing or wrong."""
        if self.assigned is not None:
            for name, (key, _) in self.assigned.value.items():
                if name not in self.definitions:
                    self._problems.unknown(key, "property", name, self.definitions, of=f"of {self.what}")
        for name, definition in self.definitions.items():
            given = self._given(name)
            if given is None:
                if definition.required:
                    self._problems.report(self._at, f"{self.what} lacks the required property `{name}`")
                continue
            node = self.evaluated(name, at=given)
            if node is None:
                continue
            value = self._check(node, definition.schema, name)
            if value is not INVALID:
                self._values[name] = value

    def _check(self, node: Node, schema: Schema, name: str) -> Any:
        return self._checker.check(node, schema, f"`{name}` of {self.what}")


def _like(node: Node, value: Any) -> Node:
    """A collection like another, with other contents."""
    copy = Node(node.kind, value, file=node.file, line=node.line, column=node.column)
    inner = value if node.kind == "sequence" else [pair[1] for pair in value.values()]
    copy.weight = 1 + sum(element.weight for element in inner)
    return copy


def _moved(node: Node, at: Node) -> Node:
    """The same value, standing elsewhere: errors about it belong where it was asked for."""
    copy = Node(node.kind, node.value, file=at.file, line=at.line, column=at.column, text=node.text)
    copy.weight = node.weight
    return copy


def _text(value: str, at: Node) -> Node:
    return Node("scalar", value, file=at.file, line=at.line, column=at.column, text=value)
