"""Faults of real nodes, each with the way back: power, cable, kubelet, Prometheus, network, clock.

A fault names the node it is about where it has one: the one that holds the service in the middle of the chain, so that the
application feels it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ecotone.experiments.bed.playing.player import Player
from ecotone.model.errors import OutsideError
from ecotone.testbed.layout import NAME
from ecotone.testbed.processes import Daemon, send, start_time

STEP = 600.0  # seconds that the clock of Ecotone's programs is set by
FAR = 0.400  # seconds of round trip, on every link of a node


Change = Callable[[Player, str], None]  # the bed, and the node it is about


@dataclass(frozen=True, slots=True)
class Fault:
    key: str
    name: str
    seconds: float
    inject: Change
    heal: Change
    cut_off: bool = False  # nothing may be sent to the node while it lasts
    quick: bool = False  # tried with --quick, too


def _power(*, on: bool) -> Change:
    return lambda player, node: player.bed.power(node, on=on)


def _cable(*, connected: bool) -> Change:
    return lambda player, node: player.bed.plug(node, connected=connected)


def _kubelet(number: signal.Signals) -> Change:
    return lambda player, node: player.bed.signal_kubelet(node, number)


def _prometheus(number: signal.Signals) -> Change:
    def signal_it(_: Player, __: str) -> None:
        for each in pods_processes("prometheus"):
            send(each, number)

    return signal_it


def _clock(ahead: float) -> Change:
    def set_it(player: Player, _: str) -> None:
        assert player.clock is not None, "a fault of the clock needs one that can be set"
        player.clock.set(ahead)

    return set_it


def pods_processes(program: str) -> list[Daemon]:
    """Processes of a bed's pods that run this program, by their command."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
                group = (entry / "cgroup").read_text()
            except OSError:
                continue
            if os.path.basename(command) == program and f"/{NAME}/" in group:  # noqa: PTH119
                found.append(Daemon(program, int(entry.name), start_time(int(entry.name)) or 0))
    if not found:
        raise OutsideError(f"no pod of the bed runs {program}")
    return found


class _Far:
    """All links of a node become long, and again what they were."""

    def __init__(self) -> None:
        self._before: dict[str, float] = {}

    def inject(self, player: Player, node: str) -> None:
        bed = player.bed
        self._before = {each.name: bed.topology.link(node, each.name).rtt for each in bed.topology.nodes}
        for other in self._before:
            if other != node:
                bed.set_link(node, other, rtt=FAR)

    def heal(self, player: Player, node: str) -> None:
        for other, rtt in self._before.items():
            if other != node:
                player.bed.set_link(node, other, rtt=rtt)


def faults() -> list[Fault]:
    far = _Far()
    stop, go_on = signal.SIGSTOP, signal.SIGCONT
    return [
        Fault("wan", "WAN latency jumps to 400 ms", 60.0, far.inject, far.heal, quick=True),
        Fault("prometheus", "Prometheus does not answer", 60.0, _prometheus(stop), _prometheus(go_on)),
        Fault("clock-ahead", "clock ten minutes ahead", 60.0, _clock(STEP), _clock(0.0), quick=True),
        Fault("clock-behind", "clock ten minutes behind", 60.0, _clock(-STEP), _clock(0.0)),
        Fault("kubelet", "kubelet stopped", 60.0, _kubelet(stop), _kubelet(go_on)),
        Fault("power", "power cut", 70.0, _power(on=False), _power(on=True), cut_off=True, quick=True),
        Fault("partition", "partition", 70.0, _cable(connected=False), _cable(connected=True), cut_off=True),
    ]
