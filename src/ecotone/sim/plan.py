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


class Channel:
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
        "channel", "detached", "draw", "handshake", "leaf", "mean", "probability", "request", "response", "service", "size",
        "stages",
    )  # fmt: skip

    def __init__(self, *, service: int, mean: float, draw: int, call: Call | None, channel: Channel | None) -> None:
        self.service = service
        self.mean = mean
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


class Plan:
    """The whole tree of one entry point, and how to draw its demands."""

    __slots__ = ("_constants", "_exponential", "chances", "root", "steps")

    def __init__(self, root: Step, steps: list[Step], constant: list[bool]) -> None:
        self.root = root
        self.steps = steps
        self._constants = constant
        self._exponential = not any(constant)
        self.chances = [step for step in steps if step.probability < 1.0]

    def draw(self, exponentials: Exponentials) -> list[float]:
        """Seconds of CPU for each step."""
        units = exponentials.take(len(self.steps))
        if self._exponential:
            return [step.mean * unit for step, unit in zip(self.steps, units, strict=True)]
        return [
            step.mean if constant else step.mean * unit
            for step, unit, constant in zip(self.steps, units, self._constants, strict=True)
        ]

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
        self.channels: dict[tuple[str, str], Channel] = {}
        self._plans: dict[tuple[str, str], Plan] = {}

    def plan(self, service: str, endpoint: str) -> Plan:
        key = (service, endpoint)
        if key not in self._plans:
            steps: list[Step] = []
            constant: list[bool] = []
            root = self._step(service, endpoint, None, None, steps, constant, 0)
            self._plans[key] = Plan(root, steps, constant)
        return self._plans[key]

    def _step(  # noqa: PLR0917 - a recursion, read once
        self,
        service: str,
        endpoint: str,
        caller: str | None,
        call: Call | None,
        steps: list[Step],
        constant: list[bool],
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
            channel = self.channels.setdefault((caller, service), Channel(caller, service))
            channel.counted = channel.counted and call is not None and call.protocol in ("HTTP", "gRPC")
        step = Step(service=self._index[service], mean=found.cpu_mean, draw=len(steps), call=call, channel=channel)
        steps.append(step)
        constant.append(found.cpu_constant)
        step.stages = tuple(
            tuple(
                tuple(
                    self._step(inner.service, inner.endpoint, service, inner, steps, constant, depth + 1)
                    for _ in range(inner.count)
                )
                for inner in stage
            )
            for stage in found.stages
        )
        step.leaf = not step.stages
        return step
