"""Moving the only ready pod of a Deployment: one replica more first, and the old pod goes when that is ready.

Only for Deployments that nobody else scales (no HorizontalPodAutoscaler). Before anything is changed the intent is written
into an annotation of the Deployment: replicas as they were, the pod to go, its target and since when. Every later step is
found again from that record alone, so a crash at any point is completed, or taken back, by whoever leads next:

    recorded, replicas as before        ->  mark the old pod as the cheapest to delete, one replica more
    one more, replacement not ready     ->  wait; after the time limit one replica less again
    one more, replacement ready         ->  one replica less; the ReplicaSet removes the marked pod
    replicas as before, old pod gone    ->  erase the record

Each write names the version it was decided on, so a person or a pipeline that scales meanwhile is never overwritten: the
record is then erased and their number stands.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import msgspec

from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import DEPLOYMENTS, HPAS, PODS, is_subdomain
from ecotone.manifests.reading.pods import DELETION_COST
from ecotone.model.errors import InputError, OutsideError
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.services.descheduler.moves import Move

log = logging.getLogger(__name__)

RECORD = "ecotone.dev/surge"
CHEAPEST = "-2147483647"
LIMIT_SECONDS = 300.0


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _Spec(msgspec.Struct):
    replicas: int = 1
    paused: bool = False


class _Deployment(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _Target(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _HpaSpec(msgspec.Struct, rename="camel"):
    scale_target_ref: _Target


class _Hpa(msgspec.Struct):
    spec: _HpaSpec


class _HpaList(msgspec.Struct):
    items: list[_Hpa] = []


class _DeploymentList(msgspec.Struct):
    items: list[_Deployment] = []


@dataclass(frozen=True, slots=True)
class Record:
    """What the annotation holds."""

    replicas: int
    uid: str
    pod: str
    target: str
    since: float

    def text(self) -> str:
        return msgspec.json.encode(self).decode()


def read_record(text: str) -> Record | None:
    """What an annotation holds; None if it holds no record. Whoever may edit the Deployment may have written it."""
    try:
        found = msgspec.json.decode(text, type=Record)
    except msgspec.MsgspecError:
        return None
    return found if is_subdomain(found.pod) and is_subdomain(found.target) and found.replicas >= 0 else None


def next_step(record: Record, replicas: int, pods: list[Pod], *, now: float) -> str:
    """What comes next: grow, shrink, undo, wait or done. ``pods`` are the Deployment's own, not on their way out."""
    old = any(pod.uid == record.uid for pod in pods)
    others = [pod for pod in pods if pod.uid != record.uid and pod.ready]
    late = now - record.since > LIMIT_SECONDS
    if replicas == record.replicas:
        if not old:
            return "done"
        if late:
            return "undo"
        # More pods than are asked for: the ReplicaSet has yet to take one away, and growing again would keep it from that.
        return "wait" if len(pods) > record.replicas else "grow"
    if replicas == record.replicas + 1:
        if not old or len(others) >= record.replicas:
            return "shrink"
        return "shrink" if late else "wait"
    return "done"


