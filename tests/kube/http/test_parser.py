"""Where an answer ends, however its bytes arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.kube.http import parser as module
from ecotone.kube.http.parser import AnswerParser, MalformedAnswerError

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 3\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n1;x=y\r\nl\r\n01\r\no\r\n0\r\nA: b\r\n\r\n"
CLOSED = b"HTTP/1.0 200 OK\r\n\r\nhello"


def fed(data: bytes, *cuts: int) -> tuple[AnswerParser, bytes]:
    parser = AnswerParser()
    body = b""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        if start < end:
            body += b"".join(parser.feed(data[start:end]))
    return parser, body


@given(st.sampled_from([LENGTH, CHUNKED]), st.lists(st.integers(0, 400), max_size=40))
def test_a_body_is_the_same_however_it_is_cut(data: bytes, cuts: list[int]) -> None:
    parser, body = fed(data, *cuts)
    assert (parser.status, body, parser.complete, parser.reusable) == (200, b"hello", True, True)


@given(st.binary(max_size=5000), st.lists(st.integers(1, 700), min_size=1, max_size=30), st.data())
def test_any_body_in_any_chunks(body: bytes, sizes: list[int], data: st.DataObject) -> None:
    sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    at = 0
    for size in sizes:
        part = body[at : at + size]
        at += len(part)
        if part:
            sent += b"%x\r\n%s\r\n" % (len(part), part)
    sent += b"0\r\n\r\n"
    parser, found = fed(sent, *data.draw(st.lists(st.integers(0, len(sent)), max_size=20)))
    assert (found, parser.complete) == (body[:at], True)


def test_headers_are_read_without_case_and_one_answer_may_announce_another() -> None:
    parser, _ = fed(b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH)
    assert parser.headers["retry-after"] == "3"


def test_a_body_without_length_ends_with_the_connection_which_is_not_used_again() -> None:
    parser, body = fed(CLOSED)
    assert (body, parser.complete, parser.reusable) == (b"hello", False, False)
    assert parser.end()


@pytest.mark.parametrize("data", [LENGTH[:-1], CHUNKED[:-2], LENGTH[:20], b""])
def test_an_answer_that_breaks_off_is_not_complete(data: bytes) -> None:
    parser, _ = fed(data)
    assert not parser.end()


def test_without_content_there_is_no_body() -> None:
    parser, body = fed(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert (parser.complete, body) == (True, b"")


@pytest.mark.parametrize("headers", ["Connection: close", "Connection: Upgrade, Close"], ids=["alone", "among others"])
def test_a_server_that_says_so_gets_a_new_connection(headers: str) -> None:
    parser, _ = fed(f"HTTP/1.1 200 OK\r\n{headers}\r\nContent-Length: 0\r\n\r\n".encode())
    assert parser.complete and not parser.reusable


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"<html>\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n",
        LENGTH + b"x",
        CHUNKED + b"x",
        b"HTTP/1.1 204 No Content\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * (module.HEAD_LIMIT + 1),
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedAnswerError):
        fed(data)


@given(st.binary(max_size=300))
def test_bytes_from_anywhere_are_an_answer_or_refused(data: bytes) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        try:
            fed(start + data)
        except MalformedAnswerError:
            continue
