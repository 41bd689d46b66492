"""Leader election on a Lease object, and the honest answer to "may I still act?".

As in client-go, a candidate takes the lease when its record has not changed for the lease's duration *by the
candidate's own clock*, so clocks need not agree. The API server fences nothing: a leader that was paused can wake up
after another took over. Two things bound the harm. ``deadline()`` is the moment until which no other candidate can
have taken over, counted from before the renewal was sent; every write of a leader carries it, so nothing starts or is
still awaited after it. And binding has a precondition of its own (binding.py), so even a write from a stale leader
cannot bind a pod twice.

Kubernetes stores the duration in whole seconds. Tests and edge sites want shorter ones: the exact duration travels in
an annotation, and the stored one is rounded up for other readers.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from ecotone.kube.backoff import Backoff
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import LEASES

log = logging.getLogger(__name__)

DURATION_ANNOTATION = "ecotone.dev/lease-duration-ms"


@dataclass(frozen=True)
class LeaseTimes:
    """client-go's three periods; the defaults are kube-scheduler's."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError("lease periods must satisfy 0 < retry < renew deadline < duration")


class _LeaseMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: _LeaseMeta
    spec: _LeaseSpec


class Elector:
    """One candidate for one lease."""

    def __init__(
        self,
        client: ApiClient,
        *,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._times = times or LeaseTimes()
        self._clock = clock
        self._observed_record: tuple[str | None, str | None, str] | None = None
        self._observed_at = float("-inf")
        self._acquired = ""
        self._deadline = float("-inf")
        self._leading = False
        self._version = ""
        self.transitions = 0

    @property
    def leading(self) -> bool:
        return self._leading and self._clock() < self._deadline

    def deadline(self) -> float:
        """Until this moment (``time.monotonic``) no other candidate can have taken the lease."""
        return self._deadline if self._leading else float("-inf")

    async def acquire(self) -> None:
        """Returns when this candidate leads."""
        jitter = Backoff(first=self._times.retry_period, limit=self._times.retry_period)
        while not await self._try():
            await asyncio.sleep(jitter.next())
        log.info("became leader as %s", self._identity)

    async def hold(self) -> None:
        """Renews until the lease is lost; the caller stops all writes when this returns."""
        while True:
            await asyncio.sleep(min(self._times.retry_period, max(0.0, self._deadline - self._clock())))
            if not await self._try() and (not self._leading or self._clock() >= self._deadline):
                self._leading = False
                log.warning("lost leadership as %s", self._identity)
                return

    async def release(self) -> None:
        """Hands the lease over at once instead of letting it run out."""
        if not self._leading:
            return
        self._leading = False
        record = self._record(holder="", duration=1.0)
        try:
            await self._client.request("PUT", self._path(), body=record, timeout=self._times.retry_period)
        except (ApiError, UnreachableError) as error:
            log.info("the lease could not be released and runs out instead: %s", error)

    async def _try(self) -> bool:
        """One attempt to take or renew; True when the lease is ours after it."""
        started = self._clock()
        # While leading, an attempt must end before the deadline; it may not eat the whole of it either.
        budget = max(self._times.retry_period, (self._times.renew_deadline - self._times.retry_period) / 2)
        try:
            lease = await self._read(budget)
            if lease is None:
                await self._create(budget)
            else:
                self._observe(lease)
                if lease.spec.holder_identity not in (None, "", self._identity):
                    self._leading = False
                    if self._clock() - self._observed_at < _duration(lease, self._times):
                        return False
                if not self._leading:
                    self.transitions = (lease.spec.lease_transitions or 0) + 1
                    self._acquired = ""
                self._version = lease.metadata.resource_version
                record = self._record(holder=self._identity, duration=self._times.duration)
                await self._write("PUT", self._path(), record, budget)
        except ApiError as error:
            if error.conflict:
                log.debug("another candidate wrote the lease first")
            else:
                log.warning("lease: %s", error)
            return False
        except UnreachableError as error:
            log.warning("lease: %s", error)
            return False
        self._leading = True
        self._deadline = started + self._times.renew_deadline
        return True

    def _observe(self, lease: _Lease) -> None:
        record = (lease.spec.holder_identity, lease.spec.renew_time, lease.metadata.resource_version)
        if record != self._observed_record:
            self._observed_record = record
            self._observed_at = self._clock()

    async def _read(self, timeout: float) -> _Lease | None:
        try:
            return msgspec.json.decode(await self._client.request("GET", self._path(), timeout=timeout), type=_Lease)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def _create(self, timeout: float) -> None:
        self._version = ""
        record = self._record(holder=self._identity, duration=self._times.duration)
        await self._write("POST", LEASES.path(namespace=self._namespace), record, timeout)

    async def _write(self, method: str, path: str, record: dict[str, object], timeout: float) -> None:
        answer = await self._client.request(method, path, body=record, timeout=timeout)
        self._version = msgspec.json.decode(answer, type=_Lease).metadata.resource_version

    def _path(self) -> str:
        return LEASES.path(namespace=self._namespace, name=self._name)

    def _record(self, *, holder: str, duration: float) -> dict[str, object]:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._acquired = self._acquired or now
        metadata: dict[str, object] = {
            "name": self._name,
            "namespace": self._namespace,
            "annotations": {DURATION_ANNOTATION: str(round(duration * 1000))},
        }
        if self._version:
            # The precondition that makes two candidates' writes exclude each other.
            metadata["resourceVersion"] = self._version
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": max(1, math.ceil(duration)),
                "acquireTime": self._acquired,
                "renewTime": now,
                "leaseTransitions": self.transitions,
            },
        }


def _duration(lease: _Lease, times: LeaseTimes) -> float:
    exact = lease.metadata.annotations.get(DURATION_ANNOTATION, "")
    if exact.isdigit():
        return int(exact) / 1000
    return float(lease.spec.lease_duration_seconds or times.duration)
