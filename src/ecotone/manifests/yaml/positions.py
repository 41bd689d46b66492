"""YAML that remembers where it came from.

An error that says "line 41, column 9: `replcias` is unknown" is worth ten that say "invalid document". PyYAML's usual
loaders throw positions away, silently keep the last of two equal keys, expand aliases without bound and recurse on the
input's nesting. Files come from outside, so here a document is built from the parser's event stream instead: without
recursion, within limits that are checked while reading (a bomb is refused before it is expanded), and every node keeps
its file, line and column (both from 1).

Scalars follow the YAML 1.2 core schema, which is what JSON, Kubernetes and TOSCA tools agree on: `on`, `no` and `12:30`
are text, dates stay text. One habit of YAML 1.1 is kept because manifests rely on it: `0644` is octal. Keys are text.
Merge keys (`<<`) are honoured.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from ecotone.manifests.spelling import did_you_mean
from ecotone.model.errors import InputError

Kind = Literal["mapping", "sequence", "scalar"]
Scalar = str | int | float | bool | None

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LONGEST_NUMBER = 400


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may cost: its size, its nesting, and how far its aliases may expand."""

    max_bytes: int = 64 * 1024 * 1024
    max_depth: int = 100
    max_nodes: int = 10_000_000
    max_aliases: int = 10_000


DEFAULT_LIMITS = Limits()


class Node:
    """One place in a document: a mapping, a sequence or a scalar, with its position.

    `value` is the Python value of a scalar, the list of elements of a sequence, and for a mapping the dictionary
    `text of the key -> (key node, value node)` in the order of the file. `text` is a scalar as written.
    """

    __slots__ = ("column", "file", "height", "kind", "line", "quoted", "tag", "text", "value", "weight")

    def __init__(self, kind: Kind, value: Any, *, file: str, line: int, column: int, text: str = "") -> None:
        self.kind: Kind = kind
        self.value: Any = value
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        self.quoted = False
        self.tag: str | None = None
        self.weight = 1  # nodes below and including this one, aliases counted as if expanded
        self.height = 1  # levels below and including this one

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.file}:{self.line}:{self.column}>"

    @property
    def is_mapping(self) -> bool:
        return self.kind == "mapping"

    @property
    def is_sequence(self) -> bool:
        return self.kind == "sequence"

    @property
    def is_scalar(self) -> bool:
        return self.kind == "scalar"

    @property
    def is_null(self) -> bool:
        return self.kind == "scalar" and self.value is None

    def get(self, key: str) -> Node | None:
        """The value under `key`, None when absent or when this is no mapping."""
        pair = self.value.get(key) if self.kind == "mapping" else None
        return pair[1] if pair is not None else None

    def key(self, key: str) -> Node | None:
        """The key itself, for the position of the word a person misspelt."""
        pair = self.value.get(key) if self.kind == "mapping" else None
        return pair[0] if pair is not None else None

    def keys(self) -> list[str]:
        return list(self.value) if self.kind == "mapping" else []

    def items(self) -> Iterator[tuple[str, Node]]:
        """(key text, value) of a mapping, in the order of the file."""
        if self.kind == "mapping":
            for name, (_, value) in self.value.items():
                yield name, value

    def entries(self) -> Iterator[tuple[Node, Node]]:
        """(key node, value node) of a mapping, in the order of the file."""
        if self.kind == "mapping":
            yield from self.value.values()

    def elements(self) -> list[Node]:
        """The elements of a sequence; empty for anything else."""
        return list(self.value) if self.kind == "sequence" else []

    def plain(self) -> Any:
        """Plain Python data: dict, list, str, int, float, bool, None."""
        if self.kind == "scalar":
            return self.value
        if self.kind == "sequence":
            return [element.plain() for element in self.value]
        return {name: value.plain() for name, (_, value) in self.value.items()}

    def describe(self) -> str:
        """What a person would call this value: `a mapping`, `a list`, `the string "x"`."""
        if self.kind == "mapping":
            return "a mapping"
        if self.kind == "sequence":
            return "a list"
        if self.value is None:
            return "nothing"
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        names: dict[type, str] = {bool: "boolean", int: "integer", float: "float"}
        kind = names.get(type(self.value))
        return f"the {kind} {shown}" if kind else f'the string "{shown}"'

    def error(self, message: str, *, hint: str | None = None) -> InputError:
        """An error at this place, ready to raise or to collect."""
        return InputError(message, file=self.file, line=self.line, column=self.column, hint=hint)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Hold the cycle collector while a large tree grows: it would walk all of it again and again and find nothing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def load_documents(
    text: str | bytes,
    *,
    file: str,
    limits: Limits = DEFAULT_LIMITS,
    problems: list[InputError] | None = None,
) -> list[Node]:
    """Every document of a stream. A stream that cannot be read raises InputError.

    Duplicate keys and unknown tags raise too, unless `problems` is given: then they are collected there, the first
    of two equal keys stays, and reading goes on, so that a caller can report all errors of a file at once.
    """
    content = decoded(text, file=file, limits=limits)
    builder = _Builder(file=file, limits=limits, problems=problems)
    parser = LOADER(content)
    try:
        with collector_paused():
            take, more, following = builder.take, parser.check_event, parser.get_event
            while more():
                take(following())
    except yaml.reader.ReaderError as error:
        line, column = _locate(content, error.position if isinstance(error.position, int) else 0)
        raise InputError(
            f"character U+{_code(error.character):04X} is not allowed in YAML", file=file, line=line, column=column
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.context, error.problem) if part)
        row = None if mark is None else mark.line + 1
        raise InputError(
            f"not valid YAML: {message}", file=file, line=row, column=None if mark is None else mark.column + 1
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"not valid YAML: {error}", file=file) from None
    finally:
        parser.dispose()
    return builder.documents


