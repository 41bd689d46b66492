"""Jobs and the processes that carry them out.

Every request becomes a job in a bounded queue; a few worker processes take them in order. A worker that dies, is
killed, or overstays its job's time takes only that job with it: the job fails with a reason and a new process takes
its place. Finished jobs are kept for a while and up to a number, then forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from ecotone.services.resolver_api import Job, JobState, PlacementAnswer, PlacementRequest, Problem, StageAnswer
from ecotone.services.resolver_worker import LENGTH, Message, frame

log = logging.getLogger(__name__)

LARGEST_FRAME = 64 << 20


class QueueFullError(Exception):
    """More jobs wait than this service accepts."""


@dataclass(slots=True)
class Entry:
    """A job's own life: what it is, how far it is, who waits for it."""

    id: str
    request: PlacementRequest
    state: JobState = "queued"
    progress: list[StageAnswer] = field(default_factory=list)
    answer: PlacementAnswer | None = None
    error: Problem | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    ended_at: float | None = None
    worker: int | None = None

    def shown(self) -> Job:
        return Job(
            id=self.id,
            state=self.state,
            policy=self.request.policy,
            progress=list(self.progress),
            answer=self.answer,
            error=self.error,
        )


@dataclass(frozen=True, slots=True)
class JobLimits:
    """`grace` is what a worker may take beyond its solver's limit: reading, heuristics, writing."""

    workers: int = 2
    waiting: int = 200
    kept: int = 500
    kept_seconds: float = 600.0
    grace: float = 20.0
    memory: int = 4 << 30


class Jobs:
    def __init__(self, limits: JobLimits | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or JobLimits()
        self._clock = clock
        self._jobs: dict[str, Entry] = {}
        self._queue: asyncio.Queue[Entry] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: dict[int, asyncio.subprocess.Process] = {}

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work(slot)) for slot in range(self.limits.workers)]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for slot in list(self._processes):
            await self._end(slot)

    @property
    def waiting(self) -> int:
        return sum(entry.state == "queued" for entry in self._jobs.values())

    def workers(self) -> dict[int, int]:
        """Process ids by slot, of the workers alive now."""
        return {slot: process.pid for slot, process in self._processes.items() if process.returncode is None}

    def submit(self, request: PlacementRequest) -> Entry:
        self._forget()
        if self.waiting >= self.limits.waiting:
            raise QueueFullError
        entry = Entry(id=secrets.token_urlsafe(16), request=request)
        self._jobs[entry.id] = entry
        self._queue.put_nowait(entry)
        return entry

    def find(self, job_id: str) -> Entry | None:
        self._forget()
        return self._jobs.get(job_id)

    async def cancel(self, entry: Entry) -> None:
        """A waiting job is dropped; a running one loses its worker."""
        if entry.state == "queued":
            self._finish(entry, "cancelled")
        elif entry.state == "running":
            self._finish(entry, "cancelled")
            if entry.worker is not None:
                await self._end(entry.worker)

    def _forget(self) -> None:
        now = self._clock()
        ended = [entry for entry in self._jobs.values() if entry.ended_at is not None]
        for entry in ended:
            assert entry.ended_at is not None
            if now - entry.ended_at > self.limits.kept_seconds:
                del self._jobs[entry.id]
        surplus = len([entry for entry in ended if entry.id in self._jobs]) - self.limits.kept
        for entry in sorted(ended, key=lambda each: each.ended_at or 0.0)[: max(surplus, 0)]:
            self._jobs.pop(entry.id, None)

    def _finish(self, entry: Entry, state: JobState, error: Problem | None = None) -> None:
        if entry.ended_at is None:
            entry.state, entry.error, entry.ended_at = state, error, self._clock()
            entry.finished.set()

    async def _work(self, slot: int) -> None:
        while True:
            entry = await self._queue.get()
            if entry.state != "queued":
                continue
            entry.state, entry.worker = "running", slot
            seconds = entry.request.time_limit_seconds + self.limits.grace
            try:
                async with asyncio.timeout(seconds):
                    await self._carry_out(entry, slot)
            except TimeoutError:
                await self._end(slot)
                self._finish(entry, "failed", Problem(code="timeout", message=f"no answer within {seconds:g} s"))
            except (OSError, EOFError, ValueError) as error:
                await self._end(slot)
                log.warning("a resolver worker was lost: %s", error or type(error).__name__)
                lost = Problem(code="worker-lost", message="the solver process ended before it answered; submit again")
                self._finish(entry, "failed", lost)
            except asyncio.CancelledError:
                self._finish(entry, "failed", Problem(code="shutdown", message="the service is shutting down"))
                raise

    async def _carry_out(self, entry: Entry, slot: int) -> None:
        process = await self._process(slot)
        if entry.ended_at is not None:
            return  # cancelled while its worker was still starting: there was nothing to kill yet
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(frame(msgspec.json.encode(entry.request)))
        await process.stdin.drain()
        while True:
            message = await _receive(process.stdout)
            if message.progress is not None:
                entry.progress.append(message.progress)
                continue
            if entry.ended_at is None:
                entry.answer = message.answer
            self._finish(entry, "failed" if message.error is not None else "done", message.error)
            return

    async def _process(self, slot: int) -> asyncio.subprocess.Process:
        process = self._processes.get(slot)
        if process is None or process.returncode is not None:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "ecotone.services.resolver_worker",
                "--memory",
                str(self.limits.memory),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LARGEST_FRAME,
            )
            self._processes[slot] = process
        return process

    async def _end(self, slot: int) -> None:
        process = self._processes.pop(slot, None)
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _receive(stream: asyncio.StreamReader) -> Message:
    size = int.from_bytes(await stream.readexactly(LENGTH), "big")
    if size > LARGEST_FRAME:
        raise ValueError("a worker sent more than it should")
    return msgspec.json.decode(await stream.readexactly(size), type=Message)
