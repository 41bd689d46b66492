"""The simulated cluster's state: nodes, pods, and the services that route to them.

Plain mutable records. Who changes them is elsewhere: `lifecycle` for pods and nodes, `flow` for requests.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ecotone.sim.cpu import Share, Station
from ecotone.sim.kernel import Kernel
from ecotone.sim.scenario.schema import SAME_NODE, UNIFORM, NodeSpec, Service

ZONE = "topology.kubernetes.io/zone"
PENDING, PULLING, STARTING, READY = "pending", "pulling", "starting", "ready"
UNREACHABLE, TERMINATING = "unreachable", "terminating"


class SimNode:
    __slots__ = (
        "cordoned", "images", "index", "outage", "pods", "pull_free", "ready", "retired", "spec", "station",
        "unready_since", "up", "zone",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, index: int, spec: NodeSpec) -> None:
        self.index = index
        self.spec = spec
        self.station = Station(kernel, spec.cpu / 1000)
        self.zone = spec.labels.get(ZONE, "")
        self.up = True
        self.ready = True  # as the control plane has it, which learns of a failure later
        self.unready_since: float | None = None
        self.outage = 0  # which one this is, or the next one will be
        self.images: dict[str, float] = {}  # by service: when it was, or will be, pulled
        self.pull_free = 0.0  # when the kubelet, which pulls one image at a time, is free again
        self.cordoned = False
        self.pods: list[SimPod] = []  # bound here and not yet gone
        self.retired = 0.0  # CPU seconds used by pods that are gone

    @property
    def name(self) -> str:
        return self.spec.name

    def used(self) -> float:
        """CPU seconds used since the beginning."""
        self.station.catch_up()
        used = 0.0  # in a loop: the builtin sum rounds in its own way, and binaries would not follow it
        for pod in self.pods:
            if pod.share is not None:
                used += pod.share.used
        return self.retired + used


class SimPod:
    """One pod from creation to removal."""

    __slots__ = (
        "alive", "bound_at", "connected", "created", "deletion_cost", "inflight", "lost", "name", "node", "place",
        "pulled_at", "ready", "ready_at", "service", "share", "starts", "successor", "terminating", "uid", "why",
    )  # fmt: skip

    def __init__(self, service: SimService, *, name: str, uid: str, created: float) -> None:
        self.service = service
        self.name = name
        self.uid = uid
        self.created = created
        self.node: SimNode | None = None
        self.place = -1  # its node's number
        self.share: Share | None = None
        self.bound_at: float | None = None
        self.ready_at: float | None = None
        self.ready = False
        self.alive = True
        self.lost = False  # its node is down: it takes requests and answers none
        self.starts = 0  # how often it has been started
        self.pulled_at = 0.0
        self.terminating = False
        self.inflight = 0
        self.why = ""
        self.deletion_cost = 0
        self.successor: SimPod | None = None  # started before this one goes
        # Whom a pod that replaced another one has connections with (pods by uid, entry nodes by number); None: with all.
        self.connected: set[str | int] | None = None

    def phase(self, now: float) -> str:
        if self.terminating:
            return TERMINATING
        if self.node is None:
            return PENDING
        if self.lost:
            return UNREACHABLE
        if self.ready:
            return READY
        return PULLING if now < self.pulled_at else STARTING


class SimService:
    """A Deployment and its Service: the pods it owns and those that take requests."""

    __slots__ = (
        "desired", "external", "index", "made", "near", "node_first", "pods", "proxy_cpu",
        "proxy_rtt", "ready", "retired", "shortcut", "spec", "waiting",
    )  # fmt: skip

    def __init__(self, index: int, spec: Service) -> None:
        self.index = index
        self.spec = spec
        self.desired = spec.replicas
        self.pods: list[SimPod] = []  # not terminating
        self.ready: list[SimPod] = []
        self.waiting: deque[Any] = deque()  # asynchronous messages held until a pod is ready
        self.external = spec.external
        self.near = spec.balance != UNIFORM
        self.node_first = spec.balance == SAME_NODE
        self.proxy_cpu = spec.proxy_cpu
        self.proxy_rtt = spec.proxy_rtt
        self.shortcut = spec.external and spec.proxy_cpu == 0.0
        self.made = 0
        self.retired = 0.0  # CPU seconds used by pods that are gone

    @property
    def name(self) -> str:
        return self.spec.name
