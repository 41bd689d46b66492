"""ICMP messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ecotone.services.probe.packets import answered, checksum, echo_request

tokens = st.binary(min_size=8, max_size=8)


@given(st.sampled_from([4, 6]), st.integers(0, 65535), tokens)
def test_an_answer_is_recognised_by_sequence_and_token(version: int, sequence: int, token: bytes) -> None:
    request = echo_request(version, sequence, token)
    assert answered(version, request) is None, "a request is no answer"
    reply = bytes([0 if version == 4 else 129]) + request[1:]
    assert answered(version, reply) == (sequence, token)


@given(st.integers(0, 65535), tokens)
def test_the_checksum_makes_the_whole_sum_zero(sequence: int, token: bytes) -> None:
    assert checksum(echo_request(4, sequence, token)) == 0


@given(st.binary(max_size=40))
def test_no_message_is_too_odd(message: bytes) -> None:
    found = answered(4, message)
    assert found is None or len(found[1]) == 8
