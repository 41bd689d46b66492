"""Carrying out a plan, decision by decision, each with the preconditions it was made under.

A plan is made on a snapshot and the cluster moves on. So every write names the uid of the pod it was decided for, and a
pod that changed meanwhile is left alone and reported. ``rehearse`` asks the API server to validate without doing (server
side dry run) where it can, and prints the same lines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import PODS
from ecotone.kube.writing.binding import Outcome, bind, binding
from ecotone.kube.writing.eviction import EvictionOutcome, evict, preempt
from ecotone.manifests.reading.pods import DELETION_COST
from ecotone.model.decisions import Bind, Decision, DeletionCost, Evict, Preempt, Wait
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot

WHY = "ecotone.dev/why"


@dataclass(frozen=True)
class Step:
    """One decision and what became of it."""

    action: str
    pod: str
    target: str
    done: bool
    detail: str = ""

    @property
    def name(self) -> str:
        return f"pod/{self.pod}"

    def as_document(self) -> dict[str, Any]:
        return {"action": self.action, "pod": self.pod, "node": self.target, "done": self.done, "detail": self.detail}


async def carry_out(
    client: ApiClient, snapshot: Snapshot, decisions: Sequence[Decision], *, rehearse: bool
) -> AsyncIterator[Step]:
    pods = {pod.key: pod for pod in snapshot.pods()}
    for decision in decisions:
        pod = pods.get(decision.pod)
        if isinstance(decision, Wait) or pod is None:
            continue
        try:
            match decision:
                case Bind():
                    yield await _bind(client, decision, pod, rehearse=rehearse)
                case Evict():
                    yield await _evict(client, decision, pod, rehearse=rehearse)
                case DeletionCost():
                    yield await _price(client, decision, pod, rehearse=rehearse)
                case Preempt():
                    async for step in _preempt(client, decision, pods, rehearse=rehearse):
                        yield step
        except (ApiError, UnreachableError) as error:
            yield Step(type(decision).__name__.lower(), decision.pod, "", done=False, detail=str(error))


async def _bind(client: ApiClient, decision: Bind, pod: Pod, *, rehearse: bool) -> Step:
    if rehearse:
        body = binding(namespace=pod.namespace, name=pod.name, uid=pod.uid, node=decision.node)
        path = PODS.path(namespace=pod.namespace, name=pod.name, subresource="binding")
        await client.request("POST", path, body=body, query={"dryRun": "All"})
        return Step("bind", decision.pod, decision.node, done=True)
    result = await bind(
        client,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        node=decision.node,
        annotations={WHY: decision.why[:1000]},
        timeout=10,
    )
    good = result.outcome is Outcome.BOUND
    return Step("bind", decision.pod, decision.node, done=good, detail="" if good else result.detail)


async def _price(client: ApiClient, decision: DeletionCost, pod: Pod, *, rehearse: bool) -> Step:
    """The uid in the patch is the precondition: a pod of the same name that came later is refused with a conflict."""
    body = {"metadata": {"uid": pod.uid, "annotations": {DELETION_COST: str(decision.cost)}}}
    await client.patch(PODS, namespace=pod.namespace, name=pod.name, body=body, dry_run=rehearse)
    return Step("deletion-cost", decision.pod, str(decision.cost), done=True)


async def _evict(client: ApiClient, decision: Evict, pod: Pod, *, rehearse: bool) -> Step:
    if decision.surge:
        why = "the only ready pod: its replacement has to be started first, which `serve descheduler` does"
        return Step("evict", decision.pod, decision.target, done=False, detail=why)
    result = await evict(client, namespace=pod.namespace, name=pod.name, uid=pod.uid, dry_run=rehearse)
    good = result.outcome is EvictionOutcome.EVICTED
    return Step("evict", decision.pod, decision.target, done=good, detail=result.detail)


async def _preempt(
    client: ApiClient, decision: Preempt, pods: dict[str, Pod], *, rehearse: bool
) -> AsyncIterator[Step]:
    """The victims go; the pod itself is bound by a later plan, once they are gone."""
    for key in decision.victims:
        victim = pods.get(key)
        if victim is None:
            continue
        if rehearse:
            await client.delete(PODS, name=victim.name, namespace=victim.namespace, uid=victim.uid, dry_run=True)
            yield Step("preempt", key, decision.node, done=True, detail=f"for {decision.pod}")
            continue
        gone = await preempt(
            client,
            namespace=victim.namespace,
            name=victim.name,
            uid=victim.uid,
            message=f"preempted to accommodate {decision.pod}",
        )
        yield Step("preempt", key, decision.node, done=gone, detail=f"for {decision.pod}")
