"""A network in user space: packets between namespaces are held for a while, and some are lost.

    python delay_wire.py SPEC.json

SPEC is {"places": {namespace: address}, "seed": 1, "paths": [{"between": [A, B], "delay_ms": one-way, "loss": share}]};
the loss applies to the way from A to B. What it really did is in SPEC.json.held: per way how many packets, and how many
seconds they were held in all. The kernel here has no netem: each namespace gets a TUN device, and this process
carries the packets between them.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import sys
import time
from pathlib import Path
from typing import Any

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
CLONE_NEWNET = 0x40000000


def open_tun(namespace: str) -> int:
    """A TUN device called `wire` in that namespace; the descriptor works from anywhere."""
    handle = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(handle)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22s", b"wire", IFF_TUN_NO_PI, b""))
    return tun


def carry(spec: dict[str, Any], tuns: dict[str, int]) -> None:
    places: dict[str, str] = spec["places"]
    draw = random.Random(str(spec.get("seed", 1)))
    delays: dict[tuple[str, str], tuple[float, float]] = {}
    for path in spec["paths"]:
        one, other = path["between"]
        seconds = float(path["delay_ms"]) / 1000
        delays[places[one], places[other]] = (seconds, float(path.get("loss", 0.0)))
        delays[places[other], places[one]] = (seconds, 0.0)
    out = {places[name]: tun for name, tun in tuns.items()}
    waiting: list[tuple[float, int, int, bytes, float, str]] = []
    held: dict[str, list[float]] = {}
    told_at = 0.0
    count = 0
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
        ready, _, _ = select.select(list(tuns.values()), [], [], pause)
        for tun in ready:
            packet = os.read(tun, 65536)
            if packet[0] >> 4 != 4:
                continue
            ends = ".".join(map(str, packet[12:16])), ".".join(map(str, packet[16:20]))
            if ends not in delays:
                continue
            seconds, loss = delays[ends]
            if draw.random() >= loss:
                count += 1
                now = time.monotonic()
                heapq.heappush(waiting, (now + seconds, count, out[ends[1]], packet, now, " ".join(ends)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, tun, packet, came, way = heapq.heappop(waiting)
            os.write(tun, packet)
            sums = held.setdefault(way, [0.0, 0.0])
            sums[0] += 1
            sums[1] += time.monotonic() - came
        if time.monotonic() - told_at > 0.5:
            told_at = time.monotonic()
            # In one step: a reader sees the old or the new, never half of it.
            Path(sys.argv[1] + ".part").write_text(json.dumps(held))
            Path(sys.argv[1] + ".part").replace(sys.argv[1] + ".held")


def main() -> None:
    spec = json.loads(Path(sys.argv[1]).read_text())
    tuns = {name: open_tun(name) for name in spec["places"]}
    # A delay is as exact as this process is prompt: on a busy machine it comes first.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    carry(spec, tuns)


if __name__ == "__main__":
    main()
