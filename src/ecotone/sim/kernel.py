"""Virtual time: a heap of events in a total order.

Everything in the simulator is an event at a time. The order (time, priority, counter) is total, so a run depends on
nothing but its input: no dictionary order, no identity of objects, no clock. Events are objects that happen, not
coroutines, because a station that serves a million requests must not pay for a million suspended stacks; and whoever is
waiting for one thing at a time is his own event (a request's visit, a user), so that waiting allocates nothing.

Nothing is ever removed from the heap. Whoever may change his mind gives his event a version number to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

# What happens first at equal times: the world changes, replica counts change, pods are placed, control loops look (scrapes
# before the monitors that read them, those before autoscalers and deschedulers), requests arrive and move on, and samples
# are taken of the result.
EVENTS, TRACES, SCHEDULING, SCRAPE, MONITOR, AUTOSCALE, DESCHEDULE, REQUESTS, SAMPLES = range(9)

Callback = Callable[[Any], None]
_COMPILED: Final = not __file__.endswith(".py")
_TURNS: Final = 1 << 48  # more than there are events in any run: a priority and a counter are one number


class Event:
    """Something that happens when its turn comes; in one heap at a time."""

    __slots__ = ("order", "time")

    def __init__(self) -> None:
        self.time = 0.0
        self.order = 0

    def happen(self) -> None:
        raise NotImplementedError


class Called(Event):
    """A callback with its argument."""

    __slots__ = ("argument", "callback")

    def __init__(self, callback: Callback, argument: Any) -> None:
        self.time = 0.0
        self.order = 0
        self.callback = callback
        self.argument = argument

    def happen(self) -> None:
        self.callback(self.argument)


class Agenda:
    """Events in the order of (time, order).

    Compiled, the heap is one of events, compared without boxing a number. As plain Python it is one of tuples, which the
    interpreter compares faster than anything written in it could. Both keep the same order.
    """

    __slots__ = ("_heap", "_keyed")

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._keyed: list[tuple[float, int, Event]] = []

    def push(self, event: Event) -> None:
        if _COMPILED:
            _push(self._heap, event)
        else:
            heappush(self._keyed, (event.time, event.order, event))

    def pop(self) -> Event:
        return _pop(self._heap) if _COMPILED else heappop(self._keyed)[2]

    def first(self) -> float:
        """The time of the first event; there must be one."""
        return self._heap[0].time if _COMPILED else self._keyed[0][0]

    def clear(self) -> list[Event]:
        """Take everything away, in the order in which it was pushed."""
        events = self._heap if _COMPILED else [event for _, _, event in self._keyed]
        self._heap, self._keyed = [], []
        return sorted(events, key=_by_order)

    def __len__(self) -> int:
        return len(self._heap) if _COMPILED else len(self._keyed)


class Kernel:
    """The event queue and its clock, in seconds."""

    __slots__ = ("_agenda", "_counter", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._agenda = Agenda()
        self._counter = 0

    def at(self, time: float, callback: Callback, argument: Any = None, priority: int = REQUESTS) -> None:
        """Call `callback(argument)` at `time`, which must not lie in the past."""
        if time < self.now:
            raise ValueError(f"time runs forward only: {time} < {self.now}")
        self.plan(Called(callback, argument), time, priority)

    def after(self, delay: float, callback: Callback, argument: Any = None, priority: int = REQUESTS) -> None:
        self.plan(Called(callback, argument), self.now + delay, priority)

    def plan(self, event: Event, time: float, priority: int = REQUESTS) -> None:
        """Let an event happen at a time that does not lie in the past."""
        self._counter = counter = self._counter + 1
        event.time = time
        event.order = priority * _TURNS + counter
        if _COMPILED:
            _push(self._agenda._heap, event)
        else:
            heappush(self._agenda._keyed, (time, event.order, event))

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
        agenda = self._agenda
        if _COMPILED:
            heap = agenda._heap
            while heap and heap[0].time <= until:
                event = _pop(heap)
                self.now = event.time
                event.happen()
        else:
            keyed = agenda._keyed
            while keyed and keyed[0][0] <= until:
                time, _, event = heappop(keyed)
                self.now = time
                event.happen()
        self.now = max(self.now, until)

    @property
    def pending(self) -> int:
        return len(self._agenda)


def _by_order(event: Event) -> int:
    return event.order


def _push(heap: list[Event], event: Event) -> None:
    """As heapq's, with the comparison written out."""
    place = len(heap)
    heap.append(event)
    time, order = event.time, event.order
    while place > 0:
        above = (place - 1) >> 1
        parent = heap[above]
        if parent.time < time or (parent.time == time and parent.order < order):
            break
        heap[place] = parent
        place = above
    heap[place] = event


def _pop(heap: list[Event]) -> Event:
    """The first event; the last one sinks from the top to where it belongs."""
    event = heap.pop()
    size = len(heap)
    if size == 0:
        return event
    first = heap[0]
    time, order = event.time, event.order
    place, child = 0, 1
    while child < size:
        smaller = heap[child]
        if child + 1 < size:
            other = heap[child + 1]
            if other.time < smaller.time or (other.time == smaller.time and other.order < smaller.order):
                smaller = other
                child += 1
        if time < smaller.time or (time == smaller.time and order < smaller.order):
            break
        heap[place] = smaller
        place = child
        child = 2 * place + 1
    heap[place] = event
    return first
