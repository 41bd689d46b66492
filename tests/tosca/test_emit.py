"""Printed YAML means the same to every reader."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from ecotone.manifests.yaml.positions import load_document
from ecotone.tosca import emit

WORDS = [
    "on",
    "No",
    "1:30",
    "1e3",
    "0o7",
    "007",
    "~",
    "#c",
    "*a",
    "&a",
    "!t",
    "100m",
    "'",
    "{a}",
    "[",
    "2020-01-01",
    "0x1f",
    ".5",
    "+1",
    "=",
    "<<",
    "yes",
    "null",
    "a:b",
    "é",
    "%",
    "nan",
    "y",
]
TRICKY = st.sampled_from([*WORDS, "", " x", "x ", "- a", "a: b", "a #b", '"', "\n", "a\nb", "\u2028", "\U0001f600\n"])
TEXT = TRICKY | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DATA = st.recursive(
    TEXT | st.integers(-(10**6), 10**6) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, DATA, max_size=4))
def test_both_dialects_read_back_what_was_written(data: dict[str, object]) -> None:
    text = emit.document(data)
    assert load_document(text, file="f").plain() == data
    assert yaml.safe_load(text) == data
