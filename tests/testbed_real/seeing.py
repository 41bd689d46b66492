"""What tests look at in a bed: objects, round trips, answers, series."""

from __future__ import annotations

import json
from typing import Any

from ecotone.model.errors import OutsideError
from ecotone.testbed.bed import Bed
from ecotone.testbed.node import network

_CONNECT = """
import socket, sys, time
for _ in range(int(sys.argv[3])):
    began = time.perf_counter()
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5).close()
    print((time.perf_counter() - began) * 1000)
"""


def objects(bed: Bed, *arguments: str) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(bed.kubectl("get", *arguments, "-o", "json"))
    return list(found.get("items", [found]))


def round_trip_ms(bed: Bed, origin: str, address: str, port: int, *, times: int = 15) -> float:
    """The shortest time of some TCP handshakes from one node: what the network takes, without waiting for a busy CPU."""
    here = bed.topology.node(origin)
    text = network.inside(here, "python3", "-c", _CONNECT, address, str(port), str(times))
    return min(float(line) for line in text.split())


def reachable(bed: Bed, origin: str, address: str, port: int) -> bool:
    try:
        round_trip_ms(bed, origin, address, port, times=1)
    except OutsideError:
        return False
    return True


def call(bed: Bed, origin: str, url: str, *, seconds: int = 10) -> tuple[int, float]:
    """The status of one request from a node, and how long it took in seconds; status 0 if there was no answer."""
    here = bed.topology.node(origin)
    arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code} %{time_total}", "-m", str(seconds), "-X", "POST", url]
    try:
        status, took = network.inside(here, "curl", *arguments).split()
    except OutsideError:
        return 0, float(seconds)
    return int(status), float(took)


def query(bed: Bed, expression: str) -> list[dict[str, Any]]:
    """An instant query of the bed's Prometheus."""
    here = bed.topology.node("cloud-1")
    service = objects(bed, "service", "-n", "monitoring", "prometheus")[0]
    url = f"http://{service['spec']['clusterIP']}:9090/api/v1/query"
    text = network.inside(here, "curl", "-s", "-m", "10", url, "--data-urlencode", f"query={expression}")
    return list(json.loads(text)["data"]["result"]) if text else []
