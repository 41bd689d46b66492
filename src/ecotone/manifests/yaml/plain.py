"""YAML to plain data, without positions: the fast way for files in which nothing is wrong.

An export of fifty megabytes has five million places, and nobody asks for one of them unless there is an error. So a file
is first read straight into dictionaries and lists. Whatever is out of the ordinary (anchors, tags, merge keys, equal
keys, keys that are no text, great depth, anything invalid) ends this reading with `NotPlainError`, and `positions` reads
the file again with the care it takes to say what is wrong, and where. What is read here is what is read there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from ecotone.manifests.yaml.positions import (
    INTEGER,
    LOADER,
    LONGEST_NUMBER,
    Limits,
    Scalar,
    collector_paused,
    decoded,
    resolve,
)
from ecotone.model.errors import InputError

Watch = Callable[[int, int], None]
"""Told how many characters of how many have been read."""

_STEP = 50_000
_OBJECT = 2  # an object of a list is opened inside a document's mapping and the list in it


class NotPlainError(Exception):
    """Something the fast way does not answer for."""


class PlainDocument:
    """One document, with the lines (from 1) at which it and the mappings in its lists begin."""

    __slots__ = ("item_lines", "line", "value")

    def __init__(self, value: Any, line: int) -> None:
        self.value = value
        self.line = line
        self.item_lines: dict[int, int] = {}

    def line_of(self, item: Any) -> int:
        """Where an element of one of the document's own lists begins."""
        return self.item_lines.get(id(item), self.line)


def load_plain(data: bytes, *, file: str, limits: Limits, watch: Watch | None = None) -> list[PlainDocument]:
    """Every document of a stream that holds nothing out of the ordinary; NotPlainError otherwise."""
    try:
        text = decoded(data, file=file, limits=limits)
    except InputError:
        raise NotPlainError from None
    parser = LOADER(text)
    try:
        with collector_paused():
            return _documents(parser.get_event, limits, watch, len(text))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise NotPlainError from None
    finally:
        parser.dispose()


def _documents(
    following: Callable[[], Any], limits: Limits, watch: Watch | None, size: int
) -> list[PlainDocument]:  # one loop, on purpose: it turns once per value of the file
    documents: list[PlainDocument] = []
    above: list[Any] = []
    here: Any = None
    key: str | None = None
    words: dict[str, Scalar] = {}
    names: dict[str, str] = {}
    turns, pause = 0, _STEP
    while True:
        event = following()
        kind = event.__class__
        turns += 1
        if turns == pause:
            if turns > limits.max_nodes:
                raise NotPlainError
            pause += _STEP
            if watch is not None:
                watch(event.start_mark.index, size)
        if kind is yaml.ScalarEvent:
            text = event.value
            if event.tag is not None or event.anchor is not None:
                raise NotPlainError
            plain = event.implicit[0]
            if key is None and here.__class__ is dict:
                if (plain and text == "<<") or text in here:
                    raise NotPlainError
                key = names.setdefault(text, text)
                continue
            value: Any = text
            if plain:
                try:
                    value = words[text]
                except KeyError:
                    if len(text) > LONGEST_NUMBER and INTEGER.fullmatch(text):
                        raise NotPlainError from None
                    value = words[text] = resolve(text)
            if key is not None:
                here[key] = value
                key = None
            elif here is None:
                documents.append(PlainDocument(value, event.start_mark.line + 1))
            else:
                here.append(value)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if event.tag is not None or event.anchor is not None or len(above) >= limits.max_depth:
                raise NotPlainError
            new: Any = {} if kind is yaml.MappingStartEvent else []
            if key is not None:
                here[key] = new
                key = None
            elif here is None:
                documents.append(PlainDocument(new, event.start_mark.line + 1))
            elif here.__class__ is dict:
                raise NotPlainError
            else:
                here.append(new)
                if len(above) == _OBJECT:
                    documents[-1].item_lines[id(new)] = event.start_mark.line + 1
            above.append(here)
            here = new
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            here = above.pop()
        elif kind is yaml.AliasEvent:
            raise NotPlainError
        elif kind is yaml.StreamEndEvent:
            return documents
