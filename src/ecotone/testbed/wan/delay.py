"""The network between nodes, in user space: packets from each neighbour wait as long as the link says.

Runs as `python -m ecotone.testbed.wan.delay FILE` in a node's network namespace. The file holds, per queue, the one-way delay
and its standard deviation in seconds and the share of packets lost; it is read again whenever it changes, so a link can be
changed, cut and healed while the bed runs. Packets of one queue keep their order: a later one never overtakes.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import sys
import time
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path

from ecotone.testbed.wan.nfqueue import ACCEPT, DROP, Held, Queues

LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class OneWay:
    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0


@dataclass(slots=True)
class Line:
    """One neighbour's packets: when the last of those under way comes out."""

    way: OneWay
    last: float = 0.0

    def arrival(self, now: float, draws: random.Random) -> float | None:
        """When a packet received now comes out; None if it is lost."""
        if self.way.loss and draws.random() < self.way.loss:
            return None
        delay = self.way.delay + (draws.gauss(0.0, self.way.jitter) if self.way.jitter else 0.0)
        self.last = max(now + max(0.0, delay), self.last)
        return self.last


@dataclass(slots=True)
class Wan:
    """Every neighbour's line, and the packets under way in order of arrival."""

    lines: dict[int, Line]
    draws: random.Random
    under_way: list[tuple[float, int, Held]] = field(default_factory=list)
    _count: int = 0

    def take(self, held: Held, now: float) -> bool:
        """False if the packet is lost."""
        line = self.lines.get(held.queue)
        arrival = now if line is None else line.arrival(now, self.draws)
        if arrival is None:
            return False
        self._count += 1
        heappush(self.under_way, (arrival, self._count, held))
        return True

    def due(self, now: float) -> list[Held]:
        out = []
        while self.under_way and self.under_way[0][0] <= now:
            out.append(heappop(self.under_way)[2])
        return out

    def change(self, ways: dict[int, OneWay]) -> None:
        """New qualities from now on; packets under way keep theirs."""
        for queue, way in ways.items():
            self.lines.setdefault(queue, Line(way)).way = way


def read_ways(path: Path) -> dict[int, OneWay]:
    return {int(queue): OneWay(**way) for queue, way in json.loads(path.read_text()).items()}


def _run_first() -> None:
    """A delay that waits for a busy CPU is a longer delay: ask for real-time priority, go without where it is refused."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def main(path: Path) -> None:
    ways = read_ways(path)
    seen = path.stat().st_mtime_ns
    wan = Wan({queue: Line(way) for queue, way in ways.items()}, random.Random(0))
    _run_first()
    queues = Queues(sorted(ways))
    looked = time.monotonic()
    while True:
        now = time.monotonic()
        pause = LOOK_SECONDS if not wan.under_way else min(LOOK_SECONDS, max(0.0, wan.under_way[0][0] - now))
        if select.select([queues.socket], [], [], pause)[0]:
            now = time.monotonic()
            for held in queues.receive():
                if not wan.take(held, now):
                    queues.verdict(held, DROP)
        for held in wan.due(time.monotonic()):
            queues.verdict(held, ACCEPT)
        if now - looked > LOOK_SECONDS:
            looked = now
            changed = path.stat().st_mtime_ns
            if changed != seen:
                seen = changed
                wan.change(read_ways(path))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
