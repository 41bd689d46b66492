"""A scenario played on a bed under one contender, as the record that `simulate` gives.

Every run has the application in a namespace of its own and starts from nothing: pods are created in an order drawn for the
trial, users come when all are ready. The probe and the monitor run for every contender alike, so that what they cost is the
same for all; only pods that name our scheduler are placed and moved by it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from msgspec.structs import replace as replace_fields

from ecotone.experiments.bed.fitting import INFRASTRUCTURE, asking_for
from ecotone.experiments.bed.overhead import per_visit
from ecotone.experiments.bed.playing.contenders import Contender, upstream_policy
from ecotone.experiments.bed.playing.false_clock import FalseClock
from ecotone.experiments.bed.playing.scaling import Scaling, changes
from ecotone.experiments.bed.playing.watching import Watching, edge_latency_ms
from ecotone.experiments.campaign.record import Breakdown, Run
from ecotone.experiments.campaign.runs import figures
from ecotone.manifests import keys
from ecotone.services.install import input_proxy, installation
from ecotone.sim.parts import NAMES, UNANSWERED
from ecotone.sim.randomness import creation_order, derive
from ecotone.sim.recorder import Recorder
from ecotone.sim.scenario.schema import Scenario
from ecotone.sim.simulation import Outcome
from ecotone.testbed import processes
from ecotone.testbed.application.system import MONITORING, PROMETHEUS_URL, dns_objects, prometheus_objects
from ecotone.testbed.application.users import Sent, Users, plans
from ecotone.testbed.application.workload import PORT, application_objects
from ecotone.testbed.bed import Bed
from ecotone.testbed.images.contents import ECOTONE_IMAGE, ENVOY_IMAGE
from ecotone.testbed.node import cgroups
from ecotone.testbed.processes import wait_until

SYSTEM = "kube-system"
LOOK_SECONDS = 3.0
POLL_SECONDS = 0.5  # every question to the API server takes CPU time from what is waited for
READY_SECONDS = 240.0
UPSTREAM_SECONDS = 20
IDLE_SECONDS = 15.0
SECOND_THOUGHT_SECONDS = 10.0
NEAR_SHARE, NEAR_MS = 0.1, 2.0  # a latency that is measured as what it is
MOST_FAILED = 0.05  # of a run's requests, for it to tell what requests cost
_VERSION = "ecotone.dev/v1alpha1"
BELIEVED = ("--trust-prometheus",)
"""A bed's Prometheus scrapes what the bed lists for it, and nobody else writes there."""
_NOTHING: Breakdown = dict.fromkeys(NAMES)


