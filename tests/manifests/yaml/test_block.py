"""Whatever is read without the library is what the library reads; everything else is left to it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ecotone.manifests.yaml.block import read_blocks
from ecotone.manifests.yaml.positions import load_document
from ecotone.model.errors import InputError

CONFIG = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority: /etc/kubernetes/pki/ca.crt
    server: https://127.0.0.1:6443
  name: test
contexts:
- context:
    cluster: test
    user: admin
  name: test
current-context: test
kind: Config
preferences: {}
users:
- name: admin
  user:
    token: 0a1b2c3d4e5f
"""
KEYS = st.sampled_from(["a", "name", "user-name", "Kind", "b2"])
WORDS = st.sampled_from(
    ["x", "/etc/ca.crt", "https://[::1]:6443", "https://host:6443/", "a:", "true", "No", "12", "1e5", "0x1f", "0b11", "~", "",
     "0a1b2c", "1e5d", "12:30", "a b", "a #b", "- a", "*a", "&a", "'", '"', "a: b", "{}", "[]", ".inf", "2024-01-01", "é"]
)  # fmt: skip
VALUES = st.recursive(
    WORDS | st.text("ab:#-'\" {}[]!&*|>%@,?\\01e.", max_size=6) | st.integers() | st.booleans() | st.none(),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
LINES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["", "- ", "- - "]), KEYS, st.sampled_from(["", " x", " {}", " 'y'", " 1"])),
    min_size=1,
    max_size=7,
)  # fmt: skip


def by_library(text: str) -> Any:
    return load_document(text.encode(), file="f").plain()


def test_a_config_as_kubectl_writes_it_is_read() -> None:
    assert read_blocks(CONFIG.encode()) == by_library(CONFIG)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_what_is_read_is_what_the_library_reads(document: dict[str, Any]) -> None:
    text = yaml.safe_dump(document, allow_unicode=True)
    found = read_blocks(text.encode())
    assert found is None or found == by_library(text)


@given(LINES)
def test_lines_in_any_order_are_read_as_the_library_reads_them_or_not_at_all(
    lines: list[tuple[int, str, str, str]],
) -> None:
    text = "".join(f"{'  ' * indent}{dash}{key}:{value}\n" for indent, dash, key, value in lines)
    found = read_blocks(text.encode())
    if found is not None:
        try:
            assert found == by_library(text)
        except InputError as error:
            pytest.fail(f"the library refuses it: {error}\n{text}")


@pytest.mark.parametrize(
    "text",
    ["", "a:\n", "a: 1\n", "a: true\n", "a: b # c\n", "# c\na: b\n", "a: &x b\n", "a: |\n  b\n", "a: b\na: c\n", "a: {b: c}\n",
     "a: b\n\n", "---\na: b\n", "a:\n\tb: c\n", "a: b\r\n", "a: 'it''s'\n", '"a": b\n', "a: b:\n", "a: é\n", "- a: b\n"],
)  # fmt: skip
def test_what_is_out_of_the_ordinary_is_left_to_the_library(text: str) -> None:
    assert read_blocks(text.encode()) is None
