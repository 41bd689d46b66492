"""The extender's port: who may bind, and what hostile callers cost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.cli import main as ecotone
from ecotone.model.errors import InputError
from ecotone.services.extender.program import ExtenderProgram
from ecotone.services.extender.settings import ExtenderSettings
from fair.waits import patience
from services.fake_api import FakeApi, node, pod, serving
from services.http_requests import get, post, raw

JSON = "Content-Type: application/json"
TOKEN = "a-token-of-enough-characters"
BEARER = f"Authorization: Bearer {TOKEN}"
SOURCES = str(Path(__file__).resolve().parents[3] / "src")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def extender(**options: Any) -> AsyncIterator[tuple[FakeApi, tuple[str, int]]]:
    async with serving() as api:
        for number in range(3):
            await api.put("nodes", node(f"n{number}"))
        await api.put("pods", pod("vault-1"))
        address = ("127.0.0.1", free_port())
        program = ExtenderProgram(api.connection(), ExtenderSettings(listen=f"127.0.0.1:{address[1]}", **options))
        task = asyncio.create_task(program.run())
        async with asyncio.timeout(20):
            while not await _ready(address):
                await asyncio.sleep(0.02)
        try:
            yield api, address
        finally:
            program.stop()
            await task


async def _ready(address: tuple[str, int]) -> bool:
    with contextlib.suppress(OSError):
        return (await get(address, "/readyz"))[0] == 200
    return False


def binding(uid: str, **more: Any) -> bytes:
    wanted = {"PodName": "vault-1", "PodNamespace": "default", "PodUID": uid, "Node": "n1", **more}
    return json.dumps(wanted).encode()


def test_bind_is_not_there_unless_asked_for() -> None:
    async def main() -> tuple[int, Any]:
        async with extender() as (api, address):
            found = api.find("pods", "vault-1", "default")
            assert found is not None
            status, _ = await post(address, "/bind", binding(found["metadata"]["uid"]), JSON)
            return status, found["spec"].get("nodeName")

    assert asyncio.run(main()) == (404, None)


@pytest.mark.parametrize(
    ("headers", "change", "expected"),
    [
        ((JSON,), {}, 403),
        ((JSON, "Authorization: Bearer another-token-altogether"), {}, 403),
        (("Content-Type: text/plain", BEARER), {}, 415),
        ((JSON, BEARER), {"PodName": "vault-1/eviction"}, 400),
        ((JSON, BEARER), {"PodNamespace": "default/pods"}, 400),
        ((JSON, BEARER), {"Node": "../n1"}, 400),
        ((JSON, BEARER), {"PodUID": ""}, 400),
        ((JSON, BEARER), {}, 200),
    ],
)
def test_bind_is_for_those_who_prove_themselves_and_say_exactly_what(
    headers: tuple[str, ...], change: dict[str, str], expected: int
) -> None:
    async def main() -> tuple[int, Any, list[str]]:
        async with extender(allow_bind=True, bind_token=TOKEN) as (api, address):
            found = api.find("pods", "vault-1", "default")
            assert found is not None
            before = len(api.requests)
            status, _ = await post(address, "/bind", binding(found["metadata"]["uid"], **change), *headers)
            written = [path for method, path, _ in api.requests[before:] if method != "GET"]
            return status, found["spec"].get("nodeName"), written

    status, where, written = asyncio.run(main())
    assert status == expected
    assert where == ("n1" if expected == 200 else None)
    assert written == (["/api/v1/namespaces/default/pods/vault-1/binding"] if expected == 200 else [])


def test_allowing_bind_without_a_way_to_tell_callers_apart_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="prove who they are"):
        ExtenderSettings(allow_bind=True)
    assert ecotone(["serve", "extender", "--allow-bind"]) == 2
    assert "--bind-token-file" in capsys.readouterr().err


def test_too_many_names_are_refused() -> None:
    async def main() -> int:
        async with extender() as (_, address):
            asked = {"Pod": pod("p"), "NodeNames": [f"n{number}" for number in range(20_001)]}
            return (await post(address, "/prioritize", json.dumps(asked).encode(), JSON))[0]

    assert asyncio.run(main()) == 400


def hostile_requests(draw: random.Random) -> list[bytes]:
    """What a scheduler would never send: too much, too deep, too many, or never the rest of it."""
    given = json.dumps(pod("p")).encode()
    node_list = b",".join(b'{"metadata":{"name":"n%d"}}' % number for number in range(60_000))
    bodies = [
        b'{"Pod":' + given + b',"NodeNames":[' + b",".join([b'"x"'] * 900_000) + b"]}",
        b'{"Pod":' + given + b',"NodeNames":[' + b",".join(b'"n%d"' % number for number in range(20_000)) + b"]}",
        b'{"Pod":' + given + b',"Nodes":{"items":[' + node_list + b"]}}",
        b'{"Pod":' + b"[" * 200_000,
        b'{"Pod":{"metadata":{"annotations":{"ecotone.dev/traffic":"{\\"a\\":1' + b"0" * 400 + b'}"}}}}',
        b"\xff" * 100_000,
        b"{}" + b" " * (5 << 20),
    ]
    requests = []
    for _ in range(60):
        path, body = draw.choice(["/filter", "/prioritize", "/preempt", "/bind"]), draw.choice(bodies)
        head = f"POST {path} HTTP/1.1\r\nHost: h.svc\r\n{JSON}\r\nConnection: close\r\n"
        declared = draw.choice([len(body), len(body), 59 << 20, 10])
        whole = f"{head}Content-Length: {declared}\r\n\r\n".encode() + body
        requests.append(draw.choice([whole, whole, head.encode()[: draw.randrange(10, len(head))]]))
    return requests


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no such process")


@asynccontextmanager
async def child(tmp_path: Path, api: FakeApi) -> AsyncIterator[tuple[int, tuple[str, int]]]:
    """``ecotone serve extender`` as a process of its own, so that its memory is its own."""
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": api.address}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    address = ("127.0.0.1", free_port())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import sys; from ecotone.cli import main; sys.exit(main())",
        "serve",
        "extender",
        f"--kubeconfig={file}",
        f"--listen=127.0.0.1:{address[1]}",
        env={**os.environ, "PYTHONPATH": SOURCES},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60):
            while not await _ready(address):
                await asyncio.sleep(0.05)
        yield process.pid, address
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.lasting
def test_five_hundred_hostile_requests(tmp_path: Path) -> None:
    """At most 256 MiB above its start, and a probe is answered within a second throughout."""

    async def main() -> tuple[int, float]:
        draw = random.Random(5)
        async with serving() as api:
            for number in range(20):
                await api.put("nodes", node(f"n{number}"))
            async with child(tmp_path, api) as (pid, address):
                start, slowest, sent = resident(pid), 0.0, 0
                requests = hostile_requests(draw)
                over = asyncio.Event()

                async def attack() -> None:
                    nonlocal sent
                    while sent < 500:
                        sent += 1
                        with contextlib.suppress(OSError):
                            await raw(address, requests[sent % len(requests)], seconds=1.0)

                async def probe() -> None:
                    nonlocal slowest
                    while not over.is_set():
                        begun = time.monotonic()
                        assert (await get(address, "/healthz"))[0] == 200
                        slowest = max(slowest, time.monotonic() - begun)
                        await asyncio.sleep(0.05)

                probing = asyncio.create_task(probe())
                await asyncio.gather(*(attack() for _ in range(12)))
                over.set()
                await probing
                return resident(pid) - start, slowest

    grown, slowest = asyncio.run(main())
    assert grown < 256 << 20
    assert slowest < patience()
