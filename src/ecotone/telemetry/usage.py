"""What a pod of a workload uses on average, from cAdvisor's series.

The containers of a pod are summed; the pause container (`POD`) and the pod's own total (no container name) are left out,
since they would count everything twice. Only ready pods speak for their workload: one that is starting or ending uses
what no other pod of it uses. If two jobs scrape the same kubelet, one of them counts. Nobody but kubelets speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ecotone.telemetry.families import MOST_BYTES, MOST_CORES, Family, Figure, Kind, Reading
from ecotone.telemetry.promql import quoted
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.speakers import Voices

_BY = ("namespace", "pod", "job")


_KUBELETS = Voices(kubelets=True, name="a kubelet's metrics of containers")


def cpu_family(namespace: str) -> Family:
    return Family(
        "container_cpu_usage_seconds_total",
        by=_BY,
        selectors=(_containers(namespace),),
        voices=_KUBELETS,
        most=MOST_CORES,
    )


def memory_family(namespace: str) -> Family:
    return Family(
        "container_memory_working_set_bytes",
        by=_BY,
        selectors=(_containers(namespace),),
        kind=Kind.AVERAGE,
        voices=_KUBELETS,
        most=MOST_BYTES,
    )


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
