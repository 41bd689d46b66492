"""Reading YAML with positions: exact places, limits before expansion, nothing silently lost."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.manifests.spelling import did_you_mean, nearest
from ecotone.manifests.yaml.positions import Limits, load_document, load_documents, resolve
from ecotone.model.errors import InputError


def failure(text: str | bytes, **options: object) -> InputError:
    with pytest.raises(InputError) as caught:
        load_documents(text, file="app.yaml", **options)  # type: ignore[arg-type]
    return caught.value


def test_every_node_knows_its_place() -> None:
    root = load_document("a: 1\nb:\n  - x\n  - {c: yes}\n", file="app.yaml")
    assert (root.line, root.column) == (1, 1)
    listing = root.get("b")
    assert listing is not None
    inner = listing.elements()[1]
    key = inner.key("c")
    value = inner.get("c")
    assert key is not None
    assert value is not None
    assert (key.line, key.column, value.line, value.column) == (4, 6, 4, 9)
    assert str(value.error("no good", hint="try true")) == "app.yaml:4:9: no good (try true)"


def test_several_documents_and_empty_ones() -> None:
    documents = load_documents("a: 1\n---\n- 2\n---\n", file="f")
    assert [document.plain() for document in documents] == [{"a": 1}, [2], None]
    assert load_documents("", file="f") == []


def test_one_document_means_one() -> None:
    with pytest.raises(InputError, match="f:3:1: one document is expected"):
        load_document("a: 1\n---\nb: 2\n", file="f")
    with pytest.raises(InputError, match="empty"):
        load_document("# nothing\n", file="f")


def test_a_duplicate_key_is_an_error_at_the_second_one() -> None:
    error = failure("a: 1\nb: 2\n  \na: 3\n")
    assert (error.line, error.column, error.hint) == (4, 1, "first on line 1")


def test_problems_are_collected_when_asked() -> None:
    problems: list[InputError] = []
    root = load_document("a: 1\na: 2\nb: {c: 1, c: 2}\nd: !odd 3\n", file="f", problems=problems)
    assert [(p.line, p.column) for p in problems] == [(2, 1), (3, 11), (4, 4)]
    assert root.plain() == {"a": 1, "b": {"c": 1}, "d": 3}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: [1, 2\nb: 3\n", 2, 2),
        ("a: b: c\n", 1, 5),
        ("a: 'open\n", 2, 1),
        ("\tb: 1\n", 1, 1),
        ("a: *nowhere\n", 1, 4),
        ("? [1]\n: 2\n", 1, 3),
        ("a: 1\nb: x\x07y\n", 2, 5),
    ],
)
def test_unreadable_yaml_names_the_place(text: str, line: int, column: int) -> None:
    error = failure(text)
    assert (error.line, error.column) == (line, column), str(error)


def test_bytes_that_are_no_utf8_name_the_place() -> None:
    error = failure(b"a: 1\nb: \xff\n")
    assert (error.line, error.column) == (2, 4)
    assert load_document(b"\xef\xbb\xbfa: 1", file="f").plain() == {"a": 1}


def test_half_a_surrogate_is_refused() -> None:
    assert failure("a: \ud800").column == 4


def test_a_billion_laughs_are_refused_before_they_expand() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 12)]
    begin = time.process_time()
    error = failure("\n".join(lines))
    assert "expands to more than" in error.message
    assert time.process_time() - begin < 1


def test_deep_nesting_is_refused_quickly() -> None:
    begin = time.process_time()
    for text in ("[" * 200_000, "{a: " * 200_000, "\n".join(" " * i + "a:" for i in range(3_000)), "- " * 100_000):
        assert "nested deeper" in failure(text).message
    assert time.process_time() - begin < 2


def test_depth_hidden_in_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 300)]
    assert "nested deeper" in failure("\n".join(lines)).message


def test_an_alias_that_contains_itself_is_refused() -> None:
    assert "contains itself" in failure("a: &x [1, *x]").message


def test_size_and_alias_limits_hold() -> None:
    assert "bytes" in failure("a: " + "x" * 100, limits=Limits(max_bytes=50)).message
    assert "aliases" in failure("a: &a 1\nb: [*a, *a, *a]", limits=Limits(max_aliases=2)).message


def test_merge_keys_fill_in_what_is_absent() -> None:
    root = load_document("base: &b {x: 1, y: 2}\nother: &o {y: 7, z: 3}\nuse: {<<: [*b, *o], x: 9}\n", file="f")
    assert root.plain()["use"] == {"x": 9, "y": 2, "z": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("0644", 0o644),
        ("089", 89.0),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e3", 1000.0),
        ("-7", -7),
        ("100m", "100m"),
        ("~", None),
        (".5", 0.5),
        ("1_000", "1_000"),
        ("True", True),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


def test_special_floats_and_long_numbers() -> None:
    assert math.isnan(float(str(resolve(".nan"))))
    assert "too long" in failure("a: " + "9" * 5000).message


def test_explicit_tags() -> None:
    root = load_document('a: !!str 12\nb: !!int "12"\nc: !!float 1\nd: "12"', file="f")
    assert root.plain() == {"a": "12", "b": 12, "c": 1.0, "d": "12"}
    assert "is no int" in failure("a: !!int x").message


def test_suggestions() -> None:
    assert nearest("replcias", ["replicas", "image"]) == "replicas"
    assert nearest("httproute", ["HTTPRoute", "gRPCRoute"]) == "HTTPRoute"
    assert did_you_mean("zzz", ["b", "a"]) == "valid here: `a`, `b`"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_json_escapes_beyond_the_basic_plane() -> None:
    assert load_document('["\\ud83d\\ude00", "\\\\ud83d"]', file="f").plain() == ["\U0001f600", "\\ud83d"]


@given(PLAIN)
def test_json_reads_back_as_it_was(data: object) -> None:
    assert load_document(json.dumps(data, indent=1), file="f").plain() == data


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@` \n\t,?<~0.", max_size=60) | st.binary(max_size=40))
def test_any_text_is_read_or_refused_with_an_input_error(text: str | bytes) -> None:
    try:
        for document in load_documents(text, file="f"):
            document.plain()
    except InputError as error:
        assert str(error).startswith("f")