@dataclass(slots=True)
class Player:
    """A bed with Ecotone in it, ready to play scenarios on its nodes."""

    bed: Bed
    directory: Path
    say: Callable[[str], None] = lambda _: None
    clock: FalseClock | None = None  # of Ecotone's own programs, if it is to be set
    calibrating: bool = False
    calibrated: bool = False
    # Cores that services and nodes use before users come; measured only when calibrating.
    idle: dict[str, float] = field(default_factory=dict)
    idle_nodes: dict[str, float] = field(default_factory=dict)
    # Of the last run: CPU seconds that requests cost each service, sidecars and all, and which requests these were.
    spent: dict[str, float] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    # Of the last run that calibrated: what of it was beyond their demand, per visit.
    overhead: dict[str, float] = field(default_factory=dict)
    _policy: str | None = None
    _runs: int = 0
    _ending: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Names, figures, probe and monitor: what every contender finds there. All of it on one node but the probe."""
        home = self._home()
        self._apply(dns_objects(node=home))
        self._apply(prometheus_objects(self.bed.topology.nodes, node=home, core=self.bed.core))
        parts = ("crds", "rbac", "priorities", "fairness", "admission", "monitor", "probe")
        self._apply(self._here(installation(parts, image=ECOTONE_IMAGE, prometheus=PROMETHEUS_URL, trust=BELIEVED)))
        self._ready(SYSTEM, "deployment/coredns", "deployment/ecotone-monitor", "daemonset/ecotone-probe")
        self._ready(MONITORING, "deployment/prometheus")
        watched = {"runPeriod": 5, "window": "20s"}
        self._apply([{"apiVersion": _VERSION, "kind": "Cluster", "metadata": {"name": "all"}, "spec": watched}])
        self.wait_for_latencies()

    def wait_for_latencies(self) -> None:
        """Until nodes say of each other what the bed has: users install an application in a cluster that has been running."""
        wait_until(
            self._latencies_are_known, seconds=READY_SECONDS, what="measured latencies on nodes", every=POLL_SECONDS
        )

    def _latencies_are_known(self) -> bool:
        topology = self.bed.topology
        notes = {each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in self._nodes()}
        measured = {name: json.loads(each.get(keys.LATENCIES, "{}")) for name, each in notes.items()}
        pairs = [(a.name, b.name) for a in topology.nodes for b in topology.nodes if a.name != b.name]
        return all(_about(measured[a].get(b), 1000 * topology.link(a, b).rtt) for a, b in pairs)

    def _nodes(self) -> list[dict[str, Any]]:
        return list(json.loads(self.bed.kubectl("get", "nodes", "-o", "json"))["items"])

    def _home(self) -> str:
        """The node that holds what all share: the one that is there for it, else the first of the cloud."""
        nodes = self.bed.topology.nodes
        ours = [node.name for node in nodes if node.name == INFRASTRUCTURE]
        return next(iter(ours or [node.name for node in nodes if node.spec.tier == "cloud"]))

    def _here(self, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One replica of each program, on that node: what they cost is then not where an application may go or not."""
        for each in objects:
            if each["kind"] == "Deployment":
                each["spec"]["replicas"] = 1
                each["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": self._home()}
                each["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
                if self.clock is not None:
                    self.clock.give_to(each["spec"]["template"]["spec"])
        return objects

    def _apply(self, objects: list[dict[str, Any]]) -> None:
        """Whatever runs here asks for CPU as nodes offer it: what it asks for is the same part of a node as in the scenario."""
        self.bed.apply([asking_for(self.bed.offered, each) for each in objects])

    def _ready(self, namespace: str, *workloads: str) -> None:
        for each in workloads:
            self.bed.wait_for_rollout(namespace, each, seconds=READY_SECONDS)

    def use(self, policy: str) -> None:
        """Scheduler and descheduler with this policy."""
        if self._policy == policy:
            return
        parts = ("scheduler", "descheduler")
        self._apply(self._here(installation(parts, image=ECOTONE_IMAGE, policy=policy)))
        self._ready(SYSTEM, "deployment/ecotone-scheduler", "deployment/ecotone-descheduler")
        self._policy = policy

    def play(self, scenario: Scenario, contender: Contender, *, trial: int, seed: int) -> Run:
        if contender.policy is not None:
            self.use(contender.policy)
        self.wait_for_the_last()
        self._runs += 1
        namespace = f"run-{self._runs}"
        folder = self.directory / namespace
        users = Users(self.bed.topology, folder)
        upstream = None if contender.strategy is None else self._start_upstream(contender.strategy, folder)
        try:
            self.deploy(scenario, contender, namespace, trial=trial, seed=seed)
            if self.calibrating:
                self._look_at_idleness(namespace)
            watching = Watching(self.bed, namespace)
            used, own = self._cpu_seconds(), self.application_cpu_seconds(namespace)
            began = time.monotonic()
            users.start(plans(scenario, self.front(scenario), seed=seed + trial))
            scaling, accounted = Scaling(self.bed, namespace, scenario), inf
            while users.running():
                at = time.monotonic() - began
                # What pods cost is known while they are there: before the first of them goes.
                if accounted == inf and at > min(changes(scenario), default=inf) - 2 * LOOK_SECONDS:
                    accounted = at
                    self._account(own, namespace, users, at)
                scaling.follow(at)
                watching.look(at)
                time.sleep(LOOK_SECONDS)
            lasted = time.monotonic() - began
            busy = self._utilisation(used, lasted)
            if accounted == inf:
                self._account(own, namespace, users, lasted)
            sent = users.sent()
            unplaced = [each["metadata"]["name"] for each in self._pods(namespace) if fits_nowhere(each)]
            lost = sum(not each.answered for each in sent)
            moved = any(move.at <= accounted for move in watching.moves(changes(scenario)))
            if self.calibrating and not (unplaced or moved) and lost <= MOST_FAILED * len(sent):
                self.overhead, self.calibrated = per_visit(scenario, self.sent, self.spent), True
            return record(scenario, sent, watching, busy, unplaced, contender=contender.name, trial=trial)
        finally:
            users.end()
            if upstream is not None:
                processes.end([upstream])
            self.remove(namespace)

    def remove(self, namespace: str) -> None:
        """Nobody waits for its answers any more: pods get a second to end, and the rest of the namespace goes by itself."""
        self.bed.kubectl("delete", "namespace", namespace, "--wait=false", check=False)
        # A namespace that is ending takes no replacements in.
        self.bed.kubectl("delete", "pods", "--all", "-n", namespace, "--grace-period=1", "--wait=false", check=False)
        self._ending.append(namespace)

    def wait_for_the_last(self) -> None:
        """Until no pod of an earlier run is left: what it still asks for would not be free for this one."""
        wait_until(self._have_ended, seconds=READY_SECONDS, what="end of the last run's pods", every=POLL_SECONDS)

    def _have_ended(self) -> bool:
        self._ending = [each for each in self._ending if self.bed.kubectl("get", "pods", "-n", each, "-o", "name")]
        return not self._ending

    def _account(self, before: dict[str, float], namespace: str, users: Users, seconds: float) -> None:
        """What the requests so far have cost each service, beyond what it uses in any case."""
        now = self.application_cpu_seconds(namespace)
        idle = {name: self.idle.get(name, 0.0) * seconds for name in now}
        self.spent = {name: each - before.get(name, 0.0) - idle[name] for name, each in now.items()}
        self.sent = users.sent()

    def _look_at_idleness(self, namespace: str) -> None:
        """Cores in use before users come: by the application, and on each node."""
        nodes, own, began = self._cpu_seconds(), self.application_cpu_seconds(namespace), time.monotonic()
        time.sleep(IDLE_SECONDS)
        lasted = time.monotonic() - began
        now = self.application_cpu_seconds(namespace)
        self.idle = {name: (each - own.get(name, 0.0)) / lasted for name, each in now.items()}
        self.idle_nodes = {name: (used - nodes[name]) / lasted for name, used in self._cpu_seconds().items()}

    def application_cpu_seconds(self, namespace: str) -> dict[str, float]:
        """CPU time that the pods of each service have used so far, sidecars included; of those that are there now."""
        columns = "custom-columns=UID:.metadata.uid,APP:.metadata.labels.app"
        text = self.bed.kubectl("get", "pods", "-n", namespace, "-l", "app-group", "--no-headers", "-o", columns)
        used = {uid: each for node in self.bed.topology.nodes for uid, each in cgroups.pods_cpu_seconds(node).items()}
        found: dict[str, float] = {}
        for uid, service in (line.split() for line in text.splitlines()):
            found[service] = found.get(service, 0.0) + used.get(uid, 0.0)
        return found

    def deploy(self, scenario: Scenario, contender: Contender, namespace: str, *, trial: int, seed: int) -> None:
        services = creation_order(scenario.application.services, derive(seed, "trial", trial))
        shuffled = replace(scenario, application=replace(scenario.application, services=tuple(services)))
        group: dict[str, Any] = {"runPeriod": 5, "window": "20s", "name": scenario.application.name, "dialect": "envoy"}
        self._apply(application_objects(shuffled, namespace=namespace, scheduler=contender.scheduler))
        if contender.cool_down > 0:
            group["descheduler"] = {"coolDownSeconds": round(contender.cool_down)}
        if scenario.qos is not None:
            group["qos"] = {"latency": {tier: 1000 * seconds for tier, seconds in scenario.qos.latency.items()}}
        for entry, port in entries(scenario).items():
            proxy = input_proxy(f"{namespace}/{entry}:{PORT}", image=ENVOY_IMAGE, host_port=port)
            self._apply(_only_where_users_enter(proxy, entry, scenario))
        metadata = {"name": scenario.application.name, "namespace": namespace}
        self._apply([{"apiVersion": _VERSION, "kind": "AppGroup", "metadata": metadata, "spec": group}])
        self._wait_until_settled(namespace)
        if any(fits_nowhere(each) for each in self._pods(namespace)):
            time.sleep(SECOND_THOUGHT_SECONDS)  # a scheduler may still find room
            self._wait_until_settled(namespace)
        self._ready(namespace, *(f"daemonset/{entry}-input" for entry in entries(scenario)))

    def _wait_until_settled(self, namespace: str) -> None:
        wait_until(
            lambda: not still_coming(self._get(namespace, "pods,deployments")),
            seconds=READY_SECONDS,
            what=f"settled pods in {namespace}",
            every=POLL_SECONDS,
        )

    def _pods(self, namespace: str) -> list[dict[str, Any]]:
        return self._get(namespace, "pods")

    def _get(self, namespace: str, kinds: str) -> list[dict[str, Any]]:
        text = self.bed.kubectl("get", kinds, "-n", namespace, "-l", "app-group", "-o", "json")
        return list(json.loads(text)["items"])

    def front(self, scenario: Scenario) -> Callable[[str, str], str]:
        """Where users of a service enter at a node."""
        ports = entries(scenario)
        return lambda node, service: f"http://{self.bed.topology.node(node).address}:{ports[service]}"

    def _start_upstream(self, strategy: str, folder: Path) -> processes.Daemon:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "policy.json"
        file.write_text(json.dumps(upstream_policy(strategy, spared=[SYSTEM, MONITORING])))
        command: list[str | Path] = [
            self.bed.binaries / "descheduler", f"--kubeconfig={self.bed.kubeconfig}", f"--policy-config-file={file}",
            f"--descheduling-interval={UPSTREAM_SECONDS}s", "--leader-elect=false", "--secure-port=0",
        ]  # fmt: skip
        return processes.start("descheduler", command, log=folder / "descheduler.log")

    def _cpu_seconds(self) -> dict[str, float]:
        return {node.name: cgroups.cpu_seconds(node) for node in self.bed.topology.nodes}

    def _utilisation(self, before: dict[str, float], seconds: float) -> dict[str, float]:
        """Of what each node's quota allowed; sidecars and everything else of the node included."""
        now = self._cpu_seconds()
        return {
            node.name: (now[node.name] - before[node.name]) / (seconds * node.spec.cpu / 1000 * self.bed.share)
            for node in self.bed.topology.nodes
        }


def _about(measured: float | None, ms: float) -> bool:
    return measured is not None and abs(measured - ms) <= NEAR_SHARE * ms + NEAR_MS


def _only_where_users_enter(objects: list[dict[str, Any]], entry: str, scenario: Scenario) -> list[dict[str, Any]]:
    """A user installs input proxies on all nodes; here those that nobody uses would only take room on small ones."""
    nodes = sorted({node for load in scenario.load if load.service == entry for node in load.sources})
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    for each in objects:
        if each["kind"] == "DaemonSet":
            each["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    return objects


def _holds(pod: dict[str, Any], condition: str, status: str) -> bool:
    return any((one["type"], one["status"]) == (condition, status) for one in pod["status"].get("conditions", []))


def fits_nowhere(pod: dict[str, Any]) -> bool:
    """True if a scheduler has said so: with some placements the rest of an application has no room, as in the simulator."""
    return _holds(pod, "PodScheduled", "False")


def still_coming(objects: list[dict[str, Any]]) -> list[str]:
    """Pods that are neither ready nor told to fit nowhere, and Deployments that have fewer than they should."""
    found = []
    for each in objects:
        if each["kind"] == "Deployment":
            settled = each["status"].get("replicas", 0) >= each["spec"]["replicas"]
        else:
            settled = _holds(each, "Ready", "True") or fits_nowhere(each)
        if not settled:
            found.append(each["metadata"]["name"])
    return found


def entries(scenario: Scenario) -> dict[str, int]:
    """The services at which users enter, each with the port that its input proxies have on their nodes."""
    return {name: PORT + number for number, name in enumerate(dict.fromkeys(load.service for load in scenario.load))}


def record(
    scenario: Scenario,
    sent: list[Sent],
    watching: Watching,
    busy: dict[str, float],
    unplaced: list[str],
    *,
    contender: str,
    trial: int,
) -> Run:
    """The same figures as of a simulated run; what the time went into is not known of a real one."""
    recorder = Recorder(warmup=scenario.warmup, intervals=len(scenario.load))
    for each in sent:
        recorder.begin(each.at, each.phase)
        if each.answered:
            recorder.answer(
                sent=each.at, now=each.at + each.seconds, tag=each.phase, network=0.0, work=0.0, waiting=0.0, disruption=0.0
            )  # fmt: skip
        else:
            recorder.fail(sent=each.at, tag=each.phase, cause=UNANSWERED)
    recorder.close()
    moves = watching.moves(changes(scenario))
    outcome = Outcome(recorder, watching.placement, busy, evictions=len(moves), moves=moves)
    outcome.unplaced = unplaced
    outcome.edge_latency_ms = edge_latency_ms(scenario, watching.placement)
    found = figures(scenario, outcome, policy=contender, trial=trial)
    intervals = [replace_fields(each, breakdown_ms=_NOTHING) for each in found.intervals]
    return replace_fields(
        found,
        breakdown_ms=_NOTHING,
        p95_breakdown_ms=_NOTHING,
        breakdown_with_failures_ms=_NOTHING,
        intervals=intervals,
    )
