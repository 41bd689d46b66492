"""The only package that talks to an API server: credentials, requests, mirrors, leases, bindings, evictions, events."""

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
