"""A resolver on a free loopback port in a thread of its own, for tests that speak HTTP to it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ecotone.placement.problem.instance import Component, Instance
from ecotone.services.resolver.service import Resolver, ResolverSettings


class Running:
    def __init__(self, resolver: Resolver, url: str) -> None:
        self.resolver = resolver
        self.url = url


@contextmanager
def running(settings: ResolverSettings | None = None) -> Iterator[Running]:
    loop = asyncio.new_event_loop()
    ready: threading.Event = threading.Event()
    found: list[Running] = []
    over = asyncio.Event()

    async def live() -> None:
        resolver = Resolver(settings)
        await resolver.server.start("127.0.0.1:0")
        assert resolver.server.address is not None
        host, port = resolver.server.address
        found.append(Running(resolver, f"http://{host}:{port}"))
        ready.set()
        await over.wait()
        await resolver.server.stop()

    thread = threading.Thread(target=lambda: loop.run_until_complete(live()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
        loop.close()


def as_request(instance: Instance, **more: object) -> dict[str, object]:
    """A placement problem as the JSON the resolver takes."""
    assert instance.links is not None

    def pod(component: Component) -> dict[str, object]:
        return {"name": component.name, "cpuMillicores": component.demand[0], "memoryBytes": component.demand[1]}

    return {
        "infrastructure": {
            "nodes": [
                {
                    "name": host.name,
                    "tier": host.tier,
                    "cpuMillicores": host.free[0],
                    "memoryBytes": host.free[1],
                    "pricePerHour": host.price,
                }
                for host in instance.hosts
            ],
            "links": [{"a": link.a, "b": link.b, "latencyMs": link.latency_ms} for link in instance.links.links],
            "controlNodes": list(instance.control),
        },
        "applications": [
            {
                "name": application.name,
                "maxDelayMs": application.max_delay_ms,
                "queue": pod(application.queue),
                "microservices": [pod(each) for each in application.microservices],
            }
            for application in instance.applications
        ],
        **more,
    }
