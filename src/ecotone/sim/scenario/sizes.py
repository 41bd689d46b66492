"""How much work a scenario is, told before it is begun.

A zero too many in a rate or a number of replicas turns a run of seconds into one that fills the machine's memory. What a
run costs can be read off its scenario: requests are load times length, each visits as many services as its calls lead to,
and pods, nodes and users are there from the start. The constants were measured on one core of a small server and are rough;
the limits are far beyond what anybody means to run by accident, and `--yes` lifts them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.model.errors import InputError
from ecotone.sim.scenario.schema import Load, Scenario

_EVENTS_PER_VISIT = 4.0  # a message, the start and the end of work, an answer
_SECONDS_PER_EVENT = 4e-6
_SECONDS_PER_POD = 1e-4
_SECONDS_PER_PAIR = 2e-7  # of nodes, at every scrape
_BYTES = 60e6  # of the interpreter with all that is loaded
_BYTES_PER_POD = 2000.0
_BYTES_PER_USER = 1000.0
_BYTES_PER_REQUEST = 50.0  # kept exactly up to half a million per phase
_EXACT = 500_000.0
_BYTES_PER_PAIR = 250.0
_BYTES_UNDER_WAY = 700.0  # of a request that has no answer yet
_SHORTEST = 1e-3  # seconds between a user's requests where nothing else is said

MOST_EVENTS = 5e8
MOST_BYTES = 4e9


@dataclass(frozen=True, slots=True)
class Size:
    """Of one run under one policy."""

    requests: float
    events: float
    bytes: float
    seconds: float  # of one core
    pods: int

    def __str__(self) -> str:
        return (
            f"about {_count(self.requests)} requests, {_count(self.events)} events, {_count(self.pods)} pods and "
            f"{_memory(self.bytes)} of memory a run"
        )


def size_of(scenario: Scenario) -> Size:
    visits = _Visits(scenario)
    requests = [_rate(load) * max(0.0, min(load.length, scenario.duration - load.at)) for load in scenario.load]
    events = sum(
        _EVENTS_PER_VISIT * sent * visits(load.service, load.endpoint)
        for sent, load in zip(requests, scenario.load, strict=True)
    )
    users = sum(load.users for load in scenario.load)
    pairs = float(len(scenario.nodes)) ** 2
    scrapes = scenario.duration / scenario.control.scrape
    pods = _pods(scenario)
    waiting = sum(_left_waiting(scenario, load, visits) for load in scenario.load)
    memory = (
        _BYTES + _BYTES_PER_POD * pods + _BYTES_PER_USER * users + _BYTES_PER_PAIR * pairs
        + _BYTES_PER_REQUEST * sum(min(each, _EXACT) for each in requests) + _BYTES_UNDER_WAY * waiting
    )  # fmt: skip
    seconds = _SECONDS_PER_EVENT * events + _SECONDS_PER_POD * pods + _SECONDS_PER_PAIR * pairs * scrapes
    return Size(sum(requests), events + scrapes * pairs, memory, seconds, pods)


def refuse(size: Size, *, file: str) -> None:
    """InputError if one run is beyond what anybody runs by accident."""
    if size.events > MOST_EVENTS or size.bytes > MOST_BYTES:
        hint = f"lower its load, length or replicas; --yes runs it anyway, for about {duration(size.seconds)} a run"
        raise InputError(f"the scenario is very large: {size}", file=file, hint=hint)


def duration(seconds: float) -> str:
    for unit, length in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{max(1.0, seconds):.0f} s"


class _Visits:
    """How many services one request is expected to visit, with all calls below it. Calls form no circle."""

    def __init__(self, scenario: Scenario) -> None:
        self._application = scenario.application
        self._known: dict[tuple[str, str], tuple[float, float]] = {}

    def __call__(self, service: str, endpoint: str) -> float:
        return self._both(service, endpoint)[0]

    def work(self, service: str, endpoint: str) -> float:
        """Seconds of CPU that the same request takes."""
        return self._both(service, endpoint)[1]

    def _both(self, service: str, endpoint: str) -> tuple[float, float]:
        found = self._known.get((service, endpoint))
        if found is None:
            own = self._application.endpoint(service, endpoint)
            visits, work = 1.0, own.cpu_mean
            for call in (call for stage in own.stages for call in stage):
                below = self._both(call.service, call.endpoint)
                visits += call.probability * call.count * below[0]
                work += call.probability * call.count * below[1]
            found = self._known[service, endpoint] = (visits, work)
        return found


def _left_waiting(scenario: Scenario, load: Load, visits: _Visits) -> float:
    """Requests of an open loop beyond what all cores together can do: these pile up. Users wait for their answers."""
    work = visits.work(load.service, load.endpoint)
    able = sum(node.cpu for node in scenario.nodes) / 1000.0 / work if work else float("inf")
    return max(0.0, load.poisson - able) * max(0.0, min(load.length, scenario.duration - load.at))


def _pods(scenario: Scenario) -> int:
    application = scenario.application
    most = {service.name: service.replicas for service in application.services}
    for name, points in application.traces.items():
        most[name] = max([most[name], *(count for _, count in points)])
    for name, settings in application.autoscale.items():
        most[name] = max(most[name], settings.most)
    return sum(most.values())


def _rate(load: Load) -> float:
    """Requests per second; users who think send at most one per thinking time."""
    period = load.every if load.every is not None else load.think
    return load.poisson + (load.users / max(period, _SHORTEST) if load.users and period is not None else 0.0)


def _count(value: float) -> str:
    for word, size in (("billion", 1e9), ("million", 1e6)):
        if value >= size:
            return f"{value / size:,.0f} {word}" if value >= 100 * size else f"{value / size:.3g} {word}"
    return f"{value:,.0f}"


def _memory(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
