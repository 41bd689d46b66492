"""Recording and alert rules for Prometheus: what an operator wants to be told, in words that say what to do.

Printed as a ConfigMap whose content is a rule file; a test runs it through promtool and holds every metric it names against
those that the programs have.
"""

from __future__ import annotations

from typing import Any

RECORDED = {
    "ecotone:probe_rtt_seconds:mean5m": "sum by (origin, target) (rate(ecotone_probe_rtt_seconds_sum[5m])) / "
    "sum by (origin, target) (rate(ecotone_probe_rtt_seconds_count[5m]))",
    "ecotone:probe_loss:ratio5m": "sum by (origin, target) (rate(ecotone_probe_lost_total[5m])) / "
    "sum by (origin, target) (rate(ecotone_probe_sent_total[5m]))",
    "ecotone:scheduler_attempts:rate5m": "sum by (result) (rate(ecotone_scheduler_schedule_attempts_total[5m]))",
    "ecotone:scheduler_algorithm_seconds:p99_5m": "histogram_quantile(0.99, sum by (le) "
    "(rate(ecotone_scheduler_scheduling_algorithm_duration_seconds_bucket[5m])))",
    "ecotone:scheduler_pod_seconds:p99_5m": "histogram_quantile(0.99, sum by (le) "
    "(rate(ecotone_scheduler_pod_scheduling_sli_duration_seconds_bucket[5m])))",
    "ecotone:descheduler_moves:rate1h": "sum(rate(ecotone_descheduler_moves_total[1h]))",
}
ALERTS: tuple[tuple[str, str, str, str, str, str], ...] = (
    (
        "EcotoneSchedulerHasNoLeader",
        "max(ecotone_scheduler_leader) == 0 or absent(ecotone_scheduler_leader)",
        "2m",
        "critical",
        "No scheduler leads: pods that name it stay pending.",
        "Look at its pods and at the lease ecotone-scheduler.",
    ),
    (
        "EcotonePodsPending",
        'sum(ecotone_scheduler_pending_pods{queue="unschedulable"}) > 0',
        "15m",
        "warning",
        "{{ $value }} pods fit nowhere.",
        "`ecotone explain POD` says why, node by node.",
    ),
    (
        "EcotoneBindingsFail",
        'sum(rate(ecotone_scheduler_bindings_total{outcome!="bound"}[10m])) > '
        "0.1 * sum(rate(ecotone_scheduler_bindings_total[10m]))",
        "10m",
        "warning",
        "More than a tenth of the bindings fail.",
        "The scheduler's log names the API server's answers.",
    ),
    (
        "EcotoneNodesOvercommitted",
        "max(ecotone_scheduler_overcommitted_nodes) > 0",
        "10m",
        "warning",
        "{{ $value }} nodes hold more than they can.",
        "Another scheduler places pods on the same nodes.",
    ),
    (
        "EcotoneObjectsLeftOut",
        "sum by (type) (increase(ecotone_scheduler_objects_left_out_total[15m])) > 0",
        "0m",
        "warning",
        "Objects of kind {{ $labels.type }} could not be read and are left out.",
        "The scheduler's log names each of them once.",
    ),
    (
        "EcotoneMeasurementsAreOld",
        "max(ecotone_monitor_oldest_sample_age_seconds) > 300",
        "5m",
        "warning",
        "The oldest measurement in use is {{ $value | humanizeDuration }} old.",
        "Decisions become cautious and moves stop. Look at Prometheus and at the conditions of Cluster and AppGroup.",
    ),
    (
        "EcotoneQueriesFail",
        'sum(rate(ecotone_monitor_queries_total{result!="answered"}[10m])) > '
        "0.5 * sum(rate(ecotone_monitor_queries_total[10m]))",
        "10m",
        "warning",
        "More than half of the questions to Prometheus fail.",
        "Look at the monitor's log and at Prometheus itself.",
    ),
    (
        "EcotoneDeschedulerStopped",
        "max(ecotone_descheduler_breaker_open) > 0",
        "0m",
        "warning",
        "The descheduler has stopped moving pods: moves did not bring what they promised.",
        "The conditions of the AppGroup say why; it resumes by itself after a back-off.",
    ),
    (
        "EcotoneProbeIsSilent",
        "sum by (origin) (rate(ecotone_probe_sent_total[5m])) == 0",
        "10m",
        "warning",
        "The probe on {{ $labels.origin }} sends nothing.",
        "Look at its pod; latencies from that node grow old.",
    ),
    (
        "EcotoneLinkLosesPackets",
        "ecotone:probe_loss:ratio5m > 0.05",
        "10m",
        "info",
        "{{ $value | humanizePercentage }} of the probes from {{ $labels.origin }} to {{ $labels.target }} are lost.",
        "Applications are moved where they do not need this link, if there is room.",
    ),
)


def rule_file() -> dict[str, Any]:
    recorded = [{"record": name, "expr": expression} for name, expression in RECORDED.items()]
    alerts = [
        {
            "alert": name,
            "expr": expression,
            "for": duration,
            "labels": {"severity": severity},
            "annotations": {"summary": summary, "description": what_to_do},
        }
        for name, expression, duration, severity, summary, what_to_do in ALERTS
    ]
    return {"groups": [{"name": "ecotone-recorded", "rules": recorded}, {"name": "ecotone-alerts", "rules": alerts}]}


def rules(*, namespace: str = "kube-system") -> list[dict[str, Any]]:
    import yaml

    content = yaml.safe_dump(rule_file(), sort_keys=False, width=120)
    labels = {"app.kubernetes.io/part-of": "ecotone", "prometheus-rules": "1"}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "ecotone-rules", "namespace": namespace, "labels": labels},
            "data": {"ecotone.rules.yaml": content},
        }
    ]
