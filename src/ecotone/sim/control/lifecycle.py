"""The life of pods: what the Deployment controllers, the kubelets and the node controller do.

A pod is created pending, bound by a policy, ready when its image is pulled and its service's start-up time is over, and ends
by an eviction, a scale-down or the death of its node. An evicted pod leaves its Service at once, is replaced at once,
finishes what it has in hand, and holds its requests on the node until it is done or its grace period is over.

A node that fails says nothing. Its pods go on taking requests, and answer none, until the node controller misses the
node's heartbeat (`node_grace`) and takes them out of their Services; they are deleted, and replaced, when nobody tolerates
the unreachable node any longer (`toleration`). If the node comes back before that, its kubelet starts them again. A
replacement, or a pod that was started again, has to set its connections up again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf, log2

from ecotone.sim.cluster import SimNode, SimPod, SimService
from ecotone.sim.flow import Flow
from ecotone.sim.kernel import SCHEDULING, Kernel
from ecotone.sim.scenario.schema import REGISTRY, Control

SURGE_PATIENCE = 60.0  # seconds beyond the start-up time
_APART = 1e-6  # seconds between pods created at one instant, so that queues keep the order in which they came


class Lifecycle:
    """Creates, binds, readies and removes pods. `wanted` is called whenever the scheduler has something to look at,
    `settled` whenever a pod has become ready or has gone."""

    def __init__(
        self,
        kernel: Kernel,
        nodes: list[SimNode],
        services: list[SimService],
        *,
        wanted: Callable[[], None],
        settled: Callable[[], None] = lambda: None,
        control: Control | None = None,
        registry: float = REGISTRY,
    ) -> None:
        self._kernel = kernel
        self._nodes = nodes
        self._services = services
        self._wanted = wanted
        self._settled = settled
        self._control = control or Control()
        self._registry = registry
        self.flow: Flow | None = None
        self.pending: list[SimPod] = []
        self.by_name: dict[str, SimPod] = {}
        self.lost_to_evictions = 0
        self._newest = -inf  # when the last pod was created

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
        while len(service.pods) < self._wanted_of(service):
            pod = self._create(service)
            if replacing:
                pod.connected = set()
        while (surplus := len(service.pods) - self._wanted_of(service)) > 0:
            for pod in self.victims(service)[:surplus]:
                self.terminate(pod)

    def _wanted_of(self, service: SimService) -> int:
        """As many as desired, and those started before the pods they replace are gone."""
        return service.desired + sum(pod.successor is not None for pod in service.pods)

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
        pod.node, pod.place, pod.bound_at, pod.why = node, node.index, self._kernel.now, why
        limit = None if spec.cpu_limit is None else spec.cpu_limit / 1000
        pod.share = node.station.share(weight=float(spec.cpu_request or 0), limit=limit)
        node.pods.append(pod)
        self._start(pod, node)

    def _start(self, pod: SimPod, node: SimNode) -> None:
        """What the kubelet does: pull the image, start the pod, report when it is ready."""
        pod.starts += 1
        pod.lost = not node.up  # nobody is there to do it
        if pod.lost:
            return
        pulling = self._pull(pod.service, node)
        pod.pulled_at = self._kernel.now + pulling
        wait = pulling + pod.service.spec.startup
        if wait > 0.0:
            self._kernel.after(wait, self._started, (pod, pod.starts), SCHEDULING)
        else:
            self._become_ready(pod)

    def _started(self, start: tuple[SimPod, int]) -> None:
        pod, number = start
        if pod.starts == number and not pod.lost:
            self._become_ready(pod)

    def _pull(self, service: SimService, node: SimNode) -> float:
        """Seconds until the service's image is on the node: pulled once, one image after the other."""
        now, size = self._kernel.now, service.spec.image
        if size <= 0.0:
            return 0.0
        if service.name not in node.images:
            node.pull_free = max(now, node.pull_free) + size / self._registry
            node.images[service.name] = node.pull_free
        return max(0.0, node.images[service.name] - now)

    def terminate(self, pod: SimPod) -> None:
        """Deletion with grace: out of the Service now, gone when drained."""
        if pod.terminating or not pod.alive:
            return
        pod.terminating = True
        pod.service.pods.remove(pod)
        self._unready(pod)
        self._succeeded(pod)
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

    def surge(self, pod: SimPod) -> None:
        """Make before break: one pod more, and this one goes when the other is ready."""
        if pod.successor is None and not pod.terminating:
            pod.successor = self._create(pod.service)
            pod.successor.connected = set()
            spec = pod.service.spec
            patience = spec.startup + spec.image / self._registry + SURGE_PATIENCE
            self._kernel.after(patience, self._call_off, (pod, pod.successor), SCHEDULING)

    def _call_off(self, surge: tuple[SimPod, SimPod]) -> None:
        """A replacement that is not ready in time goes instead."""
        pod, comer = surge
        if pod.successor is comer and not comer.terminating:
            self.terminate(comer)

    def _succeeded(self, pod: SimPod) -> None:
        """The replacement is ready, or never will be: the pod that waited for it leaves, or stays after all."""
        for waiting in pod.service.pods:
            if waiting.successor is pod:
                waiting.successor = None
                if pod.ready:
                    self.terminate(waiting)
                return

    def drained(self, pod: SimPod) -> None:
        if pod.alive:
            pod.alive = False
            self._leave_node(pod)

    def node_down(self, node: SimNode) -> None:
        """The node is dead; nobody knows yet."""
        assert self.flow is not None
        now, control = self._kernel.now, self._control
        node.up = False
        node.outage += 1
        node.images = {name: at for name, at in node.images.items() if at <= now}
        node.pull_free = now
        for pod in list(node.pods):
            if pod.terminating:
                self._kill(pod)
            else:
                self.flow.lose(pod)
        if control.node_grace > 0.0:
            self._kernel.after(control.node_grace, self._node_missed, (node, node.outage), SCHEDULING)
        else:
            self._node_missed((node, node.outage))

    def _node_missed(self, outage: tuple[SimNode, int]) -> None:
        """The node controller has had no heartbeat: the node is not ready, and its pods are no endpoints any more."""
        node, number = outage
        if node.up or node.outage != number:
            return
        node.ready, node.unready_since = False, self._kernel.now
        for pod in node.pods:
            self._unready(pod)
        self._wanted()
        self._settled()
        if self._control.toleration > 0.0:
            self._kernel.after(self._control.toleration, self._tolerated_long_enough, outage, SCHEDULING)
        else:
            self._tolerated_long_enough(outage)

    def _tolerated_long_enough(self, outage: tuple[SimNode, int]) -> None:
        """The node's pods are deleted, and replaced elsewhere."""
        node, number = outage
        if node.up or node.outage != number:
            return
        for pod in list(node.pods):
            service = pod.service
            if pod in service.pods:
                service.pods.remove(pod)
            pod.terminating = True
            self._unready(pod)
            self._succeeded(pod)
            self._kill(pod)
        for service in self._services:
            self.reconcile(service, replacing=True)
        self._wanted()

    def node_up(self, node: SimNode) -> None:
        """The node is back, its kubelet reports, and starts again what is still meant to run there."""
        node.up, node.ready, node.unready_since = True, True, None
        for pod in list(node.pods):
            self._unready(pod)
            pod.connected = set()
            self._start(pod, node)
        self._wanted()

    def cordon(self, node: SimNode, cordoned: bool) -> None:
        node.cordoned = cordoned
        self._wanted()

    def _create(self, service: SimService) -> SimPod:
        service.made += 1
        name = f"{service.name}-{service.made}"
        self._newest = max(self._kernel.now, self._newest + _APART)
        pod = SimPod(service, name=name, uid=f"uid-{name}", created=self._newest)
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
        self._succeeded(pod)
        self._settled()

    def _unready(self, pod: SimPod) -> None:
        if pod.ready:
            pod.ready = False
            pod.service.ready.remove(pod)

    def _grace_over(self, pod: SimPod) -> None:
        if pod.alive:
            if not pod.lost:
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
            self._settled()
        self._forget(pod)

    def _forget(self, pod: SimPod) -> None:
        self.by_name.pop(pod.name, None)
