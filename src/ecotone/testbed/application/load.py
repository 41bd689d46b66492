"""Users of a scenario, for real: requests sent from the nodes where they enter, as the scenario's load section says.

Runs as `python -m ecotone.testbed.application.load PLAN OUT` in the network namespace of one entry node. Open loops are
Poisson and do not wait for answers; users send at their own ticks and skip those they miss, or think after each answer: the
rules of the simulator's users, on a real clock. Every request is one line of the output: when it was sent, how long the
answer took, whether there was one, and which phase of the load it belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import aiohttp
import msgspec

TIMEOUT = 60.0
MOST_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class Stream:
    """One entry of a load section at one node: `poisson` requests per second, or `users` with `every` or `think`."""

    at: float
    length: float
    url: str
    poisson: float = 0.0
    users: int = 0
    every: float | None = None
    think: float | None = None
    request: int = 0
    response: int = 0
    new_connection: bool = False
    seed: int = 0
    phase: int = 0  # which entry of the load section it belongs to


@dataclass(frozen=True, slots=True)
class LoadPlan:
    streams: list[Stream]


class Generator:
    def __init__(self, plan: LoadPlan, out: IO[str]) -> None:
        self._plan = plan
        self._out = out
        self._began = time.monotonic()
        self._under_way = asyncio.Semaphore(MOST_AT_ONCE)
        self._kept: aiohttp.ClientSession
        self._fresh: aiohttp.ClientSession

    async def run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        kept = aiohttp.TCPConnector(limit=0, keepalive_timeout=120)
        async with (
            aiohttp.ClientSession(connector=kept, timeout=timeout) as self._kept,
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True), timeout=timeout
            ) as self._fresh,
            asyncio.TaskGroup() as group,
        ):
            for stream in self._plan.streams:
                if stream.poisson:
                    group.create_task(self._open_loop(stream, group))
                for user in range(stream.users):
                    group.create_task(self._user(stream, random.Random(f"{stream.seed}/{user}")))

    def _now(self) -> float:
        return time.monotonic() - self._began

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - self._now()))

    async def _open_loop(self, stream: Stream, group: asyncio.TaskGroup) -> None:
        draws = random.Random(stream.seed)
        moment = stream.at
        while (moment := moment + draws.expovariate(stream.poisson)) < stream.at + stream.length:
            await self._until(moment)
            group.create_task(self._send(stream))

    async def _user(self, stream: Stream, draws: random.Random) -> None:
        end = stream.at + stream.length
        period = stream.every or stream.think or 1.0
        moment = stream.at + draws.random() * period
        while moment < end:
            await self._until(moment)
            await self._send(stream)
            if stream.every is None:
                moment = self._now() + (stream.think or 0.0)
            else:
                while moment <= self._now():
                    moment += stream.every

    async def _send(self, stream: Stream) -> None:
        sent = self._now()
        session = self._fresh if stream.new_connection else self._kept
        async with self._under_way:
            try:
                headers = {"X-Response-Bytes": str(stream.response)}
                async with session.post(stream.url, data=bytes(stream.request), headers=headers) as answer:
                    await answer.read()
                    answered = answer.status == 200
            except (aiohttp.ClientError, TimeoutError, OSError):
                answered = False
        self._out.write(json.dumps([round(sent, 6), round(self._now() - sent, 6), answered, stream.phase]) + "\n")


async def _play(plan: LoadPlan, out: IO[str]) -> None:
    await Generator(plan, out).run()  # made here: its semaphore belongs to the running loop


def main(plan: Path, out: Path) -> None:
    # What is measured must not depend on what else the machine does; without the right to be first it goes on as it is.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    read = msgspec.json.decode(plan.read_bytes(), type=LoadPlan)
    with out.open("w", buffering=1) as stream:
        asyncio.run(_play(read, stream))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
