"""What a request costs beyond its scenario: sidecars, HTTP and AMQP on the way, in CPU time per visit to a service.

The scenario's demands are those of the services alone. On a bed every visit passes Envoys and a server, whose CPU time on a
small node is most of what a response takes, and more of it where a service calls others. It is measured for each service (CPU
time does not depend on how busy the machine is) and given to the simulator instead of the scenario's demand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ecotone.sim.scenario.schema import Application, Scenario
from ecotone.testbed.application.users import Sent

Cost = dict[str, tuple[float, float]]  # by service: CPU seconds, visits


def cost(application: Application, service: str, endpoint: str) -> Cost:
    """What one request asks of every service, on average, everything it calls included."""
    found = application.endpoint(service, endpoint)
    whole: Cost = {service: (found.cpu_mean, 1.0)}
    for call in (call for stage in found.stages for call in stage):
        times = call.probability * max(1, call.count)
        for name, (seconds, visits) in cost(application, call.service, call.endpoint).items():
            before = whole.get(name, (0.0, 0.0))
            whole[name] = (before[0] + times * seconds, before[1] + times * visits)
    return whole


def asked(scenario: Scenario, sent: list[Sent]) -> Cost:
    """What all requests that were sent ask of every service."""
    whole: Cost = {}
    counts = Counter(each.phase for each in sent)
    for number, load in enumerate(scenario.load):
        for name, (seconds, visits) in cost(scenario.application, load.service, load.endpoint).items():
            before = whole.get(name, (0.0, 0.0))
            whole[name] = (before[0] + counts[number] * seconds, before[1] + counts[number] * visits)
    return whole


def per_visit(scenario: Scenario, sent: list[Sent], spent: Mapping[str, float]) -> dict[str, float]:
    """By service: CPU seconds of a visit beyond its demand, where the requests sent have cost `spent`.

    Less than nothing where a real server is cheaper than the scenario says; a service that nobody visited is left out.
    """
    return {
        name: (spent.get(name, 0.0) - seconds) / visits
        for name, (seconds, visits) in asked(scenario, sent).items()
        if visits
    }


def with_overhead(scenario: Scenario, overhead: Mapping[str, float]) -> Scenario:
    """The scenario in which every visit costs so much more; services that were not measured cost the mean of the others."""
    usual = sum(overhead.values()) / len(overhead) if overhead else 0.0
    services = tuple(
        replace(
            each,
            endpoints={
                name: replace(endpoint, cpu_mean=max(0.0, endpoint.cpu_mean + overhead.get(each.name, usual)))
                for name, endpoint in each.endpoints.items()
            },
        )
        for each in scenario.application.services
    )
    return replace(scenario, application=replace(scenario.application, services=services))
