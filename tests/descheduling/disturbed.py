"""A small cluster that carries plans out, with everything in its way that happens to clusters; drawn from a seed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from random import Random

from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import plan as plans_in
from ecotone.descheduling.plans.plan import MovePlan, Rescue, Step
from ecotone.model import ClusterState, Evict, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.objects import DisruptionBudget, Reservation
from ecotone.model.selectors import LabelSelector
from ecotone.scheduling.profiles.descheduler import PLANS

LIMIT = 70.0  # seconds for a stage: the profile's start and patience
CAP = 3
NODES = ("a", "b", "c", "d")
WAITING = "default/waiting-0"


@dataclass
class Disturbed:
    """`lands`, `starts`, ...: how probable it is that things go as they were meant to."""

    seed: int
    draw: Random = field(init=False)
    state: ClusterState = field(init=False)
    plan: MovePlan = field(init=False)
    said: dict[tuple[WorkloadKey, str], int] = field(init=False, default_factory=dict)
    asked: dict[tuple[WorkloadKey, str], set[str]] = field(init=False, default_factory=dict)
    made: int = 0
    lost: bool = False
    comes: list[tuple[float, str, str]] = field(init=False, default_factory=list)
    """When a pod is bound, ready, deleted, ...: time, what, key."""

    def __post_init__(self) -> None:
        draw = self.draw = Random(self.seed)
        self.lands, self.starts, self.flaps, self.meddles = (draw.choice((0.0, 0.05, 0.3, 1.0)) for _ in range(4))
        self.state = ClusterState(now=1000.0)
        cpu = draw.choice((500, 1000, 4000))
        self.state.set_nodes(Node(name, {"cpu": cpu, "memory": 1 << 33, "pods": 50}) for name in NODES)
        self.workloads = [WorkloadKey("default", name) for name in ("one", "two", "three")[: draw.randint(1, 3)]]
        for key in self.workloads:
            replicas = draw.randint(1, 4)
            self.state.put_workload(Workload(key, replicas=replicas))
            for _ in range(replicas):
                self._put(key, draw.choice(NODES), ready=True)
        self.plan = self._plan()
        for step in self.plan.steps:
            where = (step.workload, step.origin)
            self.said[where] = self.said.get(where, 0) + 1
        self.standing = {(pod.kind.workload, pod.node or ""): set[str]() for pod in self.state.usage.pods()}
        for pod in self.state.usage.pods():
            self.standing[pod.kind.workload, pod.node or ""].add(pod.uid)
        self.state.memory = plans_in.write({}, [self.plan])
        if draw.random() < 0.2:
            chosen = draw.choice(self.workloads)
            selector = LabelSelector.of_labels({"app": chosen.name})
            self.state.set_budgets([DisruptionBudget("default", "keep", selector, draw.randint(0, 1))])

    def _plan(self) -> MovePlan:
        draw, pods = self.draw, {key: self.pods(key) for key in self.workloads}
        steps = []
        for key, there in pods.items():
            surge = len(there) == 1
            for pod in draw.sample(there, draw.randint(0, len(there))):
                target = draw.choice([name for name in NODES if name != pod.node])
                steps.append(Step(key, pod.node or "", target, surge))
        if not steps:
            pod = pods[self.workloads[0]][0]
            steps.append(
                Step(
                    pod.kind.workload,
                    pod.node or "",
                    "a" if pod.node != "a" else "b",
                    len(pods[pod.kind.workload]) == 1,
                )
            )
        draw.shuffle(steps)
        stages = []
        while steps:
            size = draw.randint(1, CAP)
            stages.append(tuple(steps[:size]))
            del steps[:size]
        rescue = None
        if draw.random() < 0.5:
            rescue = Rescue(WAITING, "a")
            spec = PodSpec(requests=(("cpu", 100_000),), nonzero=(100_000, 0))
            kind = PodKind("default", WorkloadKey("default", "waiting"), spec=spec)
            self.state.put_pod(Pod("waiting-0", "u-waiting-0", kind, owner="rs"))
        return MovePlan.beginning(
            tuple(stages), pods, at=self.state.now, limit=LIMIT, here=100.0, there=10.0, order="waves", rescue=rescue
        )

    def pods(self, key: WorkloadKey) -> list[Pod]:
        """Those that run and are not on their way out."""
        return sorted(
            (pod for pod in self.state.usage.pods() if pod.kind.workload == key and pod.is_peer),
            key=lambda pod: pod.key,
        )

    # What the cluster does

    def _put(self, key: WorkloadKey, node: str | None, *, ready: bool = False) -> Pod:
        self.made += 1
        spec = PodSpec(requests=(("cpu", 200),), nonzero=(200, 0))
        kind = PodKind("default", key, labels=(("app", key.name),), spec=spec)
        name = f"{key.name}-{self.made}"
        pod = Pod(
            name, f"u-{name}", kind, node=node, phase="Running", ready=ready, owner="rs", bound_at=1.0 if node else None
        )
        self.state.put_pod(pod)
        return pod

    def _later(self, what: str, key: str, seconds: float) -> None:
        self.comes.append((self.state.now + seconds, what, key))

    def evict(self, move: Evict) -> None:
        pod = self.state.find_pod(move.pod)
        if pod is None or self.draw.random() < 0.1:  # refused, or lost on its way
            return
        if self.draw.random() < 0.8:
            held = Reservation(
                name=f"move-{pod.name}", namespace="default", workload=pod.kind.workload, template_hash="",
                node=move.target, requests=(("cpu", 200),), replaces_uid=pod.uid, expires=self.state.now + 120.0,
            )  # fmt: skip
            self.state.set_reservations((*self.state.reservations, held))
        comer = self._put(pod.kind.workload, None)
        landing = move.target
        if self.draw.random() < self.lands:
            landing = self.draw.choice([*NODES, pod.node or "a"])
        self._later(f"bind {landing}", comer.key, self.draw.choice((0.0, 0.0, 2.0, 40.0)))
        if move.surge:
            self._later(f"succeed {comer.key}", pod.key, 1.0)
        else:
            self._end(pod)

    def _end(self, pod: Pod) -> None:
        self.state.put_pod(replace(pod, ready=False, deleting=True))
        self._later("gone", pod.key, self.draw.choice((0.0, 5.0, 30.0)))

    def passes(self, seconds: float) -> None:
        """Time, with what comes in it."""
        self.state.now += seconds
        while due := [each for each in self.comes if each[0] <= self.state.now]:
            for each in due:
                self.comes.remove(each)
                self._happens(each[1].split(), each[2])
        expired = [each for each in self.state.reservations if each.expires > self.state.now]
        self.state.set_reservations(expired)

    def _happens(self, what: list[str], key: str) -> None:
        pod = self.state.find_pod(key)
        if pod is None:
            return
        match what:
            case ["bind", node] if pod.node is None:
                there = node if node in self.state.nodes.index else self.state.nodes.names[0]
                self.state.put_pod(replace(pod, node=there, bound_at=self.state.now))
                held = next((r for r in self.state.reservations if r.workload == pod.kind.workload), None)
                self.state.set_reservations(each for each in self.state.reservations if each is not held)
                if self.draw.random() >= self.starts:
                    self._later("ready", key, self.draw.choice((0.0, 5.0, 30.0)))
            case ["ready"] if not pod.deleting and pod.node is not None:
                self.state.put_pod(replace(pod, ready=True))
            case ["gone"]:
                self.state.drop_pod(key)
            case ["succeed", other]:
                comer = self.state.find_pod(other)
                if comer is not None and comer.ready:
                    self._end(pod)
                elif comer is not None:
                    self._later(f"succeed {other}", key, 1.0)

    def disturb(self) -> None:
        """Somebody else does something, or a node does."""
        draw, state = self.draw, self.state
        running = sorted((pod for pod in state.usage.pods() if pod.is_peer), key=lambda pod: pod.key)
        if running and draw.random() < self.flaps:
            pod = draw.choice(running)
            state.put_pod(replace(pod, ready=False))
            if draw.random() < 0.8:
                self._later("ready", pod.key, draw.choice((0.0, 5.0, 40.0)))
        if draw.random() >= 0.3 * self.meddles:
            return
        match draw.choice(("delete", "delete", "up", "down", "node", "forget", "json", "back", "cordon")):
            case "delete" if running:
                pod = draw.choice(running)
                self._end(pod)
                comer = self._put(pod.kind.workload, None)
                self._later(f"bind {draw.choice((pod.node or 'a', draw.choice(NODES)))}", comer.key, 1.0)
            case "up":
                key = draw.choice(self.workloads)
                self._scale(key, +1)
                self._later(f"bind {draw.choice(NODES)}", self._put(key, None).key, 1.0)
            case "down":
                key = draw.choice(self.workloads)
                there = self.pods(key)
                if there:
                    self._scale(key, -1)
                    self._end(draw.choice(there))
            case "node" if len(state.nodes) > 2:
                gone = draw.choice(state.nodes.names)
                for pod in [pod for pod in running if pod.node == gone]:
                    state.drop_pod(pod.key)
                    comer = self._put(pod.kind.workload, None)
                    self._later(f"bind {draw.choice(NODES)}", comer.key, 1.0)
                for pod in [pod for pod in state.usage.pods() if pod.node == gone]:
                    state.drop_pod(pod.key)
                state.set_nodes([node for node in tuple(state.nodes.nodes) if node.name != gone])
            case "forget" if draw.random() < 0.2:
                state.memory, self.lost = {}, True
            case "json":
                state.memory = json.loads(json.dumps(state.memory))
            case "back":
                state.now -= draw.choice((0.5, 30.0))
            case "cordon":
                name = draw.choice(state.nodes.names)
                state.set_nodes(
                    replace(node, unschedulable=not node.unschedulable) if node.name == name else node
                    for node in tuple(state.nodes.nodes)
                )

    def _scale(self, key: WorkloadKey, by: int) -> None:
        known = self.state.workloads[key]
        self.state.put_workload(replace(known, replicas=(known.replicas or 0) + by))

    # What the descheduler does

    def round(self) -> list[Evict]:
        """One round; what it asks for is counted, and held against what was said."""
        settings = replace(PLANS, max_moves=CAP, min_gain=1e9, only=frozenset(self.workloads))
        decisions, memory = deschedule(self.state.freeze(), "ecotone", settings)
        self.state.memory = dict(memory)
        moves = [each for each in decisions if isinstance(each, Evict)]
        for move in moves:
            pod = self.state.find_pod(move.pod)
            assert pod is not None and pod.node == move.origin and not pod.deleting
            where = (pod.kind.workload, move.origin)
            assert pod.uid in self.standing.get(where, set()), "a pod that came after the plan began"
            self.asked.setdefault(where, set()).add(pod.uid)
            assert len(self.asked[where]) <= self.said.get(where, 0), "more evictions than it said"
        assert len(moves) <= CAP
        return moves

    @property
    def under_way(self) -> bool:
        return plans_in.under_way(self.state.memory)
