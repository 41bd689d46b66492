"""Whether users get what they were promised: a percentile of response times, asked of Prometheus.

In SLO mode the descheduler leaves an application alone as long as its objective is met. What users see is what the
application's entrances answer: the workloads that users talk to, else those of topological level 0, else all of it. The
metrics are those that the monitor knows: Istio's, Envoy's, or the service graph of OpenTelemetry, and so are the rules about
who may say them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from ecotone.manifests import wire
from ecotone.model.snapshot import Snapshot
from ecotone.telemetry.families import MOST_PER_SECOND, Family, Labels, believed
from ecotone.telemetry.histograms import percentile
from ecotone.telemetry.prometheus import Failure
from ecotone.telemetry.promql import any_of, quoted
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.reader import Reader
from ecotone.telemetry.sources.speakers import Speaker, Voices

log = logging.getLogger(__name__)

WINDOW_SECONDS = 120.0

# dialect -> (metric, selector, milliseconds per unit)
_METRICS: Mapping[str, tuple[str, str, float]] = {
    "istio": (
        "istio_request_duration_milliseconds_bucket",
        'reporter="destination",destination_workload_namespace={namespace},destination_workload=~{names}',
        1.0,
    ),
    "envoy": ("envoy_cluster_upstream_rq_time_bucket", "envoy_cluster_name=~{either}", 1.0),
    "opentelemetry": ("traces_service_graph_request_server_seconds_bucket", "server=~{either}", 1000.0),
}


def entrances(view: Snapshot, *, namespace: str, app_group: str) -> list[str]:
    """Names of the workloads whose answers users see."""
    own = [each for each in view.workloads.values() if each.key.namespace == namespace and each.app_group == app_group]
    met = [each for each in own if any(peer.startswith("users@") for peer in (each.traffic or {}))]
    first = met or [each for each in own if each.index == 0] or own
    return sorted(each.key.name for each in first)


def buckets(dialect: str, *, namespace: str, names: list[str]) -> Family:
    """How many answers took up to how long, of those who may say so."""
    metric, selector, _ = _METRICS[dialect]
    pattern = any_of(names)
    filled = selector.format(
        namespace=quoted(namespace), names=pattern, either=any_of([*names, *(f"{namespace}/{name}" for name in names)])
    )
    admits, asks, voices = _speaking(dialect, namespace)
    return Family(
        metric, by=("le",), selectors=(filled,), asks=asks, voices=voices, admits=admits, most=MOST_PER_SECOND
    )


def _speaking(dialect: str, namespace: str) -> tuple[Callable[[Labels, Speaker], bool], tuple[str, ...], Voices]:
    if dialect == "opentelemetry":
        return (lambda _labels, _speaker: True), (), Voices(listed=True)
    if dialect == "envoy":
        # A cluster without a namespace in its name is one of the caller's.
        def to_us(labels: Labels, speaker: Speaker) -> bool:
            named = "/" in labels.get("envoy_cluster_name", "")
            return named or believed(speaker) or speaker.workload.namespace == namespace

        return to_us, ("envoy_cluster_name",), Voices(namespace=namespace, listed=True)

    def itself(labels: Labels, speaker: Speaker) -> bool:
        answers = Ref(namespace, labels.get("destination_workload", ""))
        return believed(speaker) or speaker.listed or speaker.workload == answers

    return itself, ("destination_workload",), Voices(namespace=namespace, listed=True)


async def percentile_ms(reader: Reader, group: wire.AppGroup, view: Snapshot, *, at: float) -> float | None:
    """The group's percentile at that `moment`, in milliseconds; None if no dialect has an answer."""
    slo, namespace = group.spec.slo, group.metadata.namespace
    names = entrances(view, namespace=namespace, app_group=group.spec.name or group.metadata.name)
    if slo is None or not names:
        return None
    dialects = _METRICS if group.spec.dialect == "auto" else {group.spec.dialect: ()}
    for dialect in dialects:
        if dialect not in _METRICS:
            continue
        family = buckets(dialect, namespace=namespace, names=names)
        answer = await reader.values(family, window=WINDOW_SECONDS, at=at, asker=namespace)
        if isinstance(answer, Failure):
            log.info("objective of %s/%s: %s", namespace, group.metadata.name, answer.message)
            continue
        found = percentile({each.labels["le"]: each.value for each in answer}, slo.percentile / 100)
        if found is not None:
            return found * _METRICS[dialect][2]
    return None
