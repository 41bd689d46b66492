"""Jobs and the processes that carry them out.

Every request becomes a job in a bounded queue; a few worker processes take them in order. A worker that dies, is
killed, or overstays its job's time takes only that job with it: the job fails with a reason and a new process takes
its place. Finished jobs are kept for a while, up to a number and up to a size, then forgotten.

What a client sends is kept as the bytes it sent, counted against one budget while the job waits, and dropped as soon as
a worker has it or the job ends. Answers are kept as the bytes the worker sent. Nothing else grows with a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ecotone.services.resolver.api import JobState, PlacementRequest, Policy, Problem, StageAnswer
from ecotone.services.resolver.worker import COMMAND, LENGTH, frame

log = logging.getLogger(__name__)

LARGEST_FRAME = 64 << 20
SHUTDOWN = Problem(code="shutdown", message="the service is shutting down; submit again")


class QueueFullError(Exception):
    """More jobs, or more bytes, wait than this service accepts."""


class _Received(msgspec.Struct):
    """A worker's message (`worker.Message`), its answer left as it came."""

    progress: StageAnswer | None = None
    answer: msgspec.Raw = msgspec.Raw()
    error: Problem | None = None


@dataclass(slots=True)
class Entry:
    """A job's own life: what it is, how far it is, who waits for it. `body` is gone once nobody needs it."""

    id: str
    policy: Policy
    time_limit: float
    body: bytes | None
    state: JobState = "queued"
    progress: list[StageAnswer] = field(default_factory=list)
    answer: bytes | None = None
    error: Problem | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    ended_at: float | None = None
    worker: int | None = None

    def shown(self) -> dict[str, object]:
        """An `api.Job`, with the answer's bytes as they came."""
        return {
            "id": self.id,
            "state": self.state,
            "policy": self.policy,
            "progress": self.progress,
            "answer": None if self.answer is None else msgspec.Raw(self.answer),
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class JobLimits:
    """`grace` is what a worker may take beyond its solver's limit: reading, heuristics, writing.

    `waiting_bytes` is the budget of requests that wait, `kept_bytes` that of answers nobody has forgotten yet. A worker
    that holds more than `idle_memory` after a job is replaced.
    """

    workers: int = 2
    waiting: int = 200
    waiting_bytes: int = 64 << 20
    kept: int = 500
    kept_bytes: int = 64 << 20
    kept_seconds: float = 600.0
    grace: float = 20.0
    memory: int = 4 << 30
    idle_memory: int = 256 << 20


class Jobs:
    def __init__(self, limits: JobLimits | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or JobLimits()
        self._clock = clock
        self._jobs: dict[str, Entry] = {}
        self._queue: dict[str, Entry] = {}
        self._arrived = asyncio.Event()
        self._held = 0
        self._stopped = False
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: dict[int, asyncio.subprocess.Process] = {}

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work(slot)) for slot in range(self.limits.workers)]

    async def stop(self) -> None:
        """Every job that has not ended fails with a reason, so that whoever waits for it is answered."""
        self._stopped = True
        for entry in list(self._jobs.values()):
            self._finish(entry, "failed", SHUTDOWN)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for slot in list(self._processes):
            await self._end(slot)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def held_bytes(self) -> int:
        """Of requests that still wait."""
        return self._held

    def workers(self) -> dict[int, int]:
        """Process ids by slot, of the workers alive now."""
        return {slot: process.pid for slot, process in self._processes.items() if process.returncode is None}

    def submit(self, request: PlacementRequest, body: bytes | None = None) -> Entry:
        """`body` is the request as it was sent, if it is at hand."""
        self._forget()
        body = msgspec.json.encode(request) if body is None else body
        full = len(self._queue) >= self.limits.waiting or self._held + len(body) > self.limits.waiting_bytes
        if full or self._stopped:
            raise QueueFullError
        entry = Entry(
            id=secrets.token_urlsafe(16), policy=request.policy, time_limit=request.time_limit_seconds, body=body
        )
        self._jobs[entry.id] = self._queue[entry.id] = entry
        self._held += len(body)
        self._arrived.set()
        return entry

    def find(self, job_id: str) -> Entry | None:
        self._forget()
        return self._jobs.get(job_id)

    async def cancel(self, entry: Entry) -> None:
        """A waiting job is dropped; a running one loses its worker."""
        running = entry.state == "running"
        self._finish(entry, "cancelled")
        if running and entry.worker is not None:
            await self._end(entry.worker)

    def _forget(self) -> None:
        """Jobs whose time is over go, then the oldest of those that are too many or too large together."""
        ended = sorted(
            (entry for entry in self._jobs.values() if entry.ended_at is not None),
            key=lambda entry: entry.ended_at or 0.0,
        )
        oldest_kept = self._clock() - self.limits.kept_seconds
        kept_bytes = sum(len(entry.answer or b"") for entry in ended)
        for number, entry in enumerate(ended):
            too_many = len(ended) - number > self.limits.kept or kept_bytes > self.limits.kept_bytes
            if (entry.ended_at or 0.0) >= oldest_kept and not too_many:
                break
            del self._jobs[entry.id]
            kept_bytes -= len(entry.answer or b"")

    def _finish(self, entry: Entry, state: JobState, error: Problem | None = None) -> None:
        if entry.ended_at is None:
            entry.state, entry.error, entry.ended_at = state, error, self._clock()
            self._queue.pop(entry.id, None)
            self._take_body(entry)
            entry.finished.set()

    def _take_body(self, entry: Entry) -> bytes:
        """Takes the body out of the job and returns it: its memory is freed with the caller's reference."""
        body, entry.body = entry.body or b"", None
        self._held -= len(body)
        return body

    async def _next(self) -> Entry:
        while not self._queue:
            self._arrived.clear()
            await self._arrived.wait()
        return self._queue.pop(next(iter(self._queue)))

    async def _work(self, slot: int) -> None:
        while True:
            entry = await self._next()
            entry.state, entry.worker = "running", slot
            seconds = entry.time_limit + self.limits.grace
            try:
                async with asyncio.timeout(seconds):
                    await self._carry_out(entry, slot)
            except TimeoutError:
                await self._end(slot)
                self._finish(entry, "failed", Problem(code="timeout", message=f"no answer within {seconds:g} s"))
            except (OSError, EOFError, ValueError) as error:
                await self._end(slot)
                if entry.ended_at is None:  # else it was cancelled, which ends its worker
                    log.warning("a resolver worker was lost: %s", error or type(error).__name__)
                lost = Problem(code="worker-lost", message="the solver process ended before it answered; submit again")
                self._finish(entry, "failed", lost)
            except asyncio.CancelledError:
                self._finish(entry, "failed", SHUTDOWN)
                raise

    async def _carry_out(self, entry: Entry, slot: int) -> None:
        process = await self._process(slot)
        if entry.ended_at is not None:
            return  # cancelled while its worker was still starting: there was nothing to kill yet
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(frame(self._take_body(entry)))
        await process.stdin.drain()
        while True:
            message = await _receive(process.stdout)
            if message.progress is not None:
                entry.progress.append(message.progress)
                continue
            if entry.ended_at is None and message.error is None:
                entry.answer = bytes(message.answer)
            self._finish(entry, "failed" if message.error is not None else "done", message.error)
            break
        if _resident_bytes(process.pid) > self.limits.idle_memory:
            await self._end(slot)

    async def _process(self, slot: int) -> asyncio.subprocess.Process:
        process = self._processes.get(slot)
        if process is None or process.returncode is not None:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                COMMAND,
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


def _resident_bytes(pid: int) -> int:
    """What a process holds in memory; 0 where that cannot be seen."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()


async def _receive(stream: asyncio.StreamReader) -> _Received:
    size = int.from_bytes(await stream.readexactly(LENGTH), "big")
    if size > LARGEST_FRAME:
        raise ValueError("a worker sent more than it should")
    return msgspec.json.decode(await stream.readexactly(size), type=_Received)
