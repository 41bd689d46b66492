"""The only package that talks to an API server: credentials, requests, mirrors, leases, bindings, evictions, events."""

from typing import TYPE_CHECKING

from ecotone.lazily import offered

if TYPE_CHECKING:
    from ecotone.kube.binding import Bound, Outcome, bind
    from ecotone.kube.client import ApiClient
    from ecotone.kube.errors import ApiError, UnreachableError
    from ecotone.kube.events import EventRecorder, Regarding
    from ecotone.kube.eviction import Evicted, EvictionOutcome, evict, preempt, set_status
    from ecotone.kube.kubeconfig import Connection, connect
    from ecotone.kube.lease import Elector, LeaseTimes
    from ecotone.kube.reflector import Reflector, Sink

__all__ = [
    "ApiClient",
    "ApiError",
    "Bound",
    "Connection",
    "Elector",
    "EventRecorder",
    "Evicted",
    "EvictionOutcome",
    "LeaseTimes",
    "Outcome",
    "Reflector",
    "Regarding",
    "Sink",
    "UnreachableError",
    "bind",
    "connect",
    "evict",
    "preempt",
    "set_status",
]

__getattr__ = offered(
    __name__,
    {
        "ApiClient": "client",
        "ApiError": "errors",
        "Bound": "binding",
        "Connection": "kubeconfig",
        "Elector": "lease",
        "EventRecorder": "events",
        "Evicted": "eviction",
        "EvictionOutcome": "eviction",
        "LeaseTimes": "lease",
        "Outcome": "binding",
        "Reflector": "reflector",
        "Regarding": "events",
        "Sink": "reflector",
        "UnreachableError": "errors",
        "bind": "binding",
        "connect": "kubeconfig",
        "evict": "eviction",
        "preempt": "eviction",
        "set_status": "eviction",
    },
)
