"""The life of pods: what the Deployment controllers, the kubelets and the node controller do.

A pod is created pending, bound by a policy, ready after its service's start-up time, and ends by an eviction, a
scale-down or the death of its node. An evicted pod leaves its Service at once, is replaced at once, finishes what it has
in hand, and holds its requests on the node until it is done or its grace period is over. A node that fails takes its pods
with it immediately: their requests fail and their replacements are pending in the same moment. A replacement of either
kind has to set its connections up again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

from ecotone.sim.cluster import SimNode, SimPod, SimService
from ecotone.sim.flow import Flow
from ecotone.sim.kernel import SCHEDULING, Kernel


class Lifecycle:
    """Creates, binds, readies and removes pods. `wanted` is called whenever the scheduler has something to look at."""

    def __init__(
        self, kernel: Kernel, nodes: list[SimNode], services: list[SimService], *, wanted: Callable[[], None]
    ) -> None:
        self._kernel = kernel
        self._nodes = nodes
        self._services = services
        self._wanted = wanted
        self.flow: Flow | None = None
        self.pending: list[SimPod] = []
        self.by_name: dict[str, SimPod] = {}
        self.lost_to_evictions = 0

    def create_initial(self, order: list[SimService]) -> None:
        """The first pods, created in the given order of services."""
        for service in order:
            while len(service.pods) < service.desired:
                self._create(service)

    def scale(self, service: SimService, replicas: int) -> None:
        service.desired = replicas
        self.reconcile(service)

    def reconcile(self, service: SimService, *, replacing: bool = False) -> None:
        """What the ReplicaSet controller does: create what is missing, remove what is too much."""
        while len(service.pods) < service.desired:
            pod = self._create(service)
            if replacing:
                pod.connected = set()
        surplus = len(service.pods) - service.desired
        if surplus > 0:
            for pod in self.victims(service)[:surplus]:
                self.terminate(pod)

    def victims(self, service: SimService) -> list[SimPod]:
        """Pods in the order in which a scale-down takes them.

        As the ReplicaSet controller ranks them: unassigned before assigned, not ready before ready, lower deletion cost
        first, more crowded nodes first, then the younger on a logarithmic scale of readiness, then the younger.
        """
        crowd: dict[int, int] = {}
        for pod in service.pods:
            if pod.node is not None:
                crowd[pod.node.index] = crowd.get(pod.node.index, 0) + 1
        now = self._kernel.now

        def rank(pod: SimPod) -> tuple[bool, bool, int, int, int, float, str]:
            crowded = crowd.get(pod.node.index, 0) if pod.node is not None else 0
            age = 0 if pod.ready_at is None else ceil(log2(1 + max(0.0, now - pod.ready_at)))
            return pod.node is not None, pod.ready, pod.deletion_cost, -crowded, age, -pod.created, pod.name

        return sorted(service.pods, key=rank)

    def bind(self, pod: SimPod, node: SimNode, why: str) -> None:
        self.pending.remove(pod)
        spec = pod.service.spec
        pod.node, pod.bound_at, pod.why = node, self._kernel.now, why
        limit = None if spec.cpu_limit is None else spec.cpu_limit / 1000
        pod.share = node.station.share(weight=float(spec.cpu_request or 0), limit=limit)
        node.pods.append(pod)
        if spec.startup > 0.0:
            self._kernel.after(spec.startup, self._become_ready, pod, SCHEDULING)
        else:
            self._become_ready(pod)

    def terminate(self, pod: SimPod) -> None:
        """Deletion with grace: out of the Service now, gone when drained."""
        if pod.terminating or not pod.alive:
            return
        pod.terminating = True
        pod.service.pods.remove(pod)
        self._unready(pod)
        if pod.node is None:
            self.pending.remove(pod)
            self._forget(pod)
        elif pod.inflight == 0:
            self.drained(pod)
        else:
            self._kernel.after(pod.service.spec.grace, self._grace_over, pod, SCHEDULING)

    def evict(self, pod: SimPod) -> None:
        """The eviction API: terminate, and let the owner replace the pod."""
        self.terminate(pod)
        self.reconcile(pod.service, replacing=True)

    def drained(self, pod: SimPod) -> None:
        if pod.alive:
            pod.alive = False
            self._leave_node(pod)

    def node_down(self, node: SimNode) -> None:
        node.up = False
        for pod in list(node.pods):
            service = pod.service
            if pod in service.pods:
                service.pods.remove(pod)
            pod.terminating = True
            self._unready(pod)
            self._kill(pod)
        for service in self._services:
            self.reconcile(service, replacing=True)
        self._wanted()

    def node_up(self, node: SimNode) -> None:
        node.up = True
        self._wanted()

    def cordon(self, node: SimNode, cordoned: bool) -> None:
        node.cordoned = cordoned
        self._wanted()

    def _create(self, service: SimService) -> SimPod:
        service.made += 1
        name = f"{service.name}-{service.made}"
        pod = SimPod(service, name=name, uid=f"uid-{name}", created=self._kernel.now)
        service.pods.append(pod)
        self.pending.append(pod)
        self.by_name[name] = pod
        self._wanted()
        return pod

    def _become_ready(self, pod: SimPod) -> None:
        if not pod.alive or pod.terminating:
            return
        pod.ready, pod.ready_at = True, self._kernel.now
        pod.service.ready.append(pod)
        if pod.service.waiting and self.flow is not None:
            self.flow.deliver_waiting(pod.service)

    def _unready(self, pod: SimPod) -> None:
        if pod.ready:
            pod.ready = False
            pod.service.ready.remove(pod)

    def _grace_over(self, pod: SimPod) -> None:
        if pod.alive:
            self.lost_to_evictions += pod.inflight
            self._kill(pod)

    def _kill(self, pod: SimPod) -> None:
        if pod.alive:
            assert self.flow is not None
            self.flow.kill(pod)
            self._leave_node(pod)

    def _leave_node(self, pod: SimPod) -> None:
        node = pod.node
        assert node is not None
        if pod in node.pods:
            node.station.catch_up()
            node.pods.remove(pod)
            used = pod.share.used if pod.share is not None else 0.0
            node.retired += used
            pod.service.retired += used
            self._wanted()
        self._forget(pod)

    def _forget(self, pod: SimPod) -> None:
        self.by_name.pop(pod.name, None)
