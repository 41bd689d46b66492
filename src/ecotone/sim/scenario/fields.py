"""Reading a mapping field by field, with the position of whatever is wrong.

A reader asks for the fields it knows; what is left over was misspelt, and the error says what was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node
from ecotone.model import quantity
from ecotone.model.errors import InputError

T = TypeVar("T")


class Fields:
    """A mapping under reading. `what` names it in errors: `the node`, `the call`."""

    def __init__(self, node: Node, *, what: str, known: Iterable[str]) -> None:
        if not node.is_mapping:
            raise node.error(f"{what} must be a mapping, not {node.describe()}")
        self.node = node
        self.what = what
        names = list(known)
        for key, _ in node.items():
            if key not in names:
                place = node.key(key) or node
                raise place.error(f"{what} has no field `{key}`", hint=did_you_mean(key, names))

    def get(self, name: str) -> Node | None:
        found = self.node.get(name)
        return None if found is None or found.is_null else found

    def need(self, name: str, *, hint: str | None = None) -> Node:
        found = self.get(name)
        if found is None:
            raise self.node.error(f"{self.what} lacks `{name}`", hint=hint)
        return found

    def read(self, name: str, parse: Callable[[Node], T], default: T) -> T:
        found = self.get(name)
        return default if found is None else parse(found)

    def text(self, name: str, default: str | None = None) -> str:
        found = self.get(name)
        if found is None:
            if default is None:
                self.need(name)
            return default or ""
        return text(found, what=f"`{name}`")


def text(node: Node, *, what: str) -> str:
    if not node.is_scalar or node.value is None or isinstance(node.value, bool):
        raise node.error(f"{what} must be text, not {node.describe()}")
    return node.text


def flag(node: Node) -> bool:
    if not isinstance(node.value, bool):
        raise node.error(f"true or false is expected, not {node.describe()}")
    return node.value


def items(node: Node | None, *, what: str) -> list[Node]:
    if node is None or node.is_null:
        return []
    if not node.is_sequence:
        raise node.error(f"{what} must be a list, not {node.describe()}")
    return node.elements()


def one_of(node: Node, choices: Iterable[str], *, what: str) -> str:
    word = text(node, what=what)
    if word not in choices:
        raise node.error(f"{what} cannot be `{word}`", hint=did_you_mean(word, choices))
    return word


def resource(kind: str) -> Callable[[Node], int]:
    """A Kubernetes quantity: millicores for cpu, bytes for memory."""

    def parse(node: Node) -> int:
        if not node.is_scalar or node.value is None or isinstance(node.value, bool):
            raise node.error(f"a quantity of {kind} is expected, not {node.describe()}")
        try:
            amount = quantity.of_resource(kind, node.text)
        except InputError as error:
            raise node.error(error.message, hint=error.hint) from None
        if amount < 0:
            raise node.error(f"{kind} cannot be negative: `{node.text}`")
        if amount > quantity.LARGEST:
            raise node.error(f"`{node.text}` of {kind} is more than there can be")
        return amount

    return parse
