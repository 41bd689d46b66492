"""What the scheduler tells people: events in kube-scheduler's words, and records for ``ecotone explain``."""

from __future__ import annotations

from typing import Any

from ecotone.kube.writing.events import EventRecorder, Regarding
from ecotone.model.decisions import Decision, Preempt, as_document
from ecotone.model.objects import Pod
from ecotone.scheduling.profiles.profile import Profile
from ecotone.services.scheduler.overcommit import Overcommitment


def about(pod: Pod) -> Regarding:
    return Regarding("Pod", pod.namespace, pod.name, pod.uid)


def scheduled(recorder: EventRecorder, pod: Pod, node: str) -> None:
    note = f"Successfully assigned {pod.key} to {node}"
    recorder.once(about(pod), reason="Scheduled", action="Binding", note=note)


def failed(recorder: EventRecorder, pod: Pod, why: str) -> None:
    recorder.event(about(pod), reason="FailedScheduling", action="Scheduling", note=why, warning=True)


def preempted(recorder: EventRecorder, victim: Pod, *, by: Pod, node: str) -> None:
    recorder.event(
        about(victim),
        reason="Preempted",
        action="Preempting",
        note=f"Preempted by pod {by.uid} on node {node}",
        related=about(by),
    )


def overcommitted(recorder: EventRecorder, found: Overcommitment) -> None:
    # Like the kubelet's, a node's events carry its name as uid: that is what kubectl describe looks for.
    node = Regarding("Node", "", found.node, found.node)
    recorder.event(node, reason="OverCommitted", action="Checking", note=str(found), warning=True)


def short_record(profile: Profile, pod: Pod, decision: Decision) -> dict[str, Any]:
    """The decision itself; the figures per node come from ``full_record``."""
    answer = {"policy": profile.name, "node": None, **as_document(decision)}
    if isinstance(decision, Preempt):
        # The pod waits for its victims to go: the node is nominated, not chosen.
        answer |= {"node": None, "nominated": decision.node}
    return {"pod": pod.key, **answer}
