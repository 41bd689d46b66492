"""Every write of the descheduler, and the rights each needs.

    reservations             create, delete      before a move, and when it is over
    pods                     get                 the pod once more, just before it goes
    nodes                    get                 its target once more
    pods/eviction            create              the only way a running pod is asked to leave
    appgroups/status         patch               conditions, moves, breaker
    deployments              get, patch          the record of a surge, written before it begins (``surge``)
    deployments/scale        get, update         one replica more, then one less
    pods                     patch               pod-deletion-cost of the pod that is to go
    events.k8s.io/events     create, patch       ``Moved``

A dry run sends the same requests with ``dryRun: All``: the API server checks and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ecotone.kube.client import APPLY_PATCH, ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.resources import APP_GROUPS, NODES, PODS, RESERVATIONS
from ecotone.kube.writing.eviction import Evicted, EvictionOutcome, evict
from ecotone.manifests.reading.pods import DELETION_COST, PINS
from ecotone.model.objects import Pod, Reservation
from ecotone.services.descheduler.moves import time_text
from ecotone.services.descheduler.restraint import LEAVING

log = logging.getLogger(__name__)

MANAGER = "ecotone-descheduler"
BY = "ecotone.dev/by"
"""On a reservation: which replica of the descheduler wrote it."""


class _Owner(msgspec.Struct):
    name: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[_Owner] = []


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Conditions(msgspec.Struct):
    conditions: list[_Condition] = []


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _PodSpec
    status: _Conditions = msgspec.field(default_factory=_Conditions)


class _PodList(msgspec.Struct):
    items: list[_Pod] = []


class _ReservationSpec(msgspec.Struct):
    kind: str = ""
    workload: str = ""


class _Taker(msgspec.Struct, rename="camel"):
    taken_by: str = ""


class _Reservation(msgspec.Struct):
    metadata: _Meta
    spec: _ReservationSpec
    status: _Taker = msgspec.field(default_factory=_Taker)


class _ReservationList(msgspec.Struct):
    items: list[_Reservation] = []


class _Taint(msgspec.Struct):
    key: str = ""


class _NodeSpec(msgspec.Struct):
    unschedulable: bool = False
    taints: list[_Taint] = []


class _Node(msgspec.Struct):
    metadata: _Meta
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _Conditions = msgspec.field(default_factory=_Conditions)


@dataclass(frozen=True, slots=True)
class Refusal:
    why: str


def amounts(pod: Pod) -> dict[str, str]:
    """What the pod's template asks for, as Kubernetes writes it."""
    return {name: f"{value}m" if name == "cpu" else str(value) for name, value in pod.spec.requests}


