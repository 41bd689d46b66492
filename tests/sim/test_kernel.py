"""Virtual time: things happen in the order (time, priority, counter), whatever the order they were planned in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.sim.kernel import EVENTS, REQUESTS, SAMPLES, Kernel


def test_time_comes_first_then_priority_then_the_order_of_planning() -> None:
    kernel = Kernel()
    log: list[str] = []
    kernel.at(2.0, log.append, "later", EVENTS)
    kernel.at(1.0, log.append, "a sample", SAMPLES)
    kernel.at(1.0, log.append, "a request", REQUESTS)
    kernel.at(1.0, log.append, "another request", REQUESTS)
    kernel.at(1.0, log.append, "the world", EVENTS)
    kernel.run(1.5)
    assert log == ["the world", "a request", "another request", "a sample"]
    assert kernel.now == 1.5
    kernel.run(5.0)
    assert log[-1] == "later"


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 5)), max_size=50))
def test_the_order_is_total(plans: list[tuple[float, int]]) -> None:
    kernel = Kernel()
    log: list[tuple[float, int, int]] = []
    for number, (time, priority) in enumerate(plans):
        kernel.at(time, log.append, (time, priority, number), priority)
    kernel.run(10.0)
    assert log == sorted(log)
    assert len(log) == len(plans)


def test_what_a_callback_plans_for_now_still_happens_now() -> None:
    kernel = Kernel()
    log: list[str] = []
    kernel.at(1.0, lambda _: kernel.at(1.0, log.append, "at once", EVENTS), None, SAMPLES)
    kernel.run(1.0)
    assert log == ["at once"]


def test_periodic_ticks_are_multiples_and_include_the_end() -> None:
    kernel = Kernel()
    times: list[float] = []
    kernel.every(0.1, lambda _: times.append(kernel.now), first=0.1, until=100.0, priority=EVENTS)
    kernel.run(200.0)
    assert len(times) == 1000
    assert times[-1] == 0.1 + 999 * 0.1


def test_nobody_plans_for_the_past() -> None:
    kernel = Kernel()
    kernel.run(3.0)
    with pytest.raises(ValueError, match="forward only"):
        kernel.at(2.0, print)
