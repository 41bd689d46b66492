"""Templates that nobody would write: mutated ones are read or refused, never a crash and never a hang.

The seeds are all templates of the test suite and the examples. A mutation works on the text (cut, repeat, swap, insert)
or on the tree (replace, drop, move a value), so that both the YAML reader and everything behind it see odd input. The
sample in `make test` is small; `ECOTONE_FUZZ_SECONDS` says how long the campaign of `make soak` runs (600 by default).
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecotone.model.errors import InputError
from ecotone.tosca import compile_application, emit, graph_of, parse_application
from ecotone.tosca.draw import as_svg, as_text
from ecotone.tosca.importers import import_compose, import_manifests, import_observed

HERE = Path(__file__).parent
FILES = [*(HERE / "valid").glob("*.yaml"), *(HERE / "broken").glob("*.yaml")]
FILES += (HERE.parent.parent / "examples" / "tosca").glob("*.yaml")
SEEDS = [path.read_text(encoding="utf-8") for path in sorted(FILES)]
LONGEST_SECONDS = 5.0
WORDS = [
    "Service", "ExternalService", "HTTPRoute", "tosca.nodes.Root", "derived_from", "get_property", "get_input", "concat",
    "SELF", "route", "node", "relationship", "properties", "capabilities", "type", "default", "constraints", "in_range",
    "pattern", "(a+)+$", "200 ms", "-1", "0", "1e999", ".nan", "~", "[]", "{}", "&a", "*a", "<<: *a", "!x", "'", '"', "\t",
    "\x00", "é", "\u2028", "UNBOUNDED", "copy", "token", "join", "9" * 30, "scalar-unit.time", "list", "map", "version",
]  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 0, 1.5, float("inf"), 10**40, "", "x", "10 ms", "Service", [], {}, ["a"], {"": ""},
    {"a": {"a": {"a": 1}}}, {"get_input": "x"}, {"concat": []}, {"get_property": ["SELF", "a"]}, {"token": ["", "", 0]},
]  # fmt: skip


def exercise(text: str) -> None:
    """Everything a template goes through; only errors meant for people may come out."""
    begin = time.process_time()
    try:
        application = parse_application(text, file="fuzz.yaml")
    except InputError as error:
        assert str(error).startswith("fuzz.yaml"), str(error)
    else:
        graph = graph_of(application)
        objects = compile_application(application, graph)
        listing = emit.documents(objects)
        as_svg(graph)
        as_text(graph)
        if objects:
            draft = import_manifests([("fuzz.yaml", listing)])
            assert compile_application(parse_application(draft.as_template())) == objects
    for importer in (lambda: import_compose(text, file="f"), lambda: import_observed([("f", text)])):
        with contextlib.suppress(InputError):
            importer()
    assert time.process_time() - begin < LONGEST_SECONDS


def mutated_text(text: str, draw: random.Random) -> str:
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice((0, 1, 3, 10, 40)))
        kind = draw.randrange(5)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:end] + text[start:end] * draw.choice((1, 2, 30)) + text[end:]
        elif kind == 2:
            text = text[:start] + draw.choice(WORDS) + text[end:]
        elif kind == 3:
            lines = text.split("\n")
            first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[first], lines[second] = lines[second], lines[first]
            text = "\n".join(lines)
        else:
            other = draw.choice(SEEDS)
            cut = draw.randrange(len(other) + 1)
            text = text[:start] + other[cut : cut + 200] + text[end:]
    return text[:50_000]


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    found: list[tuple[Any, Any]] = []
    todo = [data]
    while todo:
        current = todo.pop()
        keys: Any = (
            list(current) if isinstance(current, dict) else range(len(current)) if isinstance(current, list) else ()
        )
        for key in keys:
            found.append((current, key))
            todo.append(current[key])
    return found


def mutated_tree(text: str, draw: random.Random) -> str:
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return mutated_text(text, draw)
    data = json.loads(json.dumps(data, default=str))  # no aliases: a mutation changes one place
    for _ in range(draw.randint(1, 3)):
        spots = places(data)
        if not spots:
            break
        container, key = draw.choice(spots)
        kind = draw.randrange(4)
        if kind == 0:
            container[key] = copy.deepcopy(draw.choice(ODD))
        elif kind == 1 and isinstance(container, dict):
            container[draw.choice(WORDS)] = container.pop(key)
        elif kind == 2:
            other, name = draw.choice(spots)
            container[key] = copy.deepcopy(other[name])
        else:
            del container[key]
    return yaml.safe_dump(data, allow_unicode=True, sort_keys=False)


def mutant(number: int) -> str:
    draw = random.Random(number)
    return draw.choice((mutated_text, mutated_tree))(draw.choice(SEEDS), draw)


@given(st.integers(0, 2**48))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutated_templates_are_read_or_refused(number: int) -> None:
    exercise(mutant(number))


@pytest.mark.parametrize("text", SEEDS)
def test_the_seeds_themselves_are_read_or_refused(text: str) -> None:
    exercise(text)


@pytest.mark.slow
def test_a_long_campaign_finds_nothing() -> None:
    seconds = float(os.environ.get("ECOTONE_FUZZ_SECONDS", "600"))
    start, end = time.time_ns() % 2**40, time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end:
        try:
            exercise(mutant(start + tried))
        except BaseException as error:
            raise AssertionError(f"mutant {start + tried}: {type(error).__name__}: {error}") from error
        tried += 1
    sys.stderr.write(f"{tried} mutants in {seconds:g} s, first {start}\n")
    assert tried > seconds / 10
