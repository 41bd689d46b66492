"""One run: a scenario, a policy and a seed become figures.

This module only wires: nodes and their stations, the network, services and their pods, users, monitors, and the loops
that ask the policy. At equal times the world changes first, then replica counts, then pods are placed until nothing more
can be, then the control loops look, then requests move, and samples are taken last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ecotone.model import Bind, Evict, Preempt, WorkloadKey
from ecotone.model.decisions import DeletionCost
from ecotone.model.objects import Reservation
from ecotone.sim.call_tree import Planner
from ecotone.sim.cluster import READY, SimNode, SimPod, SimService
from ecotone.sim.control.alike import going_on
from ecotone.sim.control.autoscaler import PERIOD, Autoscaler
from ecotone.sim.control.instant import Instant
from ecotone.sim.control.lifecycle import Lifecycle
from ecotone.sim.control.monitoring import Monitoring
from ecotone.sim.control.observation import NAMESPACE, Observer
from ecotone.sim.control.orchestration import Orchestrator
from ecotone.sim.flow import Flow
from ecotone.sim.kernel import AUTOSCALE, DESCHEDULE, EVENTS, SAMPLES, SCHEDULING, TRACES, Kernel
from ecotone.sim.network import Network
from ecotone.sim.randomness import creation_order, derive, stream
from ecotone.sim.recorder import SERIES_SECONDS, Recorder
from ecotone.sim.scenario.schema import LinkChange, NodeChange, Scenario
from ecotone.sim.users import Entrance, OpenLoop, User

DRAIN = 60.0

Placement = dict[str, dict[str, int]]
Progress = Callable[[float], None]


def _nobody(_: float) -> None:
    """Nobody wants to know how far a run is."""


@dataclass(slots=True)
class Move:
    """A pod the policy moved: when, what, from where, and why."""

    at: float
    pod: str
    service: str
    origin: str
    target: str
    why: str


@dataclass(slots=True)
class Placed:
    """A pod that got a node: when, what, where, and why."""

    at: float
    pod: str
    service: str
    node: str
    why: str


@dataclass(slots=True)
class Outcome:
    """Everything measured in one run."""

    recorder: Recorder
    placement: list[tuple[float, Placement]] = field(default_factory=list)
    utilisation: dict[str, float] = field(default_factory=dict)
    evictions: int = 0
    preemptions: int = 0
    lost_to_evictions: int = 0
    moves: list[Move] = field(default_factory=list)
    binds: list[Placed] = field(default_factory=list)
    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    """Calls from node to node; those of users count from where they enter."""
    bytes: dict[tuple[str, str], float] = field(default_factory=dict)
    cost_per_hour: float | None = None
    """Of the nodes that hold pods of the application, the mean over time; None where nodes have no price."""
    unplaced: list[str] = field(default_factory=list)
    edge_latency_ms: float | None = None
    phases: list[tuple[float, dict[str, int]]] = field(default_factory=list)  # of pods that are not ready


class Simulation:
    """Build once, `run()` once."""

    def __init__(self, scenario: Scenario, orchestrator: Orchestrator, *, seed: int, monitoring: bool = True) -> None:
        self.scenario = scenario
        self._orchestrator = orchestrator
        self._instant = Instant(orchestrator.name)
        self.kernel = kernel = Kernel()
        self.nodes = [SimNode(kernel, index, spec) for index, spec in enumerate(scenario.nodes)]
        self._node_index = {node.name: node.index for node in self.nodes}
        self.services = [SimService(index, spec) for index, spec in enumerate(scenario.application.services)]
        self._by_name = {service.name: service for service in self.services}
        self.network = self._make_network(seed)
        self._scheduling_wanted = False
        self._going_on = False
        self.lifecycle = Lifecycle(
            kernel, self.nodes, self.services, wanted=self._want_scheduling, settled=self._go_on,
            control=scenario.control, registry=scenario.registry,
        )  # fmt: skip
        self.flow = Flow(
            kernel, self.network, self.services, [node.zone for node in self.nodes],
            balance=stream(seed, "balance"), timeout=scenario.control.timeout, drained=self.lifecycle.drained,
        )  # fmt: skip
        self.lifecycle.flow = self.flow
        self.planner = Planner(scenario.application)
        self.recorder = Recorder(warmup=scenario.warmup, intervals=max(1, len(scenario.load)))
        self.outcome = Outcome(self.recorder)
        entrances = self._make_load(seed)
        loops_end = scenario.duration if monitoring else -1.0
        self.monitoring = Monitoring(
            kernel, self.network, self.nodes, self.services,
            channels=list(self.planner.channels.values()), entrances=entrances, control=scenario.control, until=loops_end,
        )  # fmt: skip
        self.observer = Observer(
            scenario.application,
            self.nodes,
            self.services,
            self.monitoring,
            seed=derive(seed, "policy") >> 1,
            qos=scenario.qos,
        )
        self._create_pods(seed)
        self._schedule_world(loops_end)
        self._used_at_warmup = [0.0] * len(self.nodes)
        self._qos_sums = [0.0, 0]
        self._prices: list[float] = []
        self._progress: Progress = _nobody

    def run(self, progress: Progress | None = None) -> Outcome:
        """`progress` is told now and then which share of the run is done."""
        self._progress = progress or _nobody
        kernel, scenario = self.kernel, self.scenario
        kernel.run(scenario.duration)
        self._measure_utilisation()
        end = scenario.duration + DRAIN
        while self.recorder.outstanding and kernel.now < end:
            kernel.run(min(end, kernel.now + 1.0))
        self.recorder.close()
        outcome = self.outcome
        outcome.lost_to_evictions = self.lifecycle.lost_to_evictions
        outcome.unplaced = [pod.name for pod in self.lifecycle.pending]
        total, count = self._qos_sums
        outcome.edge_latency_ms = total / count if count else None
        if any(node.spec.price for node in self.nodes) and self._prices:
            outcome.cost_per_hour = sum(self._prices) / len(self._prices)
        self._note_talk()
        return outcome

    # Building

    def _make_network(self, seed: int) -> Network:
        spec, index = self.scenario.network, self._node_index
        return Network(
            self.kernel,
            nodes=len(self.nodes),
            default=spec.default,
            links={(index[a], index[b]): link for (a, b), link in spec.links},
            shortest_path=spec.shortest_path,
            draws=stream(seed, "network"),
        )

    def _make_load(self, seed: int) -> list[tuple[str, Entrance]]:
        entrances: list[tuple[str, Entrance]] = []
        for tag, load in enumerate(self.scenario.load):
            plan = self.planner.plan(load.service, load.endpoint)
            entrance = Entrance(self.kernel, self.flow, plan, load, tag=tag, nodes=self.nodes, recorder=self.recorder)
            entrances.append((load.service, entrance))
            sources = [self._node_index[name] for name in load.sources]
            end = min(load.at + load.length, self.scenario.duration)
            if load.users:
                for user in range(load.users):
                    entry = sources[user % len(sources)]
                    User(self.kernel, entrance, load, entry=entry, end=end, seed=seed, key=(tag, user))
            else:
                OpenLoop(self.kernel, entrance, load, sources=sources, end=end, seed=seed, tag=tag)
        return entrances

    def _create_pods(self, seed: int) -> None:
        order = creation_order(self.services, seed)
        for service in order:
            trace = self.scenario.application.traces.get(service.name)
            if trace and trace[0][0] == 0.0:
                service.desired = trace[0][1]
        self.lifecycle.create_initial(order)

    def _schedule_world(self, loops_end: float) -> None:
        kernel, scenario = self.kernel, self.scenario
        for change in scenario.link_changes:
            kernel.at(change.at, self._change_link, change, EVENTS)
        for state in scenario.node_changes:
            kernel.at(state.at, self._change_node, state, EVENTS)
        for name, points in scenario.application.traces.items():
            for at, replicas in points:
                kernel.at(at, self._follow_trace, (self._by_name[name], replicas), TRACES)
        if scenario.application.autoscale:
            self._autoscale(loops_end)
        period = scenario.control.deschedule
        kernel.every(period, self._deschedule, first=period, until=loops_end, priority=DESCHEDULE)
        kernel.every(SERIES_SECONDS, self._sample, first=0.0, until=scenario.duration, priority=SAMPLES)
        kernel.at(scenario.warmup, self._note_warmup, None, EVENTS)

    # Events, traces, autoscaling

    def _change_link(self, change: LinkChange) -> None:
        a, b = change.between
        self.network.change(self._node_index[a], self._node_index[b], **dict(change.qualities))

    def _change_node(self, change: NodeChange) -> None:
        node = self.nodes[self._node_index[change.node]]
        match change.state:
            case "down":
                if node.up:
                    self.lifecycle.node_down(node)
            case "up":
                if not node.up:
                    self.lifecycle.node_up(node)
            case "cordoned" | "uncordoned":
                self.lifecycle.cordon(node, change.state == "cordoned")

    def _follow_trace(self, step: tuple[SimService, int]) -> None:
        service, replicas = step
        self.lifecycle.scale(service, replicas)

    def _autoscale(self, until: float) -> None:
        """All autoscalers look at the same moment, before any of the new pods is placed."""
        scalers = [
            (self._by_name[name], Autoscaler(settings, request=float(self._by_name[name].spec.cpu_request or 0)))
            for name, settings in self.scenario.application.autoscale.items()
        ]
        by_requests = {name for name, each in self.scenario.application.autoscale.items() if each.requests is not None}

        def look(_: None) -> None:
            monitoring = self.monitoring
            for service, scaler in scalers:
                seen = monitoring.recent_requests if service.name in by_requests else monitoring.recent_usage
                wanted = scaler.replicas(
                    self.kernel.now, current=service.desired, usage=seen(service), ready=len(service.ready)
                )
                if wanted != service.desired:
                    self.lifecycle.scale(service, wanted)

        self.kernel.every(PERIOD, look, first=PERIOD, until=until, priority=AUTOSCALE)

    # Decisions

    def _want_scheduling(self) -> None:
        if not self._scheduling_wanted:
            self._scheduling_wanted = True
            self.kernel.at(self.kernel.now, self._schedule, None, SCHEDULING)

    def _schedule(self, _: None) -> None:
        """Place pending pods until nothing more can be placed at this instant."""
        while True:
            self._scheduling_wanted = False
            pending = self.lifecycle.pending
            if not pending:
                return
            snapshot = self.observer.snapshot(self.kernel.now, pending)
            decisions, memory = self._orchestrator.schedule(snapshot)
            self.observer.memory.update(memory)
            done = 0
            for decision in decisions:
                if isinstance(decision, Bind):
                    done += self._bind(decision)
                elif isinstance(decision, Preempt):
                    done += self._preempt(decision)
                elif isinstance(decision, Evict):
                    done += self._evict(decision)
                elif isinstance(decision, DeletionCost):
                    self._price(decision)
            if not done:
                self._scheduling_wanted = False
                return

    def _pod(self, key: str) -> SimPod | None:
        return self.lifecycle.by_name.get(key.rpartition("/")[2])

    def _bind(self, decision: Bind) -> int:
        pod = self._pod(decision.pod)
        if pod is None or pod.node is not None:
            return 0
        node = self.nodes[self._node_index[decision.node]]
        self._note_decision("bind", f"{pod.name} to {node.name}")
        self.lifecycle.bind(pod, node, decision.why)
        self.outcome.binds.append(Placed(self.kernel.now, pod.name, pod.service.name, node.name, decision.why))
        observer, key = self.observer, WorkloadKey(NAMESPACE, pod.service.name)
        held = next((each for each in observer.reservations if each.workload == key and each.node == node.name), None)
        if held is not None:
            observer.reservations.remove(held)
        return 1

    def _preempt(self, decision: Preempt) -> int:
        victims = [pod for key in decision.victims if (pod := self._pod(key)) is not None]
        for pod in victims:
            self._note_decision("preempt", f"{pod.name} for {decision.pod.rpartition('/')[2]} on {decision.node}")
            self.lifecycle.evict(pod)
        self.outcome.preemptions += len(victims)
        return len(victims)

    def _go_on(self) -> None:
        """A plan whose next step may have waited for this is not made to wait for the next period."""
        if not self._going_on and going_on(self.observer.memory):
            self._going_on = True
            self.kernel.at(self.kernel.now, self._deschedule, None, DESCHEDULE)

    def _deschedule(self, _: None) -> None:
        self._going_on = False
        snapshot = self.observer.snapshot(self.kernel.now, self.lifecycle.pending)
        decisions, memory = self._orchestrator.deschedule(snapshot)
        self.observer.memory.update(memory)
        for decision in decisions:
            if isinstance(decision, Evict):
                self._evict(decision)
            elif isinstance(decision, DeletionCost):
                self._price(decision)

    def _price(self, decision: DeletionCost) -> None:
        pod = self._pod(decision.pod)
        if pod is not None:
            pod.deletion_cost = decision.cost

    def _evict(self, decision: Evict) -> int:
        pod = self._pod(decision.pod)
        if pod is None or pod.terminating or pod.node is None or pod.successor is not None:
            return 0
        service = pod.service
        self._note_decision("evict", f"{pod.name} from {pod.node.name} for {decision.target}")
        # Where an autoscaler sets the replicas, other pods do meanwhile; only the last one is replaced before it goes.
        surge = decision.surge and (service.name not in self.scenario.application.autoscale or len(service.ready) < 2)
        key = WorkloadKey(NAMESPACE, service.name)
        now = self.kernel.now
        self.outcome.evictions += 1
        self.outcome.moves.append(Move(now, pod.name, service.name, pod.node.name, decision.target, decision.why))
        self.observer.last_moves[key] = now
        if self._orchestrator.reserves_for > 0.0:
            self._reserve(pod, decision.target)
        if surge:
            self.lifecycle.surge(pod)
        else:
            self.lifecycle.evict(pod)
        return 1

    def _note_decision(self, kind: str, what: str) -> None:
        pods = sum(len(service.pods) for service in self.services)
        self._instant.count(self.kernel.now, kind, what, pods=pods)

    def _reserve(self, pod: SimPod, target: str) -> None:
        spec = pod.service.spec
        requests = (("cpu", spec.cpu_request), ("memory", spec.memory_request))
        held = Reservation(
            name=f"move-{pod.name}",
            namespace=NAMESPACE,
            workload=WorkloadKey(NAMESPACE, spec.name),
            template_hash="",
            node=target,
            requests=tuple((name, amount) for name, amount in requests if amount is not None),
            replaces_uid=pod.uid,
            expires=self.kernel.now + self._orchestrator.reserves_for,
        )
        self.observer.reservations.append(held)

    # Measuring

    def _note_warmup(self, _: None) -> None:
        self._used_at_warmup = [node.used() for node in self.nodes]

    def _measure_utilisation(self) -> None:
        span = self.scenario.duration - self.scenario.warmup
        for node, before in zip(self.nodes, self._used_at_warmup, strict=True):
            self.outcome.utilisation[node.name] = (node.used() - before) / span / (node.spec.cpu / 1000)

    def _sample(self, _: None) -> None:
        placement: Placement = {}
        phases: dict[str, int] = {}
        for service in self.services:
            for pod in service.pods:
                phase = pod.phase(self.kernel.now)
                if phase != READY:
                    phases[phase] = phases.get(phase, 0) + 1
                if pod.node is not None:
                    where = placement.setdefault(service.name, {})
                    where[pod.node.name] = where.get(pod.node.name, 0) + 1
        if phases:
            self.outcome.phases.append((self.kernel.now, dict(sorted(phases.items()))))
        samples = self.outcome.placement
        if samples and samples[-1][1] == placement:
            placement = samples[-1][1]  # one object for as long as nothing moves
        samples.append((self.kernel.now, placement))
        self.recorder.flush(self.kernel.now - 2 * DRAIN)
        self._sample_qos(placement)
        used = {name for where in placement.values() for name in where}
        self._prices.append(sum(node.spec.price for node in self.nodes if node.name in used))
        self._progress(self.kernel.now / self.scenario.duration)

    def _note_talk(self) -> None:
        names = [node.name for node in self.nodes]
        for source, calls, sizes in zip(names, self.flow.calls, self.flow.bytes, strict=True):
            for target, number, size in zip(names, calls, sizes, strict=True):
                if number:
                    self.outcome.calls[source, target] = number
                    self.outcome.bytes[source, target] = size

    def _sample_qos(self, placement: Placement) -> None:
        """Per service with bound pods, the mean of its pods' tier latencies."""
        qos = self.scenario.qos
        if qos is None or self.kernel.now < self.scenario.warmup:
            return
        tiers = {node.name: node.spec.tier or "" for node in self.nodes}
        for where in placement.values():
            pods = sum(where.values())
            latency = sum(count * qos.latency.get(tiers[name], 0.0) for name, count in where.items())
            self._qos_sums[0] += 1000.0 * latency / pods
            self._qos_sums[1] += 1
