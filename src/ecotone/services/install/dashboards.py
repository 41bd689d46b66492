"""Grafana dashboards, as JSON in ConfigMaps with the label that Grafana's side-car looks for.

Three pages: the scheduler, the closed loop, the network between nodes. They are written here as titles, units and
questions; what Grafana wants around them is the same for every panel. A test holds each question against the metrics that
the programs really have.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT, ACROSS = 12, 8, 24


@dataclass(frozen=True, slots=True)
class Panel:
    """`questions` maps a legend to a PromQL expression."""

    title: str
    unit: str
    questions: dict[str, str]
    kind: str = "timeseries"


def _quantiles(metric: str) -> dict[str, str]:
    ask = "histogram_quantile({}, sum by (le) (rate({}_bucket[$__rate_interval])))"
    return {f"p{100 * share:g}": ask.format(share, metric) for share in (0.5, 0.95, 0.99)}


SCHEDULER = (
    Panel("Leads", "short", {"{{pod}}": "ecotone_scheduler_leader"}, kind="stat"),
    Panel("Pending pods", "short", {"{{queue}}": "sum by (queue) (ecotone_scheduler_pending_pods)"}),
    Panel(
        "Attempts", "ops",
        {"{{result}}": "sum by (result) (rate(ecotone_scheduler_schedule_attempts_total[$__rate_interval]))"},
    ),
    Panel(
        "Bindings", "ops",
        {"{{outcome}}": "sum by (outcome) (rate(ecotone_scheduler_bindings_total[$__rate_interval]))"},
    ),
    Panel("Time to decide", "s", _quantiles("ecotone_scheduler_scheduling_algorithm_duration_seconds")),
    Panel("Time from pending to bound", "s", _quantiles("ecotone_scheduler_pod_scheduling_sli_duration_seconds")),
    Panel("Preemptions", "ops", {"attempts": "sum(rate(ecotone_scheduler_preemption_attempts_total[$__rate_interval]))"}),
    Panel("Over-committed nodes", "short", {"nodes": "max(ecotone_scheduler_overcommitted_nodes)"}),
    Panel("Objects in the cache", "short", {"{{type}}": "max by (type) (ecotone_scheduler_cache_size)"}),
    Panel(
        "Watch events", "ops",
        {"{{type}}": "sum by (type) (rate(ecotone_scheduler_watch_events_total[$__rate_interval]))"},
    ),
)  # fmt: skip
LOOP = (
    Panel("Oldest measurement", "s", {"age": "max(ecotone_monitor_oldest_sample_age_seconds)"}, kind="stat"),
    Panel("Breaker open", "short", {"groups": "max(ecotone_descheduler_breaker_open)"}, kind="stat"),
    Panel(
        "Questions to Prometheus", "ops",
        {"{{result}}": "sum by (result) (rate(ecotone_monitor_queries_total[$__rate_interval]))"},
    ),
    Panel("Length of a cycle", "s", _quantiles("ecotone_monitor_cycle_duration_seconds")),
    Panel("Writes of the monitor", "ops", {"writes": "sum(rate(ecotone_monitor_writes_total[$__rate_interval]))"}),
    Panel("Moves", "ops", {"moves": "sum(rate(ecotone_descheduler_moves_total[$__rate_interval]))"}),
    Panel(
        "What became of moves", "ops",
        {"{{outcome}}": "sum by (outcome) (rate(ecotone_descheduler_outcomes_total[$__rate_interval]))"},
    ),
    Panel(
        "Decided and not made", "ops",
        {"{{reason}}": "sum by (reason) (rate(ecotone_descheduler_refusals_total[$__rate_interval]))"},
    ),
    Panel(
        "Rounds", "ops",
        {"{{result}}": "sum by (result) (rate(ecotone_descheduler_rounds_total[$__rate_interval]))"},
    ),
)  # fmt: skip
NETWORK = (
    Panel("Round trip", "s", {"{{origin}} to {{target}}": "ecotone:probe_rtt_seconds:mean5m"}),
    Panel("Loss", "percentunit", {"{{origin}} to {{target}}": "ecotone:probe_loss:ratio5m"}),
    Panel("Bandwidth", "Bps", {"{{origin}} to {{target}}": "ecotone_probe_bandwidth_bytes_per_second"}),
    Panel("Nodes probed", "short", {"{{origin}}": "ecotone_probe_targets"}),
)
PAGES = {
    "scheduler": ("Ecotone: scheduler", SCHEDULER),
    "loop": ("Ecotone: measurements and moves", LOOP),
    "network": ("Ecotone: network between nodes", NETWORK),
}


def page(name: str) -> dict[str, Any]:
    title, panels = PAGES[name]
    return {
        "uid": f"ecotone-{name}",
        "title": title,
        "tags": ["ecotone"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(panels)],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "datasource": source,
        "gridPos": {"x": number * WIDTH % ACROSS, "y": number * WIDTH // ACROSS * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "expr": expression, "legendFormat": legend, "datasource": source}
            for place, (legend, expression) in enumerate(panel.questions.items())
        ],
    }


def dashboards(*, namespace: str = "kube-system") -> list[dict[str, Any]]:
    labels = {"app.kubernetes.io/part-of": "ecotone", "grafana_dashboard": "1"}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"ecotone-dashboard-{name}", "namespace": namespace, "labels": labels},
            "data": {f"ecotone-{name}.json": json.dumps(page(name), indent=1) + "\n"},
        }
        for name in PAGES
    ]
