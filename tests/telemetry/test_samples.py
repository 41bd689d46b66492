"""Answers of a Prometheus: what is a number passes, what is none does not."""

from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.telemetry.samples import MalformedError, read_matrix, read_vector


def vector(*values: str) -> bytes:
    result = [{"metric": {"n": str(n)}, "value": [1.5, value]} for n, value in enumerate(values)]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def test_nan_infinity_and_text_never_pass() -> None:
    found = read_vector(vector("1", "NaN", "+Inf", "-Inf", "nonsense", "2.5"))
    assert [each.value for each in found] == [1.0, 2.5]
    assert found[0].at == 1.5


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_whatever_passes_is_finite_and_equal(value: float) -> None:
    found = read_vector(vector(repr(value)))
    assert [each.value for each in found] == ([value] if math.isfinite(value) else [])


def test_a_scalar_is_one_sample() -> None:
    body = json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [3, "4"]}}).encode()
    assert [(each.at, each.value) for each in read_vector(body)] == [(3.0, 4.0)]


def test_a_matrix_loses_only_the_points_that_are_no_numbers() -> None:
    result = [
        {"metric": {"a": "b"}, "values": [[1, "1"], [2, "NaN"], [3, "3"]]},
        {"metric": {}, "values": [[1, "NaN"]]},
    ]
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
    assert [each.points for each in read_matrix(body)] == [((1.0, 1.0), (3.0, 3.0))]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b'{"status":"success"}',
        b'{"status":"error","error":"x"}',
        b'{"status":"success","data":{}}',
    ],
)
def test_nonsense_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedError):
        read_vector(body)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    with contextlib.suppress(MalformedError):
        read_vector(body)
