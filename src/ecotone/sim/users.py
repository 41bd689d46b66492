"""Who sends requests, when, and where they enter.

Open loops are Poisson; closed loops are users who send at their own ticks, skipping those they miss while an answer is
late, or who think after each answer. Each user has streams of his own, so that his n-th request is the same whatever the
policy did to the others.
"""

from __future__ import annotations

from math import ceil
from random import Random

from ecotone.sim.call_tree import FRAME, CallTree
from ecotone.sim.cluster import SimNode
from ecotone.sim.flow import Asker, Flow, Request
from ecotone.sim.kernel import Event, Kernel
from ecotone.sim.parts import ENTRY_DOWN
from ecotone.sim.randomness import Exponentials, stream
from ecotone.sim.recorder import Recorder
from ecotone.sim.scenario.schema import Load


class Entrance(Asker):
    """Where one phase of load enters: makes requests, records what becomes of them, and counts what users say to the first
    service."""

    __slots__ = (
        "_flow", "_kernel", "_new_connection", "_nodes", "_plan", "_recorder", "_request", "_size", "_tag", "requests",
        "traffic",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Kernel,
        flow: Flow,
        plan: CallTree,
        load: Load,
        *,
        tag: int,
        nodes: list[SimNode],
        recorder: Recorder,
    ) -> None:
        self._kernel = kernel
        self._flow = flow
        self._plan = plan
        self._tag = tag
        self._request = load.request
        self._new_connection = load.new_connection
        self._size = max(FRAME, load.request) + max(FRAME, load.response)
        self._recorder = recorder
        self._nodes = nodes
        self.traffic = [0.0] * len(nodes)  # bytes, by entry node
        self.requests = [0] * len(nodes)

    def send(self, entry: int, draws: Exponentials, chances: Random, asker: Asker) -> None:
        plan, now = self._plan, self._kernel.now
        request = Request(self._flow, plan, plan.draw(draws), plan.skipped(chances), entry, now, asker, self._tag)
        self._recorder.begin(now, self._tag)
        if not self._nodes[entry].up:
            request.open = False
            request.cause = ENTRY_DOWN
            asker.answered(request, False)
            return
        self.traffic[entry] += self._size
        self.requests[entry] += 1
        self._flow.start(request, handshake=self._new_connection, size=self._request)

    def answered(self, request: Request, success: bool) -> None:
        if success:
            self._recorder.answer(
                sent=request.sent, now=self._kernel.now, tag=request.tag, network=request.network, work=request.work,
                waiting=request.waiting, disruption=request.disruption,
            )  # fmt: skip
        else:
            self._recorder.fail(sent=request.sent, tag=request.tag, cause=request.cause)


class OpenLoop(Event):
    """Poisson arrivals over all sources together; the event is the next arrival."""

    __slots__ = ("_chances", "_draws", "_end", "_entrance", "_gaps", "_kernel", "_nodes", "_rate", "_sources")

    def __init__(
        self, kernel: Kernel, entrance: Entrance, load: Load, *, sources: list[int], end: float, seed: int, tag: int
    ) -> None:
        self.time = 0.0
        self.order = 0
        self._kernel = kernel
        self._entrance = entrance
        self._sources = sources
        self._rate = load.poisson
        self._end = end
        self._gaps = Exponentials(seed, "arrivals", tag)
        self._draws = Exponentials(seed, "demands", tag)
        self._chances = stream(seed, "chances", tag)
        self._nodes = stream(seed, "entries", tag)
        if self._rate > 0.0:
            self._schedule(load.at)

    def _schedule(self, after: float) -> None:
        time = after + self._gaps.take(1)[0] / self._rate
        if time < self._end:
            self._kernel.plan(self, time)

    def happen(self) -> None:
        sources = self._sources
        entry = sources[0] if len(sources) == 1 else sources[int(self._nodes.random() * len(sources))]
        self._entrance.send(entry, self._draws, self._chances, self._entrance)
        self._schedule(self._kernel.now)


class Tick(Event):
    """When a user sends next."""

    __slots__ = ("_user",)

    def __init__(self, user: User) -> None:
        self.time = 0.0
        self.order = 0
        self._user = user

    def happen(self) -> None:
        self._user.send()


class User(Asker):
    """A closed loop: at most one request under way."""

    __slots__ = (
        "_chances", "_draws", "_end", "_entrance", "_entry", "_every", "_kernel", "_next", "_start", "_think", "_tick",
    )  # fmt: skip

    def __init__(
        self, kernel: Kernel, entrance: Entrance, load: Load, *, entry: int, end: float, seed: int, key: tuple[int, int]
    ) -> None:
        self._kernel = kernel
        self._entrance = entrance
        self._entry = entry
        self._end = end
        self._every = load.every
        self._think = load.think or 0.0
        self._draws = Exponentials(seed, "demands", *key)
        self._chances = stream(seed, "chances", *key)
        period = self._think if self._every is None else self._every
        self._start = load.at + stream(seed, "offset", *key).random() * period
        self._tick = 0
        self._next = Tick(self)
        if self._start < end:
            kernel.plan(self._next, self._start)

    def send(self) -> None:
        self._entrance.send(self._entry, self._draws, self._chances, self)

    def answered(self, request: Request, success: bool) -> None:
        self._entrance.answered(request, success)
        now, every = self._kernel.now, self._every
        if every is None:
            following = now + self._think
            if following == now:
                following = now + 0.01 if not success else now  # a failed request must not spin at one instant
        else:
            self._tick = max(self._tick + 1, ceil((now - self._start) / every - 1e-9))
            following = self._start + self._tick * every
        if following < self._end:
            self._kernel.plan(self._next, max(following, now))
