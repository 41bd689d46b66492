"""The resolver's memory: what it holds of a request, and for how long; and that it stays small under hostile clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from ecotone.experiments.pogonip.instances import edge_cluster
from ecotone.placement.problem.taxi import scenario_1
from ecotone.services.resolver.api import PlacementRequest
from ecotone.services.resolver.jobs import JobLimits, Jobs, QueueFullError
from services.resolver.resolver_server import as_request

ROOT = Path(__file__).resolve().parents[3]
HARD = as_request(edge_cluster(nodes=80, applications=30, classes=None, seed=5), timeLimitSeconds=120)
EASY = msgspec.convert(as_request(scenario_1(), policy="pogonip"), PlacementRequest)
MEBI = 1 << 20


def contradiction(size: int) -> bytes:
    """A request of about this many bytes that has the right shape and makes no sense."""
    body: dict[str, Any] = json.loads(json.dumps(as_request(scenario_1())))
    node = body["infrastructure"]["nodes"][0]
    count = size // (len(json.dumps(node)) + 240)
    body["infrastructure"]["nodes"] += [{**node, "name": f"{i:0200}"} for i in range(min(count, 4_900))]
    body["infrastructure"]["nodes"].append(node)
    return json.dumps(body).encode().ljust(size)


def without_workers(limits: JobLimits, scene: Any) -> Any:
    async def live() -> Any:
        jobs = Jobs(limits)
        try:
            return await scene(jobs)
        finally:
            await jobs.stop()

    return asyncio.run(live())


def test_cancelled_jobs_leave_the_queue_and_their_requests_with_them() -> None:
    async def scene(jobs: Jobs) -> None:
        for _ in range(3_000):
            entry = jobs.submit(EASY, b" " * 1000)
            await jobs.cancel(entry)
            assert entry.body is None
        assert (jobs.waiting, jobs.held_bytes) == (0, 0)
        kept = [jobs.submit(EASY, b" ") for _ in range(5)]
        assert jobs.waiting == 5
        with pytest.raises(QueueFullError):
            jobs.submit(EASY, b" ")
        await jobs.cancel(kept[2])
        jobs.submit(EASY, b" ")

    without_workers(JobLimits(waiting=5), scene)


def test_requests_that_wait_are_budgeted_in_bytes() -> None:
    async def scene(jobs: Jobs) -> None:
        first = jobs.submit(EASY, b" " * 600)
        with pytest.raises(QueueFullError):
            jobs.submit(EASY, b" " * 600)
        await jobs.cancel(first)
        jobs.submit(EASY, b" " * 600)

    without_workers(JobLimits(waiting_bytes=1_000), scene)


def test_a_request_is_dropped_when_its_job_ends() -> None:
    async def scene(jobs: Jobs) -> None:
        await jobs.start()
        good = jobs.submit(EASY)
        bad = jobs.submit(EASY, contradiction(100_000))
        await asyncio.wait_for(asyncio.gather(good.finished.wait(), bad.finished.wait()), 60)
        assert (good.state, bad.state) == ("done", "failed")
        assert good.body is None and bad.body is None and jobs.held_bytes == 0
        assert good.answer is not None and msgspec.json.decode(good.answer)["policy"] == "pogonip"

    without_workers(JobLimits(workers=1), scene)


def test_answers_are_kept_up_to_a_size() -> None:
    async def scene(jobs: Jobs) -> list[bool]:
        await jobs.start()
        entries = []
        for _ in range(4):
            entries.append(jobs.submit(EASY))
            await asyncio.wait_for(entries[-1].finished.wait(), 60)
        assert 300 < len(entries[0].answer or b"") < 1_500
        return [jobs.find(entry.id) is not None for entry in entries]

    assert without_workers(JobLimits(workers=1), scene) == [True] * 4
    small = JobLimits(workers=1, kept_bytes=1_500)
    kept = without_workers(small, scene)
    assert kept[-1] and not kept[0]


def test_whoever_waits_at_shutdown_is_told_so() -> None:
    async def scene(jobs: Jobs) -> list[Any]:
        entries = [jobs.submit(EASY) for _ in range(3)]
        await jobs.stop()
        with pytest.raises(QueueFullError):
            jobs.submit(EASY)
        return [(entry.finished.is_set(), entry.error and entry.error.code) for entry in entries]

    assert without_workers(JobLimits(), scene) == [(True, "shutdown")] * 3


class Served:
    """`ecotone serve resolver` in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url

    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE")

    def health_seconds(self) -> float:
        begin = time.monotonic()
        with urllib.request.urlopen(self.url + "/healthz", timeout=20) as answer:
            assert answer.read() == b"ok"
        return time.monotonic() - begin


