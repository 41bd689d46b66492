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

from ecotone.experiments.bed.false_clock import FalseClock
from ecotone.model.errors import OutsideError
from ecotone.testbed.bed import Bed
from ecotone.testbed.layout import NAME
from ecotone.testbed.processes import Daemon, send, start_time

STEP = 600.0  # seconds that the clock of Ecotone's programs is set by
FAR = 0.400  # seconds of round trip, on every link of a node


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    seconds: float
    inject: Callable[[Bed, str], None]
    heal: Callable[[Bed, str], None]
    cut_off: bool = False  # nothing may be sent to the node while it lasts
    quick: bool = False  # tried with --quick, too


def _power(*, on: bool) -> Callable[[Bed, str], None]:
    return lambda bed, node: bed.power(node, on=on)


def _cable(*, connected: bool) -> Callable[[Bed, str], None]:
    return lambda bed, node: bed.plug(node, connected=connected)


def _kubelet(number: signal.Signals) -> Callable[[Bed, str], None]:
    return lambda bed, node: bed.signal_kubelet(node, number)


def _prometheus(number: signal.Signals) -> Callable[[Bed, str], None]:
    def signal_it(_: Bed, __: str) -> None:
        for each in pods_processes("prometheus"):
            send(each, number)

    return signal_it


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

    def inject(self, bed: Bed, node: str) -> None:
        self._before = {each.name: bed.topology.link(node, each.name).rtt for each in bed.topology.nodes}
        for other in self._before:
            if other != node:
                bed.set_link(node, other, rtt=FAR)

    def heal(self, bed: Bed, node: str) -> None:
        for other, rtt in self._before.items():
            if other != node:
                bed.set_link(node, other, rtt=rtt)


def faults(clock: FalseClock) -> list[Fault]:
    far = _Far()
    stop, go_on = signal.SIGSTOP, signal.SIGCONT
    return [
        Fault("WAN latency jumps to 400 ms", 60.0, far.inject, far.heal, quick=True),
        Fault("Prometheus does not answer", 60.0, _prometheus(stop), _prometheus(go_on)),
        Fault("clock ten minutes ahead", 60.0, lambda _, __: clock.set(STEP), lambda _, __: clock.set(0), quick=True),
        Fault("clock ten minutes behind", 60.0, lambda _, __: clock.set(-STEP), lambda _, __: clock.set(0)),
        Fault("kubelet stopped", 60.0, _kubelet(stop), _kubelet(go_on)),
        Fault("power cut", 70.0, _power(on=False), _power(on=True), cut_off=True, quick=True),
        Fault("partition", 70.0, _cable(connected=False), _cable(connected=True), cut_off=True),
    ]
