"""Kubernetes objects as positioned nodes, whatever way they were listed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ecotone.manifests.yaml.positions import Node, load_documents
from ecotone.tosca.language.files import LIMITS

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")


def objects(texts: Iterable[tuple[str, str | bytes]]) -> list[Node]:
    """Every object of (file, text) pairs; lists are opened."""
    found: list[Node] = []
    for file, text in texts:
        for document in load_documents(text, file=file, limits=LIMITS):
            found += _opened(document)
    return found


def _opened(document: Node) -> Iterator[Node]:
    if document.is_null:
        return
    if not document.is_mapping:
        raise document.error(f"a Kubernetes object must be a mapping, not {document.describe()}")
    items = document.get("items")
    if kind(document).endswith("List") and items is not None and items.is_sequence:
        for item in items.elements():
            yield from _opened(item)
    elif document.get("kind") is None:
        raise document.error("a Kubernetes object has a `kind`")
    else:
        yield document


def at(node: Node | None, *path: str) -> Node | None:
    """Follow keys down; None when something is missing."""
    for key in path:
        node = node.get(key) if node is not None else None
    return node


def kind(node: Node) -> str:
    return text(at(node, "kind"))


def name(node: Node) -> str:
    return text(at(node, "metadata", "name"))


def text(node: Node | None) -> str:
    return node.text if node is not None and node.is_scalar else ""


def strings(node: Node | None) -> dict[str, str]:
    """A mapping of texts: labels, annotations, selectors."""
    return {key: value.text for key, value in node.items() if value.is_scalar} if node is not None else {}


def plain(node: Node | None) -> Any:
    return node.plain() if node is not None else None


def json_mapping(value: str | None) -> dict[str, Any]:
    """A JSON object written into an annotation; anything else counts as absent."""
    if not value or len(value) > 1_000_000:
        return {}
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
