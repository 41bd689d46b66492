"""A scenario's users at the nodes of a bed: what each node's load generator is to send, started and read back.

The simulator draws the node of an open loop's request among its sources; here every source has its own Poisson stream of an
equal share, which is the same process. User i of a closed loop enters at from[i mod n], as in the simulator.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ecotone.sim.scenario.schema import Load, Scenario
from ecotone.testbed import processes
from ecotone.testbed.application.load import LoadPlan, Stream
from ecotone.testbed.layout import Topology
from ecotone.testbed.processes import Daemon


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: when it was sent and how long it took in seconds, and whether it was answered."""

    at: float
    seconds: float
    answered: bool
    phase: int


def plans(scenario: Scenario, url: Callable[[str, str], str], *, seed: int = 0) -> dict[str, LoadPlan]:
    """What enters at each node; `url` tells, by node and service, who receives users there, without the endpoint."""
    found: dict[str, list[Stream]] = {}
    for phase, load in enumerate(scenario.load):
        for place, source in enumerate(load.sources):
            users = len(range(place, load.users, len(load.sources)))
            if users or load.poisson:
                found.setdefault(source, []).append(
                    _stream(load, phase=phase, place=place, users=users, url=url(source, load.service), seed=seed)
                )
    return {source: LoadPlan(streams) for source, streams in found.items()}


def _stream(load: Load, *, phase: int, place: int, users: int, url: str, seed: int) -> Stream:
    return Stream(
        at=load.at,
        length=load.length,
        url=f"{url}/call/{load.endpoint}",
        poisson=load.poisson / len(load.sources),
        users=users,
        every=load.every,
        think=load.think,
        request=int(load.request),
        response=int(load.response),
        new_connection=load.new_connection,
        seed=seed * 1_000_003 + phase * 1009 + place,
        phase=phase,
    )


class Users:
    """The load generators of a bed's entry nodes."""

    def __init__(self, topology: Topology, directory: Path) -> None:
        self._topology = topology
        self._directory = directory
        self.daemons: list[Daemon] = []

    def start(self, wanted: dict[str, LoadPlan]) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        for name, plan in wanted.items():
            node = self._topology.node(name)
            file = self._directory / f"{name}.plan.json"
            file.write_bytes(msgspec.json.encode(plan))
            command: list[str | Path] = [
                "nsenter", f"--net=/run/netns/{node.network_namespace}", sys.executable,
                "-m", "ecotone.testbed.application.load", file, self._directory / f"{name}.sent",
            ]  # fmt: skip
            self.daemons.append(processes.start(f"{name}/users", command, log=self._directory / f"{name}.users.log"))

    def running(self) -> bool:
        processes.reap()
        return any(processes.alive(each) for each in self.daemons)

    def end(self) -> None:
        processes.end(self.daemons)
        self.daemons.clear()

    def sent(self) -> list[Sent]:
        """Every request that has its outcome, in the order in which they were sent."""
        rows = [
            json.loads(line)
            for file in sorted(self._directory.glob("*.sent"))
            for line in file.read_text().splitlines()
            if line.endswith("]")
        ]
        return sorted((Sent(*row) for row in rows), key=lambda each: each.at)
