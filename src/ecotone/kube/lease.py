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
from datetime import UTC, datetime

import msgspec

from ecotone.kube.backoff import Backoff
from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.resources import LEASES
from ecotone.model.errors import OutsideError
from ecotone.model.quantity import whole

log = logging.getLogger(__name__)

LONGEST_MILLISECONDS = 86_400_000
DURATION_ANNOTATION = "ecotone.dev/lease-duration-ms"
RELEASE_SECONDS = 2.5


def _nothing() -> None:
    return


class LeaseTimes(msgspec.Struct, frozen=True):
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


class LeaseWatch:
    """Whether somebody holds a lease and renews it: how one program sees that another is at work.

    As with candidates, only a record that changes by our own clock counts; what its times say is another clock's affair.
    """

    def __init__(
        self, client: ApiClient, *, namespace: str, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._clock = clock
        self._record: tuple[str | None, str | None] | None = None
        self._changed_at = float("-inf")
        self._duration = LeaseTimes().duration
        self._missing = "it has not been looked at yet"

    async def look(self) -> None:
        if not self._name:
            return
        try:
            path = LEASES.path(namespace=self._namespace, name=self._name)
            lease = decode(await self._client.request("GET", path, timeout=5.0), _Lease)
        except OutsideError as error:
            self._missing = str(error)
            return
        self._missing = "" if lease.spec.holder_identity else "nobody holds it"
        record = (lease.spec.holder_identity, lease.spec.renew_time)
        if record != self._record:
            # The first look shows a record that may be long dead: it counts once it has been seen to change.
            self._changed_at = self._clock() if self._record is not None else float("-inf")
            self._record = record
        self._duration = _duration(lease, LeaseTimes())

    def complaint(self) -> str | None:
        """None if the holder has renewed within the lease's duration."""
        if self._missing:
            return f"lease {self._namespace}/{self._name}: {self._missing}"
        silent = self._clock() - self._changed_at
        if silent <= self._duration:
            return None
        return f"lease {self._namespace}/{self._name} has not been renewed lately: no scheduler seems to be at work"


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
        turned: Callable[[], None] = _nothing,
    ) -> None:
        """``turned`` is called after every attempt, whatever came of it: the sign of life of the election."""
        self._turned = turned
        self._attempt: asyncio.Future[bool] | None = None
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
        self._recorded = False
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
        while not await self._uncancelled():
            await asyncio.sleep(jitter.next())
        log.info("became leader as %s", self._identity)

    async def hold(self) -> None:
        """Renews until the lease is lost; the caller stops all writes when this returns."""
        while True:
            await asyncio.sleep(min(self._times.retry_period, max(0.0, self._deadline - self._clock())))
            if not await self._uncancelled() and (not self._leading or self._clock() >= self._deadline):
                self._leading = False
                log.warning("lost leadership as %s", self._identity)
                return

    async def announce(self) -> None:
        """Shows others that we are at work, for a program that does not stand for election; never ends by itself."""
        while True:
            if not await self._uncancelled():
                # Another instance shows itself there already, or we may not write: neither is a reason to stop work.
                log.debug("the lease could not be written")
            await asyncio.sleep(self._times.retry_period)

    async def release(self, *, seconds: float = RELEASE_SECONDS) -> None:
        """Hands the lease over instead of letting it run out, also if the API server is slow to answer.

        An attempt that was under way when its waiter was cancelled may still make us leader: it is waited for first.
        """
        end = self._clock() + seconds
        if self._attempt is not None:
            await asyncio.wait({self._attempt}, timeout=seconds)
            self._attempt.cancel()
        self._leading = False
        # Also if our time ran out before a renewal came through: as long as the record names us, others wait for it.
        if not self._recorded:
            return
        self._recorded = False
        try:
            await self._hand_over(end)
        except OutsideError as error:
            log.info("the lease could not be released and runs out instead: %s", error)

    async def _hand_over(self, end: float) -> None:
        while True:
            left = max(0.05, end - self._clock())
            record = self._record(holder="", duration=1.0)
            try:
                await self._client.request("PUT", self._path(), body=record, deadline=time.monotonic() + left)
            except ApiError as error:
                if not error.conflict or self._clock() >= end:
                    raise
            else:
                return
            # A renewal of ours that was given up may have arrived after all; if it is another's now, all is well.
            lease = await self._read(max(0.05, end - self._clock()))
            if lease is None or lease.spec.holder_identity != self._identity:
                return
            self._version = lease.metadata.resource_version

    async def _uncancelled(self) -> bool:
        """One attempt that runs to its end even if the waiter goes: what it wrote must be known to release it."""
        self._attempt = asyncio.ensure_future(self._try())
        try:
            return await asyncio.shield(self._attempt)
        finally:
            self._turned()

    async def _try(self) -> bool:
        """One attempt to take or renew; True when the lease is ours after it."""
        times = self._times
        # While leading, an attempt must end before the deadline, and may not eat the whole of it either. A candidate has
        # nothing to lose: where every answer is slow, somebody must still be able to lead.
        least = (times.renew_deadline - times.retry_period) / (2 if self._leading else 1)
        budget = max(times.retry_period, least)
        try:
            lease = await self._read(budget)
            if lease is None:
                sent = self._clock()
                await self._create(budget)
            else:
                self._observe(lease)
                if lease.spec.holder_identity not in (None, "", self._identity):
                    self._leading = self._recorded = False
                    if self._clock() - self._observed_at < _duration(lease, self._times):
                        return False
                if not self._leading:
                    self.transitions = (lease.spec.lease_transitions or 0) + 1
                    self._acquired = ""
                self._version = lease.metadata.resource_version
                record = self._record(holder=self._identity, duration=self._times.duration)
                sent = self._clock()
                await self._write("PUT", self._path(), record, budget)
        except OutsideError as error:
            if isinstance(error, ApiError) and error.conflict:
                log.debug("another candidate wrote the lease first")
            else:
                log.warning("lease: %s", error)
            return False
        self._leading = self._recorded = True
        self._deadline = sent + self._times.renew_deadline
        return True

    def _observe(self, lease: _Lease) -> None:
        record = (lease.spec.holder_identity, lease.spec.renew_time, lease.metadata.resource_version)
        if record != self._observed_record:
            self._observed_record = record
            self._observed_at = self._clock()

    async def _read(self, timeout: float) -> _Lease | None:
        try:
            # The deadline covers repetitions, too: an attempt as a whole must stay shorter than the lease.
            answer = await self._client.request("GET", self._path(), deadline=time.monotonic() + timeout)
            return decode(answer, _Lease)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def _create(self, timeout: float) -> None:
        self._version = ""
        record = self._record(holder=self._identity, duration=self._times.duration)
        await self._write("POST", LEASES.path(namespace=self._namespace), record, timeout)

    async def _write(self, method: str, path: str, record: dict[str, object], timeout: float) -> None:
        answer = await self._client.request(method, path, body=record, deadline=time.monotonic() + timeout)
        self._version = decode(answer, _Lease).metadata.resource_version

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
    exact = whole(lease.metadata.annotations.get(DURATION_ANNOTATION, ""), most=LONGEST_MILLISECONDS)
    if exact is not None:
        return exact / 1000
    return float(lease.spec.lease_duration_seconds or times.duration)
