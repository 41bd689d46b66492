"""Who sends requests, when, and where they enter.

Open loops are Poisson; closed loops are users who send at their own ticks, skipping those they miss while an answer is
late, or who think after each answer. Each user has streams of his own, so that his n-th request is the same whatever the
policy did to the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from random import Random

from ecotone.sim.flow import Flow, Request
from ecotone.sim.kernel import REQUESTS, Kernel
from ecotone.sim.parts import ENTRY_DOWN
from ecotone.sim.plan import FRAME, Plan
from ecotone.sim.randomness import Exponentials, stream
from ecotone.sim.scenario.schema import Load

Record = Callable[[Request, bool], None]


class Entrance:
    """Where one stretch of load enters: makes requests, and counts what users say to the first service."""

    __slots__ = (
        "_down",
        "_flow",
        "_kernel",
        "_load",
        "_plan",
        "_record",
        "_sent",
        "_size",
        "_tag",
        "requests",
        "traffic",
    )

    def __init__(
        self, kernel: Kernel, flow: Flow, plan: Plan, load: Load, *, tag: int, nodes: int,
        record: Record, sent: Callable[[Request], None], down: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self._kernel = kernel
        self._flow = flow
        self._plan = plan
        self._load = load
        self._tag = tag
        self._size = max(FRAME, load.request) + max(FRAME, load.response)
        self._record = record
        self._sent = sent
        self._down = down
        self.traffic = [0.0] * nodes  # bytes, by entry node
        self.requests = [0] * nodes

    def send(self, entry: int, demands: Exponentials, chances: Random, then: Record) -> None:
        plan, load = self._plan, self._load
        request = Request(plan, plan.draw(demands), plan.skipped(chances), entry, self._kernel.now, then)
        request.tag = self._tag
        self._sent(request)
        if self._down(entry):
            request.open = False
            request.cause = ENTRY_DOWN
            then(request, False)
            return
        self.traffic[entry] += self._size
        self.requests[entry] += 1
        self._flow.start(request, handshake=load.new_connection, size=load.request)

    def record(self, request: Request, success: bool) -> None:
        self._record(request, success)


class OpenLoop:
    """Poisson arrivals over all sources together."""

    def __init__(
        self, kernel: Kernel, entrance: Entrance, load: Load, *, sources: list[int], end: float, seed: int, tag: int
    ) -> None:
        self._kernel = kernel
        self._entrance = entrance
        self._sources = sources
        self._rate = load.poisson
        self._end = end
        self._gaps = Exponentials(seed, "arrivals", tag)
        self._demands = Exponentials(seed, "demands", tag)
        self._chances = stream(seed, "chances", tag)
        self._nodes = stream(seed, "entries", tag)
        if self._rate > 0.0:
            self._schedule(load.at)

    def _schedule(self, after: float) -> None:
        time = after + self._gaps.take(1)[0] / self._rate
        if time < self._end:
            self._kernel.at(time, self._arrive, None, REQUESTS)

    def _arrive(self, _: None) -> None:
        sources = self._sources
        entry = sources[0] if len(sources) == 1 else sources[int(self._nodes.random() * len(sources))]
        self._entrance.send(entry, self._demands, self._chances, self._entrance.record)
        self._schedule(self._kernel.now)


class User:
    """A closed loop: at most one request under way."""

    __slots__ = (
        "_chances",
        "_demands",
        "_end",
        "_entrance",
        "_entry",
        "_every",
        "_kernel",
        "_start",
        "_think",
        "_tick",
    )

    def __init__(
        self, kernel: Kernel, entrance: Entrance, load: Load, *, entry: int, end: float, seed: int, key: tuple[int, int]
    ) -> None:
        self._kernel = kernel
        self._entrance = entrance
        self._entry = entry
        self._end = end
        self._every = load.every
        self._think = load.think or 0.0
        self._demands = Exponentials(seed, "demands", *key)
        self._chances = stream(seed, "chances", *key)
        period = self._think if self._every is None else self._every
        self._start = load.at + stream(seed, "offset", *key).random() * period
        self._tick = 0
        if self._start < end:
            kernel.at(self._start, self._send, None, REQUESTS)

    def _send(self, _: None) -> None:
        self._entrance.send(self._entry, self._demands, self._chances, self._answered)

    def _answered(self, request: Request, success: bool) -> None:
        self._entrance.record(request, success)
        now = self._kernel.now
        if self._every is None:
            following = now + self._think
            if following == now:
                following = now + 0.01 if not success else now  # a failed request must not spin at one instant
        else:
            self._tick = max(self._tick + 1, ceil((now - self._start) / self._every - 1e-9))
            following = self._start + self._tick * self._every
        if following < self._end:
            self._kernel.at(max(following, now), self._send, None, REQUESTS)
