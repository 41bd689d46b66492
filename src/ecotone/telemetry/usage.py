"""What a pod of a workload uses on average, from cAdvisor's series.

The containers of a pod are summed; the pause container (`POD`) and the pod's own total (no container name) are left out,
since they would count everything twice. Only ready pods speak for their workload: one that is starting or ending uses
what no other pod of it uses. If two jobs scrape the same kubelet, one of them counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ecotone.telemetry.dialects.base import Ref
from ecotone.telemetry.families import Family, Figure, Kind, Reading
from ecotone.telemetry.promql import quoted

_BY = ("namespace", "pod", "job")


def cpu_family(namespace: str) -> Family:
    return Family("container_cpu_usage_seconds_total", by=_BY, selectors=(_containers(namespace),))


def memory_family(namespace: str) -> Family:
    return Family("container_memory_working_set_bytes", by=_BY, selectors=(_containers(namespace),), kind=Kind.AVERAGE)


def _containers(namespace: str) -> str:
    return f'namespace={quoted(namespace)},pod!="",container!="",container!="POD"'


def average_per_pod(readings: Iterable[Reading], ready: Mapping[tuple[str, str], Ref]) -> dict[Ref, Figure]:
    """Per workload the mean over its ready pods, as old as the oldest sample in it."""
    per_pod: dict[tuple[str, str], tuple[str, Figure]] = {}
    for each in readings:
        pod = (each.labels.get("namespace", ""), each.labels.get("pod", ""))
        job = each.labels.get("job", "")
        if pod in ready and (pod not in per_pod or job < per_pod[pod][0]):
            per_pod[pod] = (job, Figure(each.value, each.at))
    figures: dict[Ref, list[Figure]] = {}
    for pod, (_, figure) in per_pod.items():
        figures.setdefault(ready[pod], []).append(figure)
    return {
        workload: Figure(sum(each.value for each in several) / len(several), min(each.at for each in several))
        for workload, several in figures.items()
    }
