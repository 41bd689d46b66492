"""The only package that talks to an API server: credentials, requests, mirrors, leases, bindings, evictions, events."""

from typing import TYPE_CHECKING

from ecotone.lazily import offered

if TYPE_CHECKING:
    from ecotone.kube.client import ApiClient
    from ecotone.kube.errors import ApiError, UnreachableError
    from ecotone.kube.kubeconfig import Connection, connect
    from ecotone.kube.lease import Elector, LeaseTimes
    from ecotone.kube.reading.reflector import Reflector, Sink
    from ecotone.kube.writing.binding import Bound, Outcome, bind
    from ecotone.kube.writing.events import EventRecorder, Regarding
    from ecotone.kube.writing.eviction import Evicted, EvictionOutcome, evict, preempt, set_status

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
        "Bound": "writing.binding",
        "Connection": "kubeconfig",
        "Elector": "lease",
        "EventRecorder": "writing.events",
        "Evicted": "writing.eviction",
        "EvictionOutcome": "writing.eviction",
        "LeaseTimes": "lease",
        "Outcome": "writing.binding",
        "Reflector": "reading.reflector",
        "Regarding": "writing.events",
        "Sink": "reading.reflector",
        "UnreachableError": "errors",
        "bind": "writing.binding",
        "connect": "kubeconfig",
        "evict": "writing.eviction",
        "preempt": "writing.eviction",
        "set_status": "writing.eviction",
    },
)
