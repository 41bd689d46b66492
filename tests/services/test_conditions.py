"""Conditions in a chart's template stand around exactly those lines that a value adds."""

from __future__ import annotations

import pytest

from ecotone.services.install.conditions import with_conditions

PLAIN = "a\nz\n"


def test_lines_that_a_value_adds_get_its_condition() -> None:
    assert with_conditions(PLAIN, {"one": "a\nb\nz\n"}) == "a\n{{- if .Values.one }}\nb\n{{- end }}\nz\n"


def test_a_value_that_adds_nothing_leaves_the_text_as_it_is() -> None:
    assert with_conditions(PLAIN, {"one": PLAIN}) == PLAIN


def test_what_several_values_begin_with_alike_stands_once() -> None:
    assert with_conditions(PLAIN, {"one": "a\nlist:\n- 1\nz\n", "two": "a\nlist:\n- 2\nz\n"}) == (
        "a\n{{- if or .Values.one .Values.two }}\nlist:\n"
        "{{- if .Values.one }}\n- 1\n{{- end }}\n{{- if .Values.two }}\n- 2\n{{- end }}\n"
        "{{- end }}\nz\n"
    )


def test_lines_may_be_added_at_both_ends() -> None:
    assert with_conditions("m\n", {"one": "a\nm\nz\n"}) == (
        "{{- if .Values.one }}\na\n{{- end }}\nm\n{{- if .Values.one }}\nz\n{{- end }}\n"
    )


def test_a_value_may_not_take_lines_away() -> None:
    with pytest.raises(ValueError, match="takes lines away"):
        with_conditions(PLAIN, {"one": "a\n"})
