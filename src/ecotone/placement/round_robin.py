"""Round-robin, the paper's second benchmark: nodes in a circle, each pod on the next one with room.

The position outlives a run: the paper's second run starts where the first one ended, which is why its placements
differ from run to run. `start` takes the position of the previous run, `Run.pointer` returns the next.
"""

from collections.abc import Sequence

import numpy as np

from ecotone.placement.instance import Instance, IntArray
from ecotone.placement.pod_by_pod import Pod, Run, pod_by_pod


def round_robin(instance: Instance, *, order: Sequence[Pod] | None = None, start: int = 0) -> Run:
    circle = len(instance.hosts)
    pointer = start

    def choose(_: Pod, fitting: IntArray) -> int:
        nonlocal pointer
        turn = (fitting - pointer) % circle
        host = int(fitting[np.argmin(turn)])
        pointer = (host + 1) % circle
        return host

    hosts = pod_by_pod(instance, choose, order=order)
    return Run(hosts=hosts, pointer=pointer)
