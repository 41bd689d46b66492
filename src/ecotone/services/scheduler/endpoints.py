"""What a running scheduler shows to others: health, metrics, and why a pod was decided as it was.

A web server is loaded only where somebody listens; the scheduler itself starts without it.
"""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from ecotone.kube.client import ApiClient
from ecotone.services.endpoints import Endpoints
from ecotone.services.feeds import Feeds
from ecotone.services.health import Health
from ecotone.services.http.callers import Authoriser
from ecotone.services.scheduler.metrics import SchedulerMetrics
from ecotone.services.scheduler.queue import Place
from ecotone.services.scheduler.scheduler import Scheduler


def scheduler_endpoints(
    scheduler: Scheduler,
    feeds: Feeds,
    *,
    review_client: ApiClient,
    health: Health,
    why_not_ready: Callable[[], str | None],
) -> Endpoints:
    """``/decisions`` is shown to whoever may read the pod; ``review_client`` asks the API server about that."""
    settings, metrics = scheduler.settings, scheduler.metrics
    endpoints = Endpoints(
        metrics.registry,
        ready=why_not_ready,
        health=health,
        refresh=lambda: _gauge(metrics, scheduler, feeds),
        allowed_hosts=settings.allowed_hosts,
    )
    authoriser = Authoriser(review_client, trust_loopback=settings.trust_loopback)

    async def decision(request: web.Request) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        if not await authoriser.allowed(request, namespace=namespace):
            return web.json_response({"error": "not allowed"}, status=403)
        record = scheduler.records.get(f"{namespace}/{name}")
        if record is None:
            return web.json_response({"error": "no decision about this pod is remembered"}, status=404)
        return web.json_response(record)

    endpoints.get("/decisions/{namespace}/{name}", decision)
    return endpoints


def _gauge(metrics: SchedulerMetrics, scheduler: Scheduler, feeds: Feeds) -> None:
    for place in (Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED):
        metrics.pending.labels(place.value).set(scheduler.queue.size(place))
    for (place_name, event), count in scheduler.queue.counts.incoming.items():
        metrics.incoming.labels(place_name, event).set(count)
    for kind, size in scheduler.cache.sizes.items():
        metrics.cache_objects.labels(kind).set(size)
    for reflector in feeds.reflectors:
        metrics.relists.labels(reflector.resource.plural).set(reflector.lists)
        metrics.watch_events.labels(reflector.resource.plural).set(reflector.events)
    for kind, count in feeds.left_out.items():
        metrics.left_out.labels(kind).set(count)
    metrics.events_dropped.set(scheduler.events_dropped)