class MoveWriter:
    def __init__(self, client: ApiClient, *, identity: str, dry_run: bool) -> None:
        self._client = client
        self._identity = identity
        self.dry_run = dry_run

    async def reserve(self, pod: Pod, target: str, *, expires: float) -> Refusal | None:
        """Named after the pod that goes: whoever comes second, another descheduler for example, gets a conflict.

        Written first and looked around afterwards: of two deschedulers that take different pods of one workload at the
        same time, at least one sees the other's reservation, and steps back.
        """
        spec = {
            "kind": pod.kind.workload.kind,
            "workload": pod.kind.workload.name,
            "podTemplateHash": pod.template_hash,
            "node": target,
            "resources": amounts(pod),
            "replacesUID": pod.uid,
            "expires": time_text(expires),
            "priority": pod.spec.priority,
        }
        body = {
            "apiVersion": RESERVATIONS.api_version,
            "kind": RESERVATIONS.kind,
            "metadata": {
                "name": pod.uid,
                "labels": {"app.kubernetes.io/managed-by": MANAGER},
                "annotations": {BY: self._identity},
            },
            "spec": spec,
        }
        try:
            await self._client.create(RESERVATIONS, body, namespace=pod.namespace, dry_run=self.dry_run)
        except ApiError as error:
            if error.conflict:
                return Refusal("a reservation for it exists: another descheduler is at it")
            return Refusal(f"its place cannot be reserved: {error.detail}")
        if await self._somebody_else(pod):
            await self.unreserve(namespace=pod.namespace, name=pod.uid)
            return Refusal("another descheduler moves a pod of its workload")
        return None

    async def _somebody_else(self, pod: Pod) -> bool:
        """True if a reservation for this workload, not taken yet, is another's."""
        listed = await self._client.request("GET", RESERVATIONS.path(namespace=pod.namespace))
        workload = pod.kind.workload
        return any(
            (each.spec.kind, each.spec.workload) == (workload.kind, workload.name)
            and each.metadata.name != pod.uid
            and not each.status.taken_by
            and each.metadata.labels.get("app.kubernetes.io/managed-by") == MANAGER
            and each.metadata.annotations.get(BY) != self._identity
            for each in decode(listed, _ReservationList).items
        )

    async def ready_mates(self, pod: Pod, *, leaving: Collection[str] = ()) -> int:
        """Other pods of the same workload and revision that answer now, counted on the server and not in our mirror.

        Those on nodes that are `leaving` do not count: they are called ready until somebody has noticed.
        """
        query = {"labelSelector": f"pod-template-hash={pod.template_hash}"} if pod.template_hash else {}
        listed = await self._client.request("GET", PODS.path(namespace=pod.namespace), query=query)
        return sum(
            each.metadata.uid != pod.uid
            and each.metadata.deletion_timestamp is None
            and each.spec.node_name not in leaving
            and any(owner.name == (pod.owner or "/").split("/", 1)[1] for owner in each.metadata.owner_references)
            and any(one.type == "Ready" and one.status == "True" for one in each.status.conditions)
            for each in decode(listed, _PodList).items
        )

    async def unreserve(self, *, namespace: str, name: str) -> bool:
        """True if there was one to remove."""
        if self.dry_run:
            return False
        try:
            await self._client.delete(RESERVATIONS, name=name, namespace=namespace)
        except ApiError as error:
            if not error.not_found:
                log.warning("reservation %s/%s: %s", namespace, name, error)
            return False
        return True

    async def expire(self, reservation: Reservation) -> bool:
        return await self.unreserve(namespace=reservation.namespace, name=reservation.name)

    async def still_true(self, pod: Pod, target: str) -> Refusal | None:
        """The two objects a decision rests on, read once more: our mirrors may be seconds behind."""
        try:
            path = PODS.path(namespace=pod.namespace, name=pod.name)
            now = decode(await self._client.request("GET", path), _Pod)
            if now.metadata.uid != pod.uid or now.spec.node_name != pod.node or now.metadata.deletion_timestamp:
                return Refusal("the pod has changed since the decision")
            if any(now.metadata.annotations.get(key) == value for key, value in PINS):
                return Refusal("the pod's annotations forbid it now")
            there = decode(await self._client.request("GET", NODES.path(name=target)), _Node)
        except ApiError as error:
            return Refusal(f"the pod or its target is gone: {error.detail}")
        if there.spec.unschedulable or any(taint.key in LEAVING for taint in there.spec.taints):
            return Refusal(f"{target} has been cordoned or marked for removal")
        if any(one.type == "Ready" and one.status != "True" for one in there.status.conditions):
            return Refusal(f"{target} is not ready")
        return None

    async def evict(self, pod: Pod) -> Evicted:
        try:
            return await evict(self._client, namespace=pod.namespace, name=pod.name, uid=pod.uid, dry_run=self.dry_run)
        except ApiError as error:
            return Evicted(EvictionOutcome.REFUSED, error.detail)

    async def price(self, pod: Pod, cost: int) -> None:
        """The uid in the patch is the precondition: a namesake that came later is refused."""
        body = {"metadata": {"uid": pod.uid, "annotations": {DELETION_COST: str(cost)}}}
        try:
            await self._client.patch(PODS, body, name=pod.name, namespace=pod.namespace, dry_run=self.dry_run)
        except ApiError as error:
            log.info("deletion cost of %s: %s", pod.key, error)

    async def status(self, *, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Server-side apply: the monitor's conditions in the same list stay the monitor's."""
        if self.dry_run:
            return
        body = {
            "apiVersion": APP_GROUPS.api_version,
            "kind": APP_GROUPS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "status": status,
        }
        path = APP_GROUPS.path(namespace=namespace, name=name, subresource="status")
        query = {"fieldManager": MANAGER, "force": "true"}
        await self._client.request("PATCH", path, body=body, query=query, content_type=APPLY_PATCH)
