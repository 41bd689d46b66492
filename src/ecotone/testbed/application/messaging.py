"""Messages of a scenario through a real broker: which service is one, and what it passes on to whom.

In a scenario a broker is a service like any other, called over AMQP and calling over AMQP. On a bed it is RabbitMQ: an endpoint
of it becomes an exchange, each call from there a queue of the service that is called. A call to it that is `async` is published
and forgotten; any other waits until the broker has the message and, where the broker passes it on synchronously, until the
services behind it have replied.
"""

from __future__ import annotations

from typing import Any

from ecotone.model.errors import InputError
from ecotone.sim.scenario.schema import Application, Call, Service

AMQP = "AMQP"
MESSAGE_QUEUE = "message-queue"


def calls_of(service: Service) -> list[Call]:
    return [call for endpoint in service.endpoints.values() for stage in endpoint.stages for call in stage]


def brokers(application: Application) -> dict[str, Service]:
    """The services that are brokers: those that say so, else those to which the first services of a chain publish.

    Who is called over AMQP by a broker is a consumer, so the first hop decides: a publisher that is itself never called over
    AMQP publishes to a broker.
    """
    published = {(service.name, call.service) for service in application.services for call in _published(service)}
    called = {target for _, target in published}
    names = {service.name for service in application.services if service.role == MESSAGE_QUEUE} & called
    if not names:
        names = {target for source, target in published if source not in called}
    found = {service.name: service for service in application.services if service.name in names}
    _check(application, found)
    return found


def _published(service: Service) -> list[Call]:
    return [call for call in calls_of(service) if call.protocol == AMQP]


def _check(application: Application, found: dict[str, Service]) -> None:
    for service in application.services:
        for call in calls_of(service):
            ends = f"{service.name} calls {call.service} over {call.protocol}"
            if (service.name in found) + (call.service in found) != (call.protocol == AMQP):
                raise InputError(
                    f"{ends}: on a bed messages go over AMQP from services to a broker and back, nothing else"
                )
            if service.name in found and (call.probability < 1 or call.count != 1):
                raise InputError(f"{ends}: a broker passes every message on once", hint="no `probability`, no `count`")


def brokers_of(service: Service, found: dict[str, Service]) -> list[str]:
    """The brokers that a service is connected with, because it publishes to them or takes from them."""
    publishes = {call.service for call in calls_of(service) if call.service in found}
    takes = {name for name, broker in found.items() if any(call.service == service.name for call in calls_of(broker))}
    return sorted(publishes | takes)


def routes(broker: Service) -> dict[str, list[dict[str, Any]]]:
    """By endpoint of the broker: the queues that get its messages."""
    return {
        name: [
            {
                "service": call.service,
                "endpoint": call.endpoint,
                "responseBytes": int(call.response),
                "detached": call.detached,
            }
            for stage in endpoint.stages
            for call in stage
        ]
        for name, endpoint in broker.endpoints.items()
    }
