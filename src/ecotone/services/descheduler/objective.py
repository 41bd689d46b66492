"""Whether users get what they were promised: a percentile of response times, asked of Prometheus.

In SLO mode the descheduler leaves an application alone as long as its objective is met. What users see is what the
application's entrances answer: the workloads that users talk to, else those of topological level 0, else all of it. The
metrics are those that the monitor knows: Istio's, Envoy's, or the service graph of OpenTelemetry.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ecotone.manifests import wire
from ecotone.model.snapshot import Snapshot
from ecotone.telemetry.prometheus import Failure, Source
from ecotone.telemetry.promql import quoted
from ecotone.telemetry.window import promql_duration

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


def query(dialect: str, *, percentile: float, namespace: str, names: list[str], window: float) -> str:
    metric, selector, _ = _METRICS[dialect]
    pattern = "|".join(re.escape(name) for name in names)
    filled = selector.format(
        namespace=quoted(namespace),
        names=quoted(pattern),
        either=quoted("|".join([pattern, *(re.escape(f"{namespace}/{name}") for name in names)])),
    )
    rate = f"sum by (le) (rate({metric}{{{filled}}}[{promql_duration(window)}]))"
    return f"histogram_quantile({percentile / 100:g}, {rate})"


async def percentile_ms(source: Source, group: wire.AppGroup, view: Snapshot) -> float | None:
    """The group's percentile now, in milliseconds; None if no dialect has an answer."""
    slo, namespace = group.spec.slo, group.metadata.namespace
    names = entrances(view, namespace=namespace, app_group=group.spec.name or group.metadata.name)
    if slo is None or not names:
        return None
    dialects = _METRICS if group.spec.dialect == "auto" else {group.spec.dialect: ()}
    for dialect in dialects:
        if dialect not in _METRICS:
            continue
        asked = query(dialect, percentile=slo.percentile, namespace=namespace, names=names, window=WINDOW_SECONDS)
        answer = await source.query(asked, at=view.now)
        values = [] if isinstance(answer, Failure) else [each.value for each in answer if math.isfinite(each.value)]
        if values:
            return values[0] * _METRICS[dialect][2]
    return None
