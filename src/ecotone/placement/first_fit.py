"""Greedy First-fit, the paper's first benchmark: each pod on the first node of the list with room for it."""

from collections.abc import Sequence

from ecotone.placement.instance import Instance
from ecotone.placement.pod_by_pod import Pod, Run, pod_by_pod


def first_fit(instance: Instance, *, order: Sequence[Pod] | None = None) -> Run:
    return Run(hosts=pod_by_pod(instance, lambda _, fitting: int(fitting[0]), order=order))