@contextmanager
def served(*options: str) -> Iterator[Served]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ecotone", "serve", "resolver", f"--listen=127.0.0.1:{port}", *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, env=env)
    found = Served(process, f"http://127.0.0.1:{port}")
    try:
        end = time.monotonic() + 30
        while True:
            try:
                found.health_seconds()
                break
            except (OSError, urllib.error.URLError):
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.05)
        yield found
    finally:
        process.kill()
        process.wait(10)


PULSE = """
import sys, time, urllib.request
longest = asked = 0
while not sys.stdin.closed:
    begin = time.monotonic()
    assert urllib.request.urlopen(sys.argv[1] + "/healthz", timeout=20).read() == b"ok"
    longest, asked = max(longest, time.monotonic() - begin), asked + 1
    print(asked, longest, flush=True)
    time.sleep(0.01)
"""


@contextmanager
def pulse(server: Served) -> Iterator[list[float]]:
    """Asks for `/healthz` again and again while the block runs, from a process of its own.

    It beats when the block begins. Tells how often it asked, the longest it waited, and how long the block took.
    """
    found: list[float] = []
    process = subprocess.Popen([sys.executable, "-c", PULSE, server.url], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline()
    begin = time.monotonic()
    try:
        yield found
    finally:
        seconds = time.monotonic() - begin
        process.terminate()
        lines = process.communicate(timeout=30)[0].splitlines()
        found += [*(float(word) for word in lines[-1].split()), seconds]


async def hostile(url: str) -> dict[int, int]:
    """500 requests: contradictions, jobs that are cancelled, bodies that are no JSON, too large, or come half."""
    seen: dict[int, int] = {}
    gate = asyncio.Semaphore(16)
    large, garbage = contradiction(5 * MEBI), b"[" * (4 * MEBI)
    waits = {**HARD, "asynchronous": True}
    headers = {"Content-Type": "application/json"}
    limit = aiohttp.ClientTimeout(total=120)

    async with aiohttp.ClientSession(timeout=limit, connector=aiohttp.TCPConnector(limit=16)) as session:

        async def post(data: bytes) -> tuple[int, dict[str, Any]]:
            try:
                async with gate, session.post(url + "/v1/placements", data=data, headers=headers) as response:
                    status, answer = response.status, await response.json(content_type=None)
            except aiohttp.ClientError:  # turned away while it was still sending
                status, answer = 0, {}
            seen[status] = seen.get(status, 0) + 1
            return status, answer

        async def cancelled() -> None:
            status, job = await post(json.dumps(waits).encode())
            if status == 202:
                await session.delete(f"{url}/v1/jobs/{job['id']}")

        async def half() -> None:
            port = int(url.rsplit(":", 1)[1])
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/placements HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
            writer.write(b"Content-Length: 5000000\r\n\r\n" + b" " * MEBI)
            with contextlib.suppress(ConnectionResetError):  # the server may turn it away while it is still sending
                await writer.drain()
            writer.close()

        await asyncio.gather(*(post(large) for _ in range(60)))
        await asyncio.gather(*(cancelled() for _ in range(200)))
        await asyncio.gather(*(post(garbage) for _ in range(120)))
        await asyncio.gather(*(post(b" " * (9 * MEBI)) for _ in range(20)), return_exceptions=True)
        await asyncio.gather(*(half() for _ in range(100)))
    return seen


@pytest.mark.alone
def test_500_hostile_requests_leave_it_small_and_attentive() -> None:
    with served("--wait=30") as server:
        before = server.resident()
        with pulse(server) as felt:
            seen = asyncio.run(hostile(server.url))
        assert sum(seen.values()) == 400 and 200 not in seen
        assert seen.get(422, 0) > 0 and seen.get(202, 0) > 0 and seen.get(400, 0) > 0
        assert server.resident() - before < 256 * MEBI
        asked, longest, seconds = felt
        assert longest < 1.0 and seconds / asked < 0.1  # a crowd that is served soon has time for fewer beats


def test_a_client_that_waits_when_it_is_told_to_stop_gets_503() -> None:
    with served("--wait=60", "--workers=1") as server:
        outcome: list[int] = []

        def wait() -> None:
            request = urllib.request.Request(
                server.url + "/v1/placements",
                data=json.dumps(HARD).encode(),
                headers={"Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    outcome.append(answer.status)
            except urllib.error.HTTPError as error:
                outcome.append(error.code)

        clients = [threading.Thread(target=wait, daemon=True) for _ in range(3)]
        for client in clients:
            client.start()
        metric = "ecotone_resolver_jobs_waiting 2.0"
        end = time.monotonic() + 30
        while metric not in urllib.request.urlopen(server.url + "/metrics").read().decode():
            assert time.monotonic() < end
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 0
        for client in clients:
            client.join(10)
        assert outcome == [503, 503, 503]
