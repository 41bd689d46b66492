"""Virtual time: a heap of callbacks in a total order.

Everything in the simulator is a callback at a time. The order (time, priority, counter) is total, so a run depends on
nothing but its input: no dictionary order, no identity of objects, no clock. Callbacks instead of coroutines, because a
station that serves a million requests must not pay for a million suspended stacks.

Nothing is ever removed from the heap. Whoever may change his mind gives his callback a version number to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

# What happens first at equal times: the world changes, replica counts change, pods are placed, control loops look (scrapes
# before the monitors that read them, those before autoscalers and deschedulers), requests arrive and move on, and samples
# are taken of the result.
EVENTS, TRACES, SCHEDULING, SCRAPE, MONITOR, AUTOSCALE, DESCHEDULE, REQUESTS, SAMPLES = range(9)

Callback = Callable[[Any], None]


class Kernel:
    """The event queue and its clock, in seconds."""

    __slots__ = ("_counter", "_heap", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, int, Callback, Any]] = []
        self._counter = 0

    def at(self, time: float, callback: Callback, argument: Any = None, priority: int = REQUESTS) -> None:
        """Call `callback(argument)` at `time`, which must not lie in the past."""
        if time < self.now:
            raise ValueError(f"time runs forward only: {time} < {self.now}")
        self._counter = counter = self._counter + 1
        heappush(self._heap, (time, priority, counter, callback, argument))

    def after(self, delay: float, callback: Callback, argument: Any = None, priority: int = REQUESTS) -> None:
        self._counter = counter = self._counter + 1
        heappush(self._heap, (self.now + delay, priority, counter, callback, argument))

    def every(self, period: float, callback: Callback, *, first: float, until: float, priority: int) -> None:
        """Call `callback(None)` at `first`, `first + period`, ... up to and including `until`.

        Times are multiples, not sums: the millionth tick is as exact as the first.
        """

        def tick(number: int) -> None:
            callback(None)
            following = first + (number + 1) * period
            if following <= until:
                self.at(following, tick, number + 1, priority)

        if first <= until:
            self.at(first, tick, 0, priority)

    def run(self, until: float) -> None:
        """Process everything up to and including `until`; the clock then stands there."""
        heap, pop = self._heap, heappop
        while heap and heap[0][0] <= until:
            time, _, _, callback, argument = pop(heap)
            self.now = time
            callback(argument)
        self.now = max(self.now, until)

    @property
    def pending(self) -> int:
        return len(self._heap)
