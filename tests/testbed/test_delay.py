"""Packets wait as long as their link says, in order, and are lost as often as it says."""

from __future__ import annotations

import random
import struct

from hypothesis import given
from hypothesis import strategies as st

from ecotone.testbed.wan.delay import Line, OneWay, Wan
from ecotone.testbed.wan.nfqueue import Held, attribute, held_packets, message


def test_a_packet_comes_out_after_the_one_way_delay_of_its_link() -> None:
    wan = Wan({1: Line(OneWay(delay=0.025))}, random.Random(1))
    assert wan.take(Held(1, 7), 10.0)
    assert wan.due(10.024) == []
    assert wan.due(10.025) == [Held(1, 7)]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(0, 0.1))
def test_jitter_never_lets_a_packet_overtake(gaps: list[float], jitter: float) -> None:
    wan = Wan({1: Line(OneWay(delay=0.05, jitter=jitter))}, random.Random(2))
    now = 0.0
    for number, gap in enumerate(gaps):
        now += gap
        wan.take(Held(1, number), now)
    assert [held.number for held in wan.due(1e9)] == list(range(len(gaps)))


def test_a_cut_link_loses_everything_and_a_healed_one_nothing() -> None:
    wan = Wan({1: Line(OneWay(loss=1.0))}, random.Random(3))
    assert not any(wan.take(Held(1, number), 0.0) for number in range(50))
    wan.change({1: OneWay()})
    assert all(wan.take(Held(1, number), 0.0) for number in range(50))


def test_losses_are_as_frequent_as_the_link_says() -> None:
    wan = Wan({1: Line(OneWay(loss=0.1))}, random.Random(4))
    lost = sum(not wan.take(Held(1, number), 0.0) for number in range(5000))
    assert 400 < lost < 600


def test_packets_under_way_keep_the_delay_they_set_out_with() -> None:
    wan = Wan({1: Line(OneWay(delay=0.1))}, random.Random(5))
    wan.take(Held(1, 1), 0.0)
    wan.change({1: OneWay(delay=0.0)})
    assert wan.due(0.05) == []


def test_links_do_not_wait_for_each_other() -> None:
    wan = Wan({1: Line(OneWay(delay=0.1)), 2: Line(OneWay(delay=0.01))}, random.Random(6))
    wan.take(Held(1, 1), 0.0)
    wan.take(Held(2, 2), 0.0)
    assert wan.due(0.02) == [Held(2, 2)]


def test_the_kernels_announcements_are_read() -> None:
    header = attribute(1, struct.pack(">IHBB", 4711, 0x0800, 1, 0))
    other = attribute(9, b"abc")
    data = message(0, 3, other + header) + message(2, 3, b"") + message(0, 4, header)
    assert list(held_packets(data)) == [Held(3, 4711), Held(4, 4711)]


def test_a_torn_announcement_ends_the_reading() -> None:
    data = message(0, 3, attribute(1, struct.pack(">IHBB", 1, 0, 0, 0)))
    for end in range(len(data)):
        assert list(held_packets(data[:end])) == []
    assert list(held_packets(data)) == [Held(3, 1)]
