"""What a Prometheus answers, reduced to numbers that mean something.

A sample that is NaN or infinite (0/0 after failed probes, a broken exporter, a stale marker that slipped through a
federation) is no measurement. It is dropped here, at the one place every value passes, so that no later step has to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import msgspec

SERIES_LIMIT = 2_000_000


class Sample(msgspec.Struct, frozen=True):
    """One series' value at a moment. A cycle reads hundreds of thousands: a struct is made in a fifth of the time."""

    labels: Mapping[str, str]
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Track:
    """One series' samples over a stretch of time, oldest first."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


class MalformedError(ValueError):
    """The answer is not what Prometheus' HTTP API promises."""


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error: str = ""


class _Vector(msgspec.Struct):
    metric: dict[str, str]
    # A native histogram has `histogram` in place of a value; it is no number and is left out.
    value: tuple[float, str] | None = None


class _Matrix(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []


_answers = msgspec.json.Decoder(_Answer)
_vectors = msgspec.json.Decoder(list[_Vector])
_matrices = msgspec.json.Decoder(list[_Matrix])
_scalars = msgspec.json.Decoder(tuple[float, str])


def read_vector(body: bytes) -> list[Sample]:
    """The samples of an instant query; a scalar is one sample without labels."""
    data = _data(body)
    if data.result_type == "scalar":
        at, text = _decode(_scalars, data.result)
        value = _number(text)
        return [] if value is None or not isfinite(at) else [Sample({}, value, at)]
    if data.result_type != "vector":
        raise MalformedError(f"a vector is expected, not a {data.result_type}")
    found = _decode(_vectors, data.result)
    _limited(found)
    samples = []
    for each in found:
        if each.value is not None:
            at, text = each.value
            value = _number(text)
            if value is not None and isfinite(at):
                samples.append(Sample(each.metric, value, at))
    return samples


def read_matrix(body: bytes) -> list[Track]:
    """The series of a range query, without the points that are no numbers."""
    data = _data(body)
    if data.result_type != "matrix":
        raise MalformedError(f"a matrix is expected, not a {data.result_type}")
    found = _decode(_matrices, data.result)
    _limited(found)
    tracks = []
    for each in found:
        points = tuple((at, value) for at, text in each.values if (value := _number(text)) is not None)
        if points:
            tracks.append(Track(each.metric, points))
    return tracks


def error_text(body: bytes) -> str:
    """What Prometheus says about a refused query, or nothing."""
    try:
        return " ".join(_answers.decode(body).error.split())[:500]
    except msgspec.MsgspecError:
        return ""


def _data(body: bytes) -> _Data:
    answer: _Answer = _decode(_answers, body)
    if answer.status != "success" or answer.data is None:
        raise MalformedError(answer.error or "the answer has no data")
    return answer.data


def _decode(decoder: msgspec.json.Decoder[Any], raw: bytes | msgspec.Raw) -> Any:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the answer cannot be read: {error}") from None


def _limited(found: list[Any]) -> None:
    if len(found) > SERIES_LIMIT:
        raise MalformedError(f"{len(found)} series are more than are read")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