def load_document(
    text: str | bytes,
    *,
    file: str,
    limits: Limits = DEFAULT_LIMITS,
    problems: list[InputError] | None = None,
) -> Node:
    """The only document of a stream; none or several are an error."""
    documents = load_documents(text, file=file, limits=limits, problems=problems)
    if not documents:
        raise InputError("the file is empty", file=file, line=1, column=1)
    if len(documents) > 1:
        raise documents[1].error("one document is expected, here begins a second one", hint="remove the `---`")
    return documents[0]


class _Open:
    """A collection that is being read: its node, its anchor, and the key that waits for a value."""

    __slots__ = ("anchor", "key", "merges", "node")

    def __init__(self, node: Node, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.key: Node | None = None
        self.merges: list[Node] = []


class _Builder:
    """Turns parser events into nodes without recursion, checking the limits at every step."""

    def __init__(self, *, file: str, limits: Limits, problems: list[InputError] | None) -> None:
        self._file = file
        self._limits = limits
        self._problems = problems
        self._stack: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._aliases = 0
        self._weight = 0
        self.documents: list[Node] = []

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._finish(self._scalar(event), event.anchor)
        elif kind is yaml.MappingStartEvent:
            self._open("mapping", {}, event)
        elif kind is yaml.SequenceStartEvent:
            self._open("sequence", [], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            frame = self._stack.pop()
            if frame.merges:
                self._merge(frame)
            self._finish(frame.node, frame.anchor)
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent:
            self._anchors.clear()

    def _open(self, kind: Kind, value: Any, event: Any) -> None:
        node = self._node(kind, value, event)
        if len(self._stack) >= self._limits.max_depth:
            raise node.error(f"nested deeper than {self._limits.max_depth} levels")
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{'map' if kind == 'mapping' else 'seq'}"):
            self._report(node.error(f"the tag `{event.tag}` is not supported"))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._stack.append(_Open(node, event.anchor))

    def _node(self, kind: Kind, value: Any, event: Any, text: str = "") -> Node:
        mark = event.start_mark
        return Node(kind, value, file=self._file, line=mark.line + 1, column=mark.column + 1, text=text)

    def _scalar(self, event: Any) -> Node:
        text: str = event.value
        node = self._node("scalar", text, event, text)
        plain, tag = event.implicit[0], event.tag
        node.quoted = not plain and tag is None
        if tag is None or tag == "!":
            node.value = resolve(text) if plain and tag is None else text
        else:
            node.tag = tag
            node.value = self._tagged(node, tag)
        if plain and isinstance(node.value, str) and len(text) > LONGEST_NUMBER and INTEGER.fullmatch(text):
            self._report(node.error("the number is too long"))
        return node

    def _tagged(self, node: Node, tag: str) -> Scalar:
        name = tag.removeprefix("tag:yaml.org,2002:")
        if name in ("str", "binary", "timestamp"):
            return node.text
        value = resolve(node.text)
        if name == "float" and type(value) is int:
            return float(value)
        expected = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(name)
        if expected is None:
            self._report(node.error(f"the tag `{tag}` is not supported"))
        elif type(value) is not expected:
            self._report(node.error(f"`{node.text}` is no {name}, as its tag says"))
        return value

    def _alias(self, event: Any) -> None:
        where = self._node("scalar", None, event)
        self._aliases += 1
        if self._aliases > self._limits.max_aliases:
            raise where.error(f"more than {self._limits.max_aliases} aliases")
        target = self._anchors.get(event.anchor)
        if target is None:
            if any(frame.anchor == event.anchor for frame in self._stack):
                raise where.error(f"the alias `*{event.anchor}` contains itself")
            hint = did_you_mean(event.anchor, self._anchors)
            raise where.error(f"the anchor `&{event.anchor}` is not defined", hint=hint)
        if len(self._stack) + target.height > self._limits.max_depth:
            raise where.error(f"nested deeper than {self._limits.max_depth} levels")
        self._place(target, at=where)

    def _finish(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        self._place(node, at=node)

    def _place(self, node: Node, *, at: Node) -> None:
        """Put a finished node where it belongs: as a document, an element, a key or a value."""
        if not self._stack:
            self._weight += node.weight
            self.documents.append(node)
            self._check_weight(self._weight, at)
            return
        frame = self._stack[-1]
        parent = frame.node
        if parent.kind == "sequence":
            parent.value.append(node)
        elif frame.key is None:
            if node.kind != "scalar":
                raise at.error("a key must be plain text")
            frame.key = node
            return
        else:
            key, frame.key = frame.key, None
            if key.text == "<<" and not key.quoted:
                frame.merges.append(node)
            elif key.text in parent.value:
                first = parent.value[key.text][0]
                self._report(key.error(f"the key `{key.text}` appears twice", hint=f"first on line {first.line}"))
                return
            else:
                parent.value[key.text] = (key, node)
        parent.weight += node.weight
        parent.height = max(parent.height, node.height + 1)
        self._check_weight(self._weight + parent.weight, at)

    def _check_weight(self, weight: int, at: Node) -> None:
        if weight > self._limits.max_nodes:
            raise at.error(f"the document expands to more than {self._limits.max_nodes} values")

    def _merge(self, frame: _Open) -> None:
        """YAML's `<<`: own keys win, earlier merged mappings win over later ones."""
        for source in frame.merges:
            for mapping in source.value if source.kind == "sequence" else [source]:
                if mapping.kind != "mapping":
                    self._report(mapping.error("`<<` merges mappings only"))
                    continue
                for name, pair in mapping.value.items():
                    frame.node.value.setdefault(name, pair)

    def _report(self, error: InputError) -> None:
        if self._problems is None:
            raise error
        self._problems.append(error)


INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(
    r"""(?P<int>[-+]?(?:0|[1-9][0-9]*))
      | (?P<old>[-+]?0[0-7]+)
      | 0o(?P<oct>[0-7]+)
      | 0x(?P<hex>[0-9a-fA-F]+)
      | (?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)""",
    re.VERBOSE,
)
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_MAY_START_A_NUMBER = frozenset("+-.0123456789")


def resolve(text: str) -> Scalar:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_START_A_NUMBER or len(text) > LONGEST_NUMBER:
        return text
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if match["int"] is not None:
        return int(text)
    if match["old"] is not None or match["oct"] is not None:
        return int((match["old"] or match["oct"]), 8)
    if match["hex"] is not None:
        return int(match["hex"], 16)
    return float(text)


def decoded(text: str | bytes, *, file: str, limits: Limits) -> str:
    """The text of a file, if it is one and within the limits."""
    size = len(text)
    if size > limits.max_bytes:
        raise InputError(f"the file has {size} bytes, more than {limits.max_bytes}", file=file)
    if isinstance(text, str):
        surrogate = re.search("[\ud800-\udfff]", text)
        if surrogate is None:
            return _join_surrogates(text.removeprefix("\ufeff"))
        line, column = _locate(text, surrogate.start())
        raise InputError("the text contains half a surrogate pair", file=file, line=line, column=column)
    try:
        return _join_surrogates(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line, column = _locate(text[: error.start].decode("utf-8", "replace"), None)
        raise InputError("the file is not UTF-8", file=file, line=line, column=column) from None


_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def _join_surrogates(text: str) -> str:
    """JSON writes characters beyond U+FFFF as two escapes, which YAML does not know: join them in JSON texts."""
    if not text.lstrip().startswith(("{", "[", '"')) or "\\u" not in text:
        return text

    def join(match: re.Match[str]) -> str:
        code = 0x10000 + ((int(match[2], 16) & 0x3FF) << 10) + (int(match[3], 16) & 0x3FF)
        return f"{match[1]}\\U{code:08X}"

    return _PAIR.sub(join, text)


def _locate(text: str, position: int | None) -> tuple[int, int]:
    before = text if position is None else text[:position]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(str(character)[:1] or "\0")
