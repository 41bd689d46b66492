"""A bed for the length of an experiment, with everything in it that runs need, and what machine it was."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ecotone.experiments.bed.playing.false_clock import FalseClock
from ecotone.experiments.bed.playing.player import Player
from ecotone.model.errors import OutsideError
from ecotone.sim.scenario.schema import Scenario
from ecotone.testbed.bed import DEFAULT_CORES, Bed
from ecotone.testbed.images.contents import all_images
from ecotone.testbed.layout import topology_of
from ecotone.testbed.processes import ended_in_order


@contextmanager
def session(
    scenario: Scenario, *, say: Callable[[str], None], cores: float = DEFAULT_CORES, clock: bool = False
) -> Iterator[Player]:
    """The scenario's nodes and network, up; gone afterwards, whatever happened. `clock`: one that can be set."""
    with ended_in_order(), TemporaryDirectory(prefix="ecotone-experiment-") as folder:
        bed = Bed(Path(folder) / "bed")
        false_clock = FalseClock(Path(folder) / "clock") if clock else None
        images = list(all_images(bed.binaries, say=say).values())
        # A policy that predicts how long a request takes must be told how fast its nodes are.
        bed.up(topology_of(scenario), images=images, cores=cores, real_cores=True, say=say)
        try:
            player = Player(bed, Path(folder) / "runs", say, false_clock)
            player.prepare()
            say("monitor and probe ready")
            yield player
        finally:
            left = bed.down()
            if left:
                raise OutsideError(f"could not remove: {', '.join(left)}")


def set_network(player: Player, scenario: Scenario) -> None:
    """The links of another scenario with the same nodes, as soon as they are measured."""
    nodes = scenario.nodes
    links = {frozenset(between): link for between, link in scenario.network.links}
    for number, a in enumerate(nodes):
        for b in nodes[number + 1 :]:
            link = links.get(frozenset((a.name, b.name)), scenario.network.default)
            player.bed.set_link(a.name, b.name, rtt=link.rtt, jitter=link.jitter, loss=link.loss)
    player.wait_for_latencies()


def machine() -> dict[str, Any]:
    """What an experiment's figures were taken on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )  # fmt: skip
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "load_average": round(os.getloadavg()[0], 2),
    }
