"""The fast way to read YAML gives what the careful way gives, or leaves the file to it."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
import yaml

from cli.fuzzing import CLUSTER, TEMPLATE, written
from ecotone.manifests import decoding
from ecotone.manifests.decoding import decode
from ecotone.manifests.yaml.plain import NotPlainError, load_plain
from ecotone.manifests.yaml.positions import Limits, load_documents
from ecotone.model.errors import InputError

ORDINARY = b"""\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: a, labels: {on: off, octal: "0644"}}
# a comment

- apiVersion: v1
  kind: Namespace
  metadata:
    name: "b"
---
apiVersion: v1
kind: Namespace
metadata:
  name: c
"""


def alike(one: Any, other: Any) -> bool:
    """Equal, with NaN equal to itself and 1 different from True."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


def both(content: bytes) -> tuple[Any, Any]:
    try:
        fast: Any = [each.value for each in load_plain(content, file="x", limits=Limits())]
    except NotPlainError:
        return None, None
    return fast, [each.plain() for each in load_documents(content, file="x")]


def test_random_files_are_read_the_same_both_ways() -> None:
    answered = 0
    for seed in range(600):
        luck = Random(seed)
        content = written(luck, CLUSTER, many=True) if seed % 2 else written(luck, TEMPLATE)
        fast, careful = both(content)
        if fast is not None:
            answered += 1
            assert alike(fast, careful), f"seed {seed}"
    assert answered > 250


@pytest.mark.parametrize(
    "scalar",
    [
        "", "~", "null", "on", "no", "12:30", "2026-01-01", "0644", "0o17", "0x1F", "1e3", ".5", "-.inf", ".nan", "'1'",
        '"x\\n"', "|\n  two\n  lines", ">-\n  folded\n  text", "x" * 5000, "+1", "- 1", "[1, {a: b}]", "{}", "a #b", "a#b", "é",
    ],
)  # fmt: skip
def test_a_scalar_is_the_same_both_ways(scalar: str) -> None:
    separator = "\n" if scalar.startswith("- ") else " "
    fast, careful = both(f"key:{separator}{scalar}\nother: 1\n".encode())
    assert fast is not None
    assert alike(fast, careful)


@pytest.mark.parametrize(
    "content",
    [
        b"a: 1\na: 2\n", b"a: &x 1\nb: *x\n", b"<<: {a: 1}\n", b"a: !!int '1'\n", b"? [a]\n: b\n", b"a: [\n", b"\xff",
        b"a: \x01", b"[" * 200 + b"]" * 200, b"a: " + b"9" * 500,
    ],
)  # fmt: skip
def test_what_is_out_of_the_ordinary_is_left_to_the_careful_way(content: bytes) -> None:
    with pytest.raises(NotPlainError):
        load_plain(content, file="x", limits=Limits())


def test_too_many_values_are_left_to_the_careful_way() -> None:
    content = b"- 1\n" * 60_000
    with pytest.raises(NotPlainError):
        load_plain(content, file="x", limits=Limits(max_nodes=40_000))


def test_objects_know_the_line_they_begin_at(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = [(each.value.metadata.name, each.line) for each in decode(ORDINARY, file="x")]
    assert fast == [("a", 4), ("b", 9), ("c", 14)]

    def refuse(*_: object, **__: object) -> None:
        raise NotPlainError

    monkeypatch.setattr(decoding, "load_plain", refuse)
    assert fast == [(each.value.metadata.name, each.line) for each in decode(ORDINARY, file="x")]


def test_positions_are_read_only_when_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*words: Any, **options: Any) -> Any:
        asked.append(words)
        return load_documents(*words, **options)

    monkeypatch.setattr(decoding, "load_documents", counted)
    decode(ORDINARY, file="x")
    assert asked == []
    with pytest.raises(InputError, match=r"x:10:9: v1 has no kind 'Namespac'"):
        decode(ORDINARY.replace(b"Namespace\n  metadata:\n", b"Namespac\n  metadata:\n"), file="x")
    assert len(asked) == 1


def test_reading_tells_how_far_it_is() -> None:
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{number}"}} for number in range(10_000)
    ]
    content = yaml.dump_all(objects, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)).encode()
    told: list[tuple[int, int]] = []
    decode(content, file="x", watch=lambda done, size: told.append((done, size)))
    assert {size for _, size in told} == {len(content)}
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert 0 < told[0][0] < told[-1][0] <= len(content)
