"""The simulated cluster's state: nodes, pods, and the services that route to them.

Plain mutable records. Who changes them is elsewhere: `lifecycle` for pods and nodes, `flow` for requests.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ecotone.sim.cpu import Share, Station
from ecotone.sim.kernel import Kernel
from ecotone.sim.scenario.schema import NodeSpec, Service


class SimNode:
    __slots__ = ("cordoned", "index", "pods", "retired", "spec", "station", "up")

    def __init__(self, kernel: Kernel, index: int, spec: NodeSpec) -> None:
        self.index = index
        self.spec = spec
        self.station = Station(kernel, spec.cpu / 1000)
        self.up = True
        self.cordoned = False
        self.pods: list[SimPod] = []  # bound here and not yet gone
        self.retired = 0.0  # CPU seconds used by pods that are gone

    @property
    def name(self) -> str:
        return self.spec.name

    def used(self) -> float:
        """CPU seconds used since the beginning."""
        self.station.catch_up()
        return self.retired + sum(pod.share.used for pod in self.pods if pod.share is not None)


class SimPod:
    """One pod from creation to removal."""

    __slots__ = (
        "alive", "bound_at", "connected", "created", "deletion_cost", "inflight", "name", "node", "ready", "ready_at",
        "service", "share", "terminating", "uid", "why",
    )  # fmt: skip

    def __init__(self, service: SimService, *, name: str, uid: str, created: float) -> None:
        self.service = service
        self.name = name
        self.uid = uid
        self.created = created
        self.node: SimNode | None = None
        self.share: Share | None = None
        self.bound_at: float | None = None
        self.ready_at: float | None = None
        self.ready = False
        self.alive = True
        self.terminating = False
        self.inflight = 0
        self.why = ""
        self.deletion_cost = 0
        # Whom a pod that replaced another one has connections with (pods by uid, entry nodes by number); None: with all.
        self.connected: set[str | int] | None = None


class SimService:
    """A Deployment and its Service: the pods it owns and those that take requests."""

    __slots__ = ("desired", "external", "index", "made", "pods", "ready", "retired", "shortcut", "spec", "waiting")

    def __init__(self, index: int, spec: Service) -> None:
        self.index = index
        self.spec = spec
        self.desired = spec.replicas
        self.pods: list[SimPod] = []  # not terminating
        self.ready: list[SimPod] = []
        self.waiting: deque[Any] = deque()  # asynchronous messages held until a pod is ready
        self.external = spec.external
        self.shortcut = spec.external and spec.proxy_cpu == 0.0
        self.made = 0
        self.retired = 0.0  # CPU seconds used by pods that are gone

    @property
    def name(self) -> str:
        return self.spec.name