class Surges:
    def __init__(self, client: ApiClient, *, dry_run: bool) -> None:
        self._client = client
        self._dry_run = dry_run
        self._records: dict[WorkloadKey, Record] = {}
        self._ended: dict[str, str] = {}
        self._looked_at: set[str] = set()
        """Namespaces in which no record can be that we do not know of."""

    def under_way(self) -> frozenset[WorkloadKey]:
        return frozenset(self._records)

    def ended(self, move: Move) -> str | None:
        """None while it goes on, "" when the old pod has gone for its replacement, else why it was taken back."""
        if move.workload in self._records:
            return None
        return self._ended.pop(move.uid, "its record is gone")

    def look_again(self) -> None:
        """Somebody else may have led meanwhile."""
        self._looked_at.clear()

    async def find(self, namespaces: set[str]) -> None:
        """Records that somebody before us left behind; a namespace that cannot be read holds up no other."""
        for namespace in sorted(namespaces - self._looked_at):
            try:
                listed = await self._client.request("GET", DEPLOYMENTS.path(namespace=namespace))
                deployments = decode(listed, _DeploymentList).items
            except (OutsideError, InputError) as error:
                log.warning("surges of namespace %s: %s", namespace, error)
                continue
            for each in deployments:
                record = read_record(each.metadata.annotations.get(RECORD, ""))
                if record is not None:
                    self._records[WorkloadKey(namespace, each.metadata.name, "Deployment")] = record
            self._looked_at.add(namespace)
        self._looked_at &= namespaces

    async def impossible(self, pod: Pod) -> str | None:
        workload = pod.kind.workload
        if workload.kind != "Deployment":
            return f"a {workload.kind} is not scaled for a move"
        if workload in self._records:
            return "one is under way"
        try:
            listed = await self._client.request("GET", HPAS.path(namespace=workload.namespace))
        except ApiError as error:
            return f"autoscalers cannot be read: {error.detail}"
        for each in decode(listed, _HpaList).items:
            if (each.spec.scale_target_ref.kind, each.spec.scale_target_ref.name) == ("Deployment", workload.name):
                return "an autoscaler sets its replicas"
        deployment = await self._get(workload)
        return "it is paused" if deployment is None or deployment.spec.paused else None

    async def begin(self, pod: Pod, target: str, *, now: float) -> str | None:
        """Writes the record; the steps follow in ``advance``."""
        workload = pod.kind.workload
        deployment = await self._get(workload)
        if deployment is None:
            return "its Deployment is gone"
        record = Record(deployment.spec.replicas, pod.uid, pod.name, target, now)
        try:
            await self._annotate(deployment, {RECORD: record.text()})
        except ApiError as error:
            return f"the surge cannot be recorded: {error.detail}"
        except UnreachableError:
            self._looked_at.discard(workload.namespace)
            raise
        if not self._dry_run:
            self._records[workload] = record
        return None

    async def advance(self, view: Snapshot) -> None:
        """One step of every surge under way; a failure concerns that one alone."""
        for workload, record in list(self._records.items()):
            try:
                await self._advance(workload, record, view)
            except (ApiError, UnreachableError) as error:
                log.warning("surge of %s: %s", workload, error)
            except Exception:
                log.exception("surge of %s: its record cannot be carried out and is forgotten", workload)
                self._finish(workload, record, "its record cannot be carried out")

    async def _advance(self, workload: WorkloadKey, record: Record, view: Snapshot) -> None:
        deployment = await self._get(workload)
        if deployment is None or RECORD not in deployment.metadata.annotations:
            # Erased by somebody, or by us in a write whose answer was lost.
            gone = not any(pod.uid == record.uid for pod in view.pods())
            self._finish(workload, record, "" if gone else "its record was removed by somebody else")
            return
        pods = [pod for pod in view.pods() if pod.kind.workload == workload and not pod.deleting and not pod.terminal]
        step = next_step(record, deployment.spec.replicas, pods, now=view.now)
        log.info("surge of %s: %s", workload, step)
        match step:
            case "grow":
                await self._price(record, workload, CHEAPEST)
                await self._scale(workload, before=record.replicas, after=record.replicas + 1)
            case "shrink":
                await self._scale(workload, before=record.replicas + 1, after=record.replicas)
            case "undo" | "done":
                gone = not any(pod.uid == record.uid for pod in pods)
                if not gone:
                    await self._price(record, workload, None)
                await self._annotate(deployment, {RECORD: None})
                self._finish(workload, record, "" if gone else "no replacement became ready in time")

    def _finish(self, workload: WorkloadKey, record: Record, why: str) -> None:
        self._records.pop(workload, None)
        self._ended[record.uid] = why
        while len(self._ended) > 1000:
            self._ended.pop(next(iter(self._ended)))

    async def _get(self, workload: WorkloadKey) -> _Deployment | None:
        path = DEPLOYMENTS.path(namespace=workload.namespace, name=workload.name)
        try:
            return decode(await self._client.request("GET", path), _Deployment)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def _annotate(self, deployment: _Deployment, annotations: dict[str, str | None]) -> None:
        meta = deployment.metadata
        body = {"metadata": {"resourceVersion": meta.resource_version, "annotations": annotations}}
        await self._client.patch(DEPLOYMENTS, body, name=meta.name, namespace=meta.namespace, dry_run=self._dry_run)

    async def _price(self, record: Record, workload: WorkloadKey, cost: str | None) -> None:
        body = {"metadata": {"uid": record.uid, "annotations": {DELETION_COST: cost}}}
        try:
            await self._client.patch(PODS, body, name=record.pod, namespace=workload.namespace)
        except ApiError as error:
            # A namesake has another uid and is not touched.
            if not error.not_found and not error.conflict and error.status != 422:
                raise

    async def _scale(self, workload: WorkloadKey, *, before: int, after: int) -> None:
        path = DEPLOYMENTS.path(namespace=workload.namespace, name=workload.name, subresource="scale")
        scale: Any = decode(await self._client.request("GET", path), dict[str, Any])
        if scale["spec"].get("replicas", 0) != before:
            return
        scale["spec"]["replicas"] = after
        await self._client.request("PUT", path, body=scale)
