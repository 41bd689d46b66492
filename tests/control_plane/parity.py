"""One case on both sides: the real kube-scheduler's verdict, and ours on the same objects."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from control_plane.cluster import Cluster, collection
from control_plane.kube_log import SchedulerLog
from control_plane.parity_cases import PEACEFUL, PRIORITIES, Case
from control_plane.processes import Child, wait_until
from ecotone.manifests import wire
from ecotone.manifests.store import ObjectStore
from ecotone.model.decisions import Preempt, Wait
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import decide, diagnose, framework_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.kubernetes.preemption.default_preemption import _Candidate, _hopeless, _Trial
from ecotone.scheduling.profiles.policies import resolve

KUBE_SCHEDULER = {"percentageOfNodesToScore": 100}
FLAGS = ["--feature-gates=OpportunisticBatching=false"]
SETTLE_SECONDS = (0.06, 0.4, 1.5)


@dataclass
class Verdict:
    """Who is feasible, what each plugin gave (weighted), who is best, or why nobody is."""

    feasible: set[str] = field(default_factory=set)
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    message: str = ""
    chosen: str | None = None
    nominated: set[str] = field(default_factory=set)
    """Where room is made for it; ours: every node where that hurts as little."""

    @property
    def best(self) -> set[str]:
        if not self.totals:
            return self.feasible
        top = max(self.totals.values())
        return {name for name, total in self.totals.items() if total == top}


class Arena:
    """A cluster with a real kube-scheduler that logs its scores."""

    def __init__(self, cluster: Cluster, config: dict[str, Any] | None = None) -> None:
        self.cluster = cluster
        cluster.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "blue"}}}
        )
        for name, value in PRIORITIES.items():
            cluster.create(
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                    "preemptionPolicy": "Never" if name in PEACEFUL else "PreemptLowerPriority",
                }
            )
        self.scheduler: Child = cluster.start_kube_scheduler(
            {**KUBE_SCHEDULER, **(config or {})}, verbosity=10, flags=FLAGS
        )
        self.log = SchedulerLog(self.scheduler.log)
        self.namespaces = [
            self._shape(cluster.call("GET", f"/api/v1/namespaces/{name}")) for name in ("default", "other")
        ]

    def _shape(self, one: dict[str, Any]) -> tuple[str, Any]:
        kind = one["kind"]
        return kind, msgspec.json.decode(msgspec.json.encode(one), type=wire.KINDS[kind].shape)

    def compare(self, case: Case) -> list[tuple[str, Verdict, Verdict]]:
        """For every pod of the case: name, theirs, ours. Later pods see the earlier ones where kube put them."""
        for attempt, settle in enumerate(SETTLE_SECONDS):
            try:
                results = self._run(case, settle)
            finally:
                self._clear()
            if attempt == len(SETTLE_SECONDS) - 1 or not any(differences(*pair[1:]) for pair in results):
                return results
        raise AssertionError

    def _run(self, case: Case, settle: float) -> list[tuple[str, Verdict, Verdict]]:
        made = [self._shape(self._create(one)) for one in (*case.nodes, *case.services, *case.bound)]
        # The scheduler's caches follow by watch; a case that raced them is repeated with more patience.
        time.sleep(settle)
        results = []
        for one in case.pods:
            key = f"{one['metadata']['namespace']}/{one['metadata']['name']}"
            self.log.read()
            self.log.forget(key)
            _, shaped = self._shape(self._create(one))
            theirs, seen = self._theirs(key)
            ours = judge([*self.namespaces, *made], shaped)
            if theirs.chosen and self._somebody_left(made):
                # Its victims were gone before we looked: it is bound where it had been nominated to.
                theirs = Verdict(nominated={theirs.chosen}, message=ours.message)
            results.append((key, theirs, ours))
            if theirs.chosen:
                made.append(self._shape(seen))
            else:
                # It would be retried behind our back and change the cluster that the next pod meets.
                self.cluster.call("DELETE", f"/api/v1/namespaces/{key.replace('/', '/pods/')}?gracePeriodSeconds=0")
            if theirs.nominated:
                break  # its victims are going, at a moment of their own
        return results

    def _somebody_left(self, made: list[tuple[str, Any]]) -> bool:
        there = {
            one["metadata"]["uid"]
            for namespace in ("default", "other")
            for one in self.cluster.list(f"/api/v1/namespaces/{namespace}/pods")
            if "deletionTimestamp" not in one["metadata"]
        }
        return any(kind == "Pod" and one.metadata.uid not in there for kind, one in made)

    def _create(self, one: dict[str, Any]) -> dict[str, Any]:
        return {**self.cluster.call("POST", collection(one), one), "kind": one["kind"]}

    def _theirs(self, key: str) -> tuple[Verdict, dict[str, Any]]:
        namespace, name = key.split("/")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        seen: dict[str, Any] = {}

        def decided() -> bool:
            seen.clear()
            seen.update(self.cluster.call("GET", path))
            return bool(seen["spec"].get("nodeName")) or bool(_unschedulable(seen))

        wait_until(decided, timeout=20, what=f"verdict on {key}", child=self.scheduler, every=0.01)
        self.log.read()
        scores = {node: dict(plugins) for node, plugins in self.log.scores.get(key, {}).items()}
        chosen = seen["spec"].get("nodeName")
        verdict = Verdict(set(scores), scores, dict(self.log.finals.get(key, {})), _unschedulable(seen), chosen)
        if chosen and not scores:
            verdict.feasible = {chosen}
        if not chosen and "nominatedNodeName" in seen["status"]:
            verdict.nominated = {seen["status"]["nominatedNodeName"]}
        return verdict, seen

    def _clear(self) -> None:
        for namespace in ("default", "other"):
            self.cluster.call("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
            for service in self.cluster.list(f"/api/v1/namespaces/{namespace}/services"):
                if service["metadata"]["name"] != "kubernetes":
                    self.cluster.call(
                        "DELETE", f"/api/v1/namespaces/{namespace}/services/{service['metadata']['name']}"
                    )
        self.cluster.call("DELETE", "/api/v1/nodes")


def _unschedulable(pod: dict[str, Any]) -> str:
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", "?"))
    return ""


def judge(objects: list[tuple[str, Any]], pending: Any) -> Verdict:
    """Our kube-default on these objects."""
    store = ObjectStore(ClusterState())
    store.load([*objects, ("Pod", pending)])
    view = store.sink.freeze()
    pod = store.sink.pending[f"{pending.metadata.namespace}/{pending.metadata.name}"]
    evaluation = Evaluation(framework_of(resolve("kube-default")), Cycle(ClusterState.of(view), pod))
    names = view.nodes.names
    if evaluation.refusal is not None or not len(evaluation.feasible):
        (decision,) = decide(view, "kube-default", pods=[pod]).decisions
        if isinstance(decision, Preempt):
            return Verdict(message=diagnose(evaluation)[1], nominated=equally_good(evaluation, decision))
        assert isinstance(decision, Wait)
        return Verdict(message=f"{decision.why} {decision.no_room}".rstrip())
    feasible = [names[row] for row in evaluation.feasible]
    verdict = Verdict(set(feasible))
    if len(feasible) > 1:
        verdict.totals = {name: round(float(total)) for name, total in zip(feasible, evaluation.total(), strict=True)}
        for place, name in enumerate(feasible):
            verdict.scores[name] = {
                term.scorer.name: round(float(term.share[place])) for term in evaluation.terms if term.share is not None
            }
    return verdict


def equally_good(evaluation: Evaluation, decision: Preempt) -> set[str]:
    """Nodes that would lose victims of the same worth as the chosen one; start times, here all alike, aside."""
    nodes = evaluation.cycle.state.nodes
    resolvable = set(np.flatnonzero(~_hopeless(evaluation)).tolist())
    trial = _Trial(evaluation.cycle, evaluation)
    costs = {name: trial.on(row) for name, row in nodes.index.items() if row in resolvable}
    worth = {name: found.cost(0)[:4] for name, found in costs.items() if isinstance(found, _Candidate)}
    return {name for name, cost in worth.items() if cost == worth[decision.node]}


def differences(theirs: Verdict, ours: Verdict) -> list[str]:
    """What is not the same, in words; empty when both agree."""
    found = []
    if theirs.feasible != ours.feasible:
        found.append(f"feasible: theirs {sorted(theirs.feasible)}, ours {sorted(ours.feasible)} {ours.message}")
        return found
    if not theirs.feasible:
        if theirs.message != ours.message:
            found.append(f"message: theirs {theirs.message!r}, ours {ours.message!r}")
        if bool(theirs.nominated) != bool(ours.nominated) or not theirs.nominated <= ours.nominated:
            found.append(f"nominated: theirs {theirs.nominated}, ours {ours.nominated}")
        return found
    for node, plugins in sorted(theirs.scores.items()):
        for plugin, score in sorted(plugins.items()):
            mine_score = ours.scores[node].get(plugin, 0)
            if mine_score != score:
                found.append(f"{plugin} on {node}: theirs {score}, ours {mine_score}")
    if theirs.chosen not in ours.best:
        found.append(f"chosen: theirs {theirs.chosen}, our best {sorted(ours.best)}")
    return found
