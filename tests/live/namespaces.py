"""Network namespaces of a test's own, joined by a wire that delays and loses. Traffic stays inside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from control_plane.processes import Child, wait_until
from missing import lacking

WIRE = Path(__file__).with_name("delay_wire.py")
CAPTURE = Path(__file__).with_name("capture.py")


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Places:
    """Namespaces by short name, each with an address."""

    def __init__(self, addresses: dict[str, str], directory: Path) -> None:
        self.addresses = addresses
        self.directory = directory
        self._names = {short: f"ecotone-{os.getpid()}-{short}" for short in addresses}

    def namespace(self, short: str) -> str:
        return self._names[short]

    def start(self, short: str, name: str, command: list[str], *, env: dict[str, str] | None = None) -> Child:
        inside = ["ip", "netns", "exec", self._names[short], *command]
        return Child(name, inside, log=self.directory / f"{name}-{short}.log", env=env)

    def held(self, origin: str, target: str) -> tuple[float, float]:
        """How many packets the wire has held on this way, and for how many seconds in all."""
        held = json.loads((self.directory / "wire.json.held").read_text())
        count, seconds = held[f"{self.addresses[origin]} {self.addresses[target]}"]
        return float(count), float(seconds)

    def capture(self, short: str) -> Child:
        """Begins to look at the round trips that leave from this namespace."""
        return self.start(short, "capture", [sys.executable, str(CAPTURE), str(self.directory / "took.json")])

    def took(self, target: str) -> tuple[float, float]:
        """How many round trips to there were captured, and how many seconds they took in all."""
        count, seconds = json.loads((self.directory / "took.json").read_text())[self.addresses[target]]
        return float(count), float(seconds)

    def fetch(self, short: str, url: str) -> str:
        """The body of a GET from inside a namespace; empty if nobody answers."""
        script = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=3).read().decode())"
        inside = ["ip", "netns", "exec", self._names[short], sys.executable, "-c", script]
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=20).stdout


@contextmanager
def joined(addresses: dict[str, str], paths: list[dict[str, Any]], directory: Path) -> Iterator[Places]:
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        lacking("network namespaces with TUN devices need root and /dev/net/tun")
    places = Places(addresses, directory)
    made: list[str] = []
    wire: Child | None = None
    try:
        for short in addresses:
            ip("netns", "add", places.namespace(short))
            made.append(places.namespace(short))
            ip("-n", places.namespace(short), "link", "set", "lo", "up")
        named = {places.namespace(short): address for short, address in addresses.items()}
        spec = {
            "places": named,
            "paths": [{**path, "between": [places.namespace(each) for each in path["between"]]} for path in paths],
        }
        file = directory / "wire.json"
        file.write_text(json.dumps(spec))
        log = directory / "wire.log"
        wire = Child("wire", [sys.executable, WIRE, file], log=log)
        wait_until(lambda: "ready" in log.read_text(), timeout=10, what="wire", child=wire)
        for short, address in addresses.items():
            space = places.namespace(short)
            ip("-n", space, "addr", "add", f"{address}/24", "dev", "wire")
            ip("-n", space, "link", "set", "wire", "up")
            allow = "echo '0 2147483647' > /proc/sys/net/ipv4/ping_group_range"
            subprocess.run(["ip", "netns", "exec", space, "sh", "-c", allow], check=True, capture_output=True)
        yield places
    finally:
        if wire is not None:
            wire.stop(grace=1)
        for space in made:
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)
