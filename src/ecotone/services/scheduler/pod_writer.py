"""Every write a scheduler makes to pods, all under one rule: never outlive the leadership it was made under."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import RESERVATIONS
from ecotone.kube.writing.binding import Bound, bind
from ecotone.kube.writing.eviction import preempt, set_status
from ecotone.model.objects import Pod, Reservation
from ecotone.services.scheduler.volumes import Choice, bind_volumes

log = logging.getLogger(__name__)

WHY = "ecotone.dev/why"
WHY_LIMIT = 1_000


class PodWriter:
    """``deadline`` gives the moment (``time.monotonic``) after which nothing may be sent; None when there is none."""

    def __init__(self, client: ApiClient, *, deadline: Callable[[], float | None], request_timeout: float) -> None:
        self._client = client
        self._deadline = deadline
        self._timeout = request_timeout
        self._told: dict[str, str] = {}

    def out_of_time(self) -> bool:
        deadline = self._deadline()
        return deadline is not None and time.monotonic() >= deadline

    def bind(self, pod: Pod, node: str, *, why: str | None) -> Coroutine[Any, Any, Bound]:
        self._told.pop(pod.uid, None)
        return bind(
            self._client,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            node=node,
            annotations=None if why is None else {WHY: why[:WHY_LIMIT]},
            deadline=self._deadline,
            timeout=self._timeout,
        )

    async def take(self, reservation: Reservation, pod: Pod) -> None:
        """Tells the descheduler, and every scheduler to come, that the place it kept has its pod."""
        try:
            await self._client.patch(
                RESERVATIONS,
                {"status": {"takenBy": pod.uid}},
                name=reservation.name,
                namespace=reservation.namespace,
                subresource="status",
            )
        except ApiError as error:
            if not error.not_found:
                log.warning("reservation %s of %s: %s", reservation.name, pod.key, error)
        except UnreachableError as error:
            log.warning("reservation %s of %s: %s", reservation.name, pod.key, error)

    async def bind_volumes(self, choice: Choice) -> None:
        await bind_volumes(self._client, choice)

    def forget(self, uid: str) -> None:
        """The pod is gone: what was said of it need not be remembered."""
        self._told.pop(uid, None)

    async def unschedulable(self, pod: Pod, message: str) -> None:
        """The PodScheduled condition that autoscalers and people look at; written only when it says something new."""
        if self._told.get(pod.uid) == message:
            return
        if len(self._told) > 50_000:
            self._told.clear()
        self._told[pod.uid] = message
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        await self._status(pod, conditions=[condition])

    async def preempt(self, pod: Pod, node: str, victims: Sequence[Pod], message: str) -> None:
        """Nominates the node first, so that the room is spoken for before it appears, then removes the victims."""
        await self._status(pod, nominated=node)
        reason = f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        removals = [
            preempt(
                self._client,
                namespace=victim.namespace,
                name=victim.name,
                uid=victim.uid,
                message=reason,
                deadline=self._deadline(),
            )
            for victim in victims
        ]
        for victim, answer in zip(victims, await asyncio.gather(*removals, return_exceptions=True), strict=True):
            if isinstance(answer, BaseException):
                log.warning("preempting %s for %s: %s", victim.key, pod.key, answer)
        await self.unschedulable(pod, message)

    async def _status(
        self, pod: Pod, *, conditions: list[dict[str, str]] | None = None, nominated: str | None = None
    ) -> None:
        try:
            await set_status(
                self._client,
                namespace=pod.namespace,
                name=pod.name,
                uid=pod.uid,
                conditions=conditions,
                nominated_node=nominated,
                deadline=self._deadline(),
            )
        except (ApiError, UnreachableError) as error:
            self._told.pop(pod.uid, None)
            log.warning("status of %s: %s", pod.key, error)
