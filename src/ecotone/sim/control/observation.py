"""From the simulated cluster to the `Snapshot` that policies read.

The same objects as from manifests or watch streams: nodes with the figures the monitors wrote on them, workloads with
usage, traffic and static affinity, pods with requests. The simulator's truth (queues, stations, links) stays behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from ecotone.model import ClusterState, Node, Pod, PodKind, PodSpec, Snapshot, Workload, WorkloadKey
from ecotone.model.objects import AppGroup, DisruptionBudget, Measured, Reservation, ServiceSelector
from ecotone.model.selectors import LabelSelector, NodeAffinity, NodeTerm, Requirement, Taint, Toleration
from ecotone.sim.cluster import SimNode, SimPod, SimService
from ecotone.sim.control.monitoring import Monitoring
from ecotone.sim.scenario.schema import SAME_NODE, SAME_ZONE, UNIFORM, Application, Call, Qos, Service

NAMESPACE = "default"
# Priorities of channels by protocol, as the TOSCA profile gives them.
PRIORITIES = {"HTTP": 100.0, "gRPC": 90.0, "TCP": 85.0, "HTTPServerPush": 40.0, "AMQP": 30.0, "MQTT": 20.0}
ASYNCHRONOUS = 20.0
DISTRIBUTIONS = {UNIFORM: None, SAME_ZONE: "PreferSameZone", SAME_NODE: "PreferSameNode"}


class Observer:
    """Builds snapshots; what does not change during a run is built once."""

    def __init__(
        self,
        application: Application,
        nodes: list[SimNode],
        services: list[SimService],
        monitoring: Monitoring,
        *,
        seed: int,
        qos: Qos | None = None,
    ) -> None:
        self._shares = {} if qos is None else qos.targets
        self._groups = () if qos is None else _groups(application, qos)
        self._nodes = nodes
        self._services = services
        self._monitoring = monitoring
        self._seed = seed
        self._group = application.name
        self._kinds = [pod_kind(service.spec, service.spec.group or application.name) for service in services]
        self._image_sizes = {service.name: int(service.spec.image) for service in services}
        self._affinity = static_affinity(application)
        self._deadlines = deadlines(application, soft=False)
        self._soft_deadlines = deadlines(application, soft=True)
        self._synchronous = synchronous_channels(application)
        self._selectors = tuple(
            ServiceSelector(
                NAMESPACE,
                service.name,
                LabelSelector.of_labels({"app": service.name}),
                DISTRIBUTIONS[service.spec.balance],
            )
            for service in services
        )
        self.memory: dict[str, object] = {}
        self.last_moves: dict[WorkloadKey, float] = {}
        self.reservations: list[Reservation] = []

    def snapshot(self, now: float, pending: list[SimPod]) -> Snapshot:
        state = ClusterState(now=now, seed=self._seed)
        state.set_nodes([self._node(node, now) for node in self._nodes])
        for service in self._services:
            state.put_workload(self._workload(service))
        for node in self._nodes:
            for pod in node.pods:
                state.put_pod(self._pod(pod))
        for pod in pending:
            state.put_pod(self._pod(pod))
        state.services = self._selectors
        state.budgets = tuple(budget for service in self._services if (budget := self._budget(service)) is not None)
        self.reservations = [each for each in self.reservations if each.expires > now]
        state.reservations = tuple(self.reservations)
        state.last_moves = dict(self.last_moves)
        state.memory = dict(self.memory)
        state.app_groups = self._groups
        return state.freeze()

    def _node(self, node: SimNode, now: float) -> Node:
        spec, figures = node.spec, self._monitoring.nodes[node.index]
        labels = {"kubernetes.io/hostname": spec.name, **spec.labels}
        if spec.tier is not None:
            labels.setdefault("ecotone.dev/tier", spec.tier)
        if spec.price:
            labels.setdefault("ecotone.dev/price-per-hour", f"{spec.price:g}")
        taints = (
            spec.taints if node.ready else (*spec.taints, Taint("node.kubernetes.io/unreachable", "", "NoSchedule"))
        )
        return Node(
            name=spec.name,
            allocatable={"cpu": spec.cpu, "memory": spec.memory, "pods": spec.pods},
            labels=labels,
            taints=taints,
            unschedulable=node.cordoned,
            ready=node.ready,
            unready_since=node.unready_since,
            images={name: self._image_sizes[name] for name, at in node.images.items() if at <= now},
            tier=labels.get("ecotone.dev/tier"),
            price_per_hour=spec.price,
            available_cpu=figures.available_cpu,
            available_memory=figures.available_memory,
            latencies=figures.latencies or None,
            bandwidths=figures.bandwidths or None,
            losses=figures.losses or None,
            measured_at=figures.measured_at,
        )

    def _workload(self, service: SimService) -> Workload:
        figures = self._monitoring.workloads[service.index]
        at = figures.measured_at
        return Workload(
            key=WorkloadKey(NAMESPACE, service.name),
            replicas=service.desired,
            selector=LabelSelector.of_labels({"app": service.name}),
            app_group=service.spec.group or self._group,
            index=service.spec.index,
            cpu_usage=None if figures.cpu_usage is None else Measured(figures.cpu_usage, at),
            memory_usage=None if figures.memory_usage is None else Measured(figures.memory_usage, at),
            traffic=figures.traffic,
            affinity=self._affinity.get(service.name),
            synchronous=self._synchronous.get(service.name, {}),
            deadlines=self._deadlines.get(service.name, {}),
            soft_deadlines=self._soft_deadlines.get(service.name, {}),
            measured_at=at,
            external=service.external,
            edge_share=self._shares.get(service.name),
            requests=figures.requests,
            calls=figures.calls,
        )

    def _pod(self, pod: SimPod) -> Pod:
        return Pod(
            name=pod.name,
            uid=pod.uid,
            kind=self._kinds[pod.service.index],
            node=None if pod.node is None else pod.node.name,
            phase="Pending" if pod.ready_at is None else "Running",
            created=pod.created,
            bound_at=pod.bound_at,
            ready=pod.ready,
            deleting=pod.terminating,
            owner=f"ReplicaSet/{pod.service.name}",
            deletion_cost=pod.deletion_cost,
        )

    def _budget(self, service: SimService) -> DisruptionBudget | None:
        budget = service.spec.budget
        if budget is None:
            return None
        healthy = len(service.ready)
        needed = (
            service.desired - budget.max_unavailable
            if budget.max_unavailable is not None
            else budget.min_available or 0
        )
        selector = LabelSelector.of_labels({"app": service.name})
        return DisruptionBudget(NAMESPACE, service.name, selector, allowed=max(0, healthy - needed))


def _groups(application: Application, qos: Qos) -> tuple[AppGroup, ...]:
    """What the owner of each application says about the latencies of tiers."""
    names = dict.fromkeys(service.group or application.name for service in application.services)
    tiers = {tier: 1000.0 * seconds for tier, seconds in qos.latency.items()}
    return tuple(AppGroup(NAMESPACE, name, tier_latency_ms=tiers) for name in names)


def pod_kind(service: Service, group: str) -> PodKind:
    labels = {"app": service.name, "app-group": group}
    if service.index is not None:
        labels["ecotone.dev/index"] = str(service.index)
    if service.role is not None:
        labels["ecotone.dev/role"] = service.role
    return PodKind(
        namespace=NAMESPACE,
        workload=WorkloadKey(NAMESPACE, service.name),
        labels=tuple(sorted(labels.items())),
        spec=_pod_spec(service),
        app_group=group,
        index=service.index,
        role=service.role,
        max_latency_ms=None if service.max_latency is None else 1000.0 * service.max_latency,
    )


def _pod_spec(service: Service) -> PodSpec:
    requests = {"cpu": service.cpu_request, "memory": service.memory_request}
    required = None
    if service.pinned is not None:
        required = (NodeTerm(fields=(Requirement("metadata.name", "In", (service.pinned,)),)),)
    preferred: tuple[NodeTerm, ...] = ()
    if service.prefer_tier is not None:
        wish = Requirement("ecotone.dev/tier", "In", (service.prefer_tier,))
        preferred = (NodeTerm(expressions=(wish,), weight=service.prefer_weight),)
    return PodSpec(
        requests=tuple((name, amount) for name, amount in requests.items() if amount is not None),
        nonzero=(service.cpu_request or 100, service.memory_request or 200 * 1024 * 1024),
        scheduler_name="ecotone",
        node_affinity=NodeAffinity(required=required, preferred=preferred),
        tolerations=tuple(Toleration(key=key, operator="Exists") for key in service.tolerates),
        grace_seconds=service.grace,
        cpu_limit=service.cpu_limit,
        images=(service.name,) if service.image else (),
    )


def static_affinity(application: Application) -> dict[str, dict[str, float]]:
    """What a TOSCA template of this application would say: the sum over a pair's channels' priorities, on both ends."""
    channels: dict[tuple[str, str, str], float] = {}
    for caller, call in _calls(application):
        priority = PRIORITIES.get(call.protocol, ASYNCHRONOUS)
        if call.detached and call.protocol in ("HTTP", "gRPC", "TCP"):
            priority = ASYNCHRONOUS
        channels[(caller, call.service, f"{call.protocol}{call.detached}")] = priority
    affinity: dict[str, dict[str, float]] = {}
    for (caller, callee, _), priority in channels.items():
        for end, other in ((caller, callee), (callee, caller))[: 1 if caller == callee else 2]:
            peers = affinity.setdefault(end, {})
            peers[other] = peers.get(other, 0.0) + priority
    return affinity


def deadlines(application: Application, *, soft: bool) -> dict[str, dict[str, float]]:
    """The tightest deadline of each pair of services in milliseconds, of the hard ones or of the soft ones."""
    found: dict[str, dict[str, float]] = {}
    for caller, call in _calls(application):
        if call.deadline is not None and call.soft == soft:
            peers = found.setdefault(caller, {})
            peers[call.service] = min(1000.0 * call.deadline, peers.get(call.service, inf))
    return found


def synchronous_channels(application: Application) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for caller, call in _calls(application):
        peers = found.setdefault(caller, {})
        peers[call.service] = peers.get(call.service, False) or not call.detached
    return found


def _calls(application: Application) -> Iterator[tuple[str, Call]]:
    for service in application.services:
        for endpoint in service.endpoints.values():
            for stage in endpoint.stages:
                for call in stage:
                    yield service.name, call
