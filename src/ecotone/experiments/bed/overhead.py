"""What a request costs beyond its scenario: sidecars and HTTP on the way, in CPU time per visit to a service.

The scenario's demands are those of the services alone. On a bed every visit passes Envoys and an HTTP server, whose CPU time on
a small node is most of what a response takes. It is measured (CPU time does not depend on how busy the machine is) and given to
the simulator as a further demand of every visit.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.sim.scenario.schema import Application, Scenario
from ecotone.testbed.application.users import Sent


def cost(application: Application, service: str, endpoint: str) -> tuple[float, float]:
    """CPU seconds and visits of one request, on average, everything it calls included."""
    found = application.endpoint(service, endpoint)
    seconds, visits = found.cpu_mean, 1.0
    for call in (call for stage in found.stages for call in stage):
        times = call.probability * max(1, call.count)
        below = cost(application, call.service, call.endpoint)
        seconds += times * below[0]
        visits += times * below[1]
    return seconds, visits


def per_visit(scenario: Scenario, sent: list[Sent], spent: float) -> float:
    """CPU seconds of a visit beyond its demand, where the requests sent have cost `spent` in all; never negative."""
    seconds = visits = 0.0
    for number, load in enumerate(scenario.load):
        count = sum(each.phase == number for each in sent)
        one = cost(scenario.application, load.service, load.endpoint)
        seconds += count * one[0]
        visits += count * one[1]
    return max(0.0, (spent - seconds) / visits) if visits else 0.0


def with_overhead(scenario: Scenario, seconds: float) -> Scenario:
    """The scenario in which every visit costs so much more."""
    services = tuple(
        replace(
            each,
            endpoints={
                name: replace(endpoint, cpu_mean=endpoint.cpu_mean + seconds)
                for name, endpoint in each.endpoints.items()
            },
        )
        for each in scenario.application.services
    )
    return replace(scenario, application=replace(scenario.application, services=services))
