"""A cgroup per node: how much CPU and memory its pods may use, and how much they do use.

Every kubelet of a bed sees the whole machine; the quota makes a node small, and the accounting of the same cgroup gives
figures of that node alone, which node-exporter cannot (it reads the machine's).
"""

from __future__ import annotations

import time
from pathlib import Path

from ecotone.testbed.layout import NAME, BedNode

ROOT = Path("/sys/fs/cgroup")
HIERARCHIES = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
# A bed uses little, but at once: what else the machine does must not be in the way of what is measured.
MOST_SHARES = 262_144
# A slow node should be slow all the time, as in the simulator, instead of fast and then stopped: the shortest slice there is.
SLICE_US = 1000
LONGEST_PERIOD_US = 100_000


def create(node: BedNode, *, cores: float) -> None:
    for hierarchy in HIERARCHIES:
        if (ROOT / hierarchy).is_dir():
            (ROOT / hierarchy / node.cgroup).mkdir(parents=True, exist_ok=True)
    for level in (NAME, node.cgroup):
        for file in ("cpuset.cpus", "cpuset.mems"):
            (ROOT / "cpuset" / level / file).write_text((ROOT / "cpuset" / file).read_text())
    (ROOT / "cpu" / NAME / "cpu.shares").write_text(str(MOST_SHARES))
    period, quota = bandwidth(cores)
    (ROOT / "cpu" / node.cgroup / "cpu.cfs_period_us").write_text(str(period))
    (ROOT / "cpu" / node.cgroup / "cpu.cfs_quota_us").write_text(str(quota))
    (ROOT / "memory" / node.cgroup / "memory.limit_in_bytes").write_text(str(node.spec.memory))


def bandwidth(cores: float) -> tuple[int, int]:
    """The kernel's period and quota, in microseconds: so many cores, in the shortest slices it allows."""
    period = min(LONGEST_PERIOD_US, max(SLICE_US, round(SLICE_US / cores)))
    return period, max(SLICE_US, round(cores * period))


def cpu_seconds(node: BedNode) -> float:
    """CPU time used by the node's pods so far."""
    return int((ROOT / "cpuacct" / node.cgroup / "cpuacct.usage").read_text()) / 1e9


def pods_cpu_seconds(node: BedNode) -> dict[str, float]:
    """CPU time used so far by each pod of the node, by its uid."""
    found = {}
    for group in (ROOT / "cpuacct" / node.cgroup).glob("kubepods*/**/pod*-*"):
        try:
            found[group.name.removeprefix("pod")] = int((group / "cpuacct.usage").read_text()) / 1e9
        except OSError:
            continue  # ended in the meantime
    return found


def memory_bytes(node: BedNode) -> int:
    """Memory in use by the node's pods, file cache that can be dropped left out."""
    directory = ROOT / "memory" / node.cgroup
    usage = int((directory / "memory.usage_in_bytes").read_text())
    rows = dict(line.split() for line in (directory / "memory.stat").read_text().splitlines())
    return max(0, usage - int(rows.get("total_inactive_file", 0)))


def remove(group: str, *, seconds: float = 5.0) -> bool:
    """Removes a cgroup and all below it in every hierarchy; True if nothing is left."""
    deadline = time.monotonic() + seconds
    while True:
        tops = [top for hierarchy in (*HIERARCHIES, "unified") if (top := ROOT / hierarchy / group).is_dir()]
        if not tops:
            return True
        for top in tops:
            for directory in sorted((each for each in top.rglob("*") if each.is_dir()), reverse=True):
                _remove_one(directory)
            _remove_one(top)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)


def _remove_one(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        return
