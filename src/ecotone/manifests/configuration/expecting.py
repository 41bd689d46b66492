"""What a configuration file must hold at a place: a mapping with known keys, a word, a number; else an error there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite

from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node


def only(node: Node, keys: Collection[str]) -> None:
    for key, _ in node.items():
        if key not in keys:
            raise (node.key(key) or node).error(f"unknown key {key!r}", hint=did_you_mean(key, keys))


def expect(node: Node, kind: str, what: str) -> None:
    if node.kind != kind:
        shape = {"mapping": "a mapping", "sequence": "a list"}[kind]
        raise node.error(f"{what} must be {shape}, not {node.describe()}")


def word(node: Node, key: str) -> str | None:
    found = node.get(key)
    if found is None or found.is_null:
        return None
    if not isinstance(found.value, str):
        raise found.error(f"{key} must be text, not {found.describe()}", hint="quote it")
    return found.value


def words(node: Node, what: str) -> tuple[str, ...]:
    expect(node, "sequence", what)
    for each in node.elements():
        if not isinstance(each.value, str):
            raise each.error(f"{what} must be a list of text, not of {each.describe()}", hint="quote it")
    return tuple(str(each.value) for each in node.elements())


def flag(node: Node, what: str) -> bool:
    if not isinstance(node.value, bool):
        raise node.error(f"{what} must be true or false, not {node.describe()}")
    return node.value


def number(node: Node, what: str) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise node.error(f"{what} must be a number of at least 0, not {node.describe()}")
    return float(value)


def whole_number(node: Node, what: str) -> int:
    if not number(node, what).is_integer():
        raise node.error(f"{what} must be a whole number, not {node.describe()}")
    return int(node.value)


def choice(node: Node, names: Sequence[str], what: str) -> str:
    if node.text not in names or not node.is_scalar:
        raise node.error(f"unknown {what} {node.text!r}", hint=did_you_mean(node.text, names))
    return node.text
