"""What a bed remembers on disk: its topology and every process it started.

Written after every step, so that `down` finds what a crashed `up` left.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ecotone.testbed.layout import RECORD, BedNode, Paths, Topology
from ecotone.testbed.processes import Daemon, alive


@dataclass(slots=True)
class BedState:
    topology: Topology
    share: float  # of a machine core that one scenario core gets
    daemons: list[Daemon] = field(default_factory=list)
    offered: float = 1.0  # cores that kubelets offer for each of the scenario's: all of them, or what they really are

    @property
    def core(self) -> float:
        """Of a machine core that one core gets which a kubelet offers."""
        return self.share / self.offered

    def millicores(self, node: BedNode) -> int:
        """What the node's kubelet offers."""
        return round(node.spec.cpu * self.offered)

    def daemon(self, name: str) -> Daemon | None:
        return next((each for each in reversed(self.daemons) if each.name == name), None)

    def of_node(self, name: str) -> list[Daemon]:
        return [each for each in self.daemons if each.name.startswith(f"{name}/")]

    def forget_dead(self) -> None:
        self.daemons = [each for each in self.daemons if alive(each)]


def save(paths: Paths, state: BedState) -> None:
    paths.root.mkdir(parents=True, exist_ok=True)
    part = paths.state.with_suffix(".part")
    part.write_text(json.dumps(msgspec.to_builtins(state)))
    os.replace(part, paths.state)  # noqa: PTH105


def here(record: Path = RECORD) -> Path | None:
    """The directory of the bed that is on this machine: names of bridge and cgroups are the same for all, so there is one.

    A record that nothing alive stands behind (the machine was switched off meanwhile) is none.
    """
    try:
        directory = Path(record.read_text())
    except OSError:
        return None
    found = load(Paths(directory))
    return directory if found is not None and any(alive(each) for each in found.daemons) else None


def load(paths: Paths) -> BedState | None:
    """None if no bed was ever started here."""
    if not paths.state.exists():
        return None
    # json, not msgspec, reads the text: an unlimited bandwidth is written as Infinity.
    return msgspec.convert(json.loads(paths.state.read_text()), type=BedState)
