"""A request's call tree, worked out once per entry point.

The tree of calls below an endpoint is the same for every request apart from chance, so it is compiled into `Step`s with
everything looked up: service, demand, sizes, and where its draw lies. All draws of a request are made when it starts, in
the order of the tree; whatever a policy does, the same user's n-th request asks for the same work.
"""

from __future__ import annotations

from random import Random

from ecotone.model.errors import InputError
from ecotone.sim.randomness import Exponentials
from ecotone.sim.scenario.schema import Application, Call

MOST_STEPS = 20_000
FRAME = 40.0  # bytes of IP and TCP headers: what counters see of a message that says nothing
DEEPEST = 64


class PairCount:
    """Counts what two parties said to each other; shared by all steps between them."""

    __slots__ = ("bytes", "calls", "counted", "peer", "source")

    def __init__(self, source: str, peer: str) -> None:
        self.source = source
        self.peer = peer
        self.bytes = 0.0
        self.calls = 0
        self.counted = True  # whether a service mesh could tell single requests: not over TCP or AMQP


class Step:
    """One visit to a service in the tree."""

    __slots__ = (
        "channel", "constant", "detached", "draw", "handshake", "leaf", "mean", "probability", "request", "response",
        "service", "size", "stages",
    )  # fmt: skip

    def __init__(
        self, *, service: int, mean: float, constant: bool, draw: int, call: Call | None, channel: PairCount | None
    ) -> None:
        self.service = service
        self.mean = mean
        self.constant = constant
        self.draw = draw
        self.channel = channel
        self.detached = call.detached if call else False
        self.handshake = call.new_connection if call else False
        self.probability = call.probability if call else 1.0
        self.request = call.request if call else 0.0
        self.response = call.response if call else 0.0
        answer = self.response if self.detached else max(FRAME, self.response)
        self.size = max(FRAME, self.request) + answer  # for the counters; empty messages still take no time to send
        self.stages: tuple[tuple[tuple[Step, ...], ...], ...] = ()
        self.leaf = True

    def demand(self, draws: list[float]) -> float:
        """Seconds of CPU, given a request's draws."""
        return self.mean if self.constant else self.mean * draws[self.draw]


class CallTree:
    """The whole tree of one entry point, and how to draw its demands."""

    __slots__ = ("_count", "chances", "root", "steps")

    def __init__(self, root: Step, steps: list[Step]) -> None:
        self.root = root
        self.steps = steps
        self._count = len(steps)
        self.chances = [step for step in steps if step.probability < 1.0]

    def draw(self, exponentials: Exponentials) -> list[float]:
        """The draw of each step, of which `Step.demand` makes seconds of CPU."""
        return exponentials.take(self._count)

    def skipped(self, uniforms: Random) -> frozenset[int] | None:
        """Which calls do not happen this time, by number; None when every call always happens."""
        if not self.chances:
            return None
        return frozenset(step.draw for step in self.chances if uniforms.random() >= step.probability)


class Planner:
    """Compiles plans, and owns the channels they count on."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._index = {service.name: number for number, service in enumerate(application.services)}
        self.channels: dict[tuple[str, str], PairCount] = {}
        self._plans: dict[tuple[str, str], CallTree] = {}

    def plan(self, service: str, endpoint: str) -> CallTree:
        key = (service, endpoint)
        if key not in self._plans:
            steps: list[Step] = []
            root = self._step(service, endpoint, None, None, steps, 0)
            self._plans[key] = CallTree(root, steps)
        return self._plans[key]

    def _step(  # noqa: PLR0917 - a recursion, read once
        self,
        service: str,
        endpoint: str,
        caller: str | None,
        call: Call | None,
        steps: list[Step],
        depth: int,
    ) -> Step:
        if depth > DEEPEST:
            raise InputError(
                f"calls are nested more than {DEEPEST} deep at {service}.{endpoint}", hint="shorten the chain"
            )
        if len(steps) >= MOST_STEPS:
            raise InputError(f"one request to {service} makes more than {MOST_STEPS} calls", hint="lower `count`")
        found = self._application.endpoint(service, endpoint)
        channel = None
        if caller is not None:
            channel = self.channels.setdefault((caller, service), PairCount(caller, service))
            channel.counted = channel.counted and call is not None and call.protocol in ("HTTP", "gRPC")
        step = Step(
            service=self._index[service], mean=found.cpu_mean, constant=found.cpu_constant, draw=len(steps), call=call,
            channel=channel,
        )  # fmt: skip
        steps.append(step)
        step.stages = tuple(
            tuple(
                tuple(
                    self._step(inner.service, inner.endpoint, service, inner, steps, depth + 1)
                    for _ in range(inner.count)
                )
                for inner in stage
            )
            for stage in found.stages
        )
        step.leaf = not step.stages
        return step
