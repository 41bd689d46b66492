"""ResourceAware: how far what a node has available exceeds what the pod uses (Sophos thesis, section 4.5, algorithm 1).

    ra(n) = 100 alpha (cpu_n - cpu_p) / cpu_p + 100 beta (mem_n - mem_p) / mem_p

cpu_n and mem_n are available on node n now, cpu_p and mem_p are what a pod of the workload uses. gamma, the weight of this
term against NetworkAware, is the plugin's weight in the profile.

`combine: raw`, as in `sophos`, adds this value as it is: algorithm 1 to the letter. Without it, as in `sophos-normalized`,
the term is brought to 0..100 over the feasible nodes before gamma applies, since one term counts percent and the other bytes
times milliseconds. kube-scheduler itself rejects scores outside 0..100, so the literal sum cannot run as a plugin of it.

Ours, where the thesis says nothing: pods placed after a measurement are taken off it; a usage of 0 or unknown falls back to
the pod's request, then to 100m and 200Mi, so nothing is divided by zero; a node without measurement offers allocatable minus
requested. The released code divides MiB by bytes and compares requests instead: none of that is kept.
"""

from __future__ import annotations

from ecotone.model.arrays import Floats, Rows
from ecotone.model.availability import available, available_at
from ecotone.model.errors import InputError
from ecotone.model.quantity import show_bytes, show_cpu
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.plugin import Change, Cycle, Scores

DEFAULT_CPU = 100.0
DEFAULT_MEMORY = 200.0 * 1024 * 1024
COMBINE = ("normalized", "raw")


class ResourceAware:
    name = "ResourceAware"
    placement_changes: Change | None = "row"

    def __init__(self, *, alpha: float = 0.5, beta: float | None = None, combine: str = "normalized") -> None:
        self.alpha = alpha
        self.beta = 1 - alpha if beta is None else beta
        if min(self.alpha, self.beta) < 0 or abs(self.alpha + self.beta - 1) > 1e-9:
            raise InputError(f"ResourceAware: alpha {alpha:g} and beta {self.beta:g} must be shares that add up to 1")
        self.stretch = stretches(self.name, combine)

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        left = available(cycle.state, rows, by=cycle.pod.namespace)
        cpu, memory = self.usage(cycle)
        found: Floats = 100 * self.alpha * (left[:, 0] - cpu) / cpu + 100 * self.beta * (left[:, 1] - memory) / memory
        return found

    def usage(self, cycle: Cycle) -> tuple[float, float]:
        kind = cycle.pod.kind
        cpu, memory = cycle.state.pod_usage(kind)
        return (
            cpu or float(kind.spec.request("cpu")) or DEFAULT_CPU,
            memory or float(kind.spec.request("memory")) or DEFAULT_MEMORY,
        )

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        return min_max(raw) if self.stretch else raw

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        cpu, memory = available_at(cycle.state, row, by=cycle.pod.namespace)
        needs = self.usage(cycle)
        return f"{show_cpu(cpu)} CPU and {show_bytes(memory)} available for {show_cpu(needs[0])} and {show_bytes(needs[1])}"


def stretches(plugin: str, combine: str) -> bool:
    """True if the plugin's own figures are brought to 0..100 before its weight applies."""
    if combine not in COMBINE:
        raise InputError(f"{plugin}: combine is {combine!r}", hint="normalized or raw")
    return combine == "normalized"
