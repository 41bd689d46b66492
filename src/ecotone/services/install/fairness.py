"""How the API server shares itself out: a FlowSchema for each program, so that none of them crowds out another.

The scheduler's requests are what pods wait for; the monitor's, the descheduler's and the probes' can wait. Leases go with
those of Kubernetes' own controllers: a leader that cannot renew stops working.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.services.install.rbac import DESCHEDULER, MONITOR, PROBE, SCHEDULER

LEVELS = {SCHEDULER: "workload-high", DESCHEDULER: "workload-low", MONITOR: "workload-low", PROBE: "workload-low"}
ELECTING = (SCHEDULER, MONITOR, DESCHEDULER)
_EVERYTHING: dict[str, Any] = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "clusterScope": True,
    "namespaces": ["*"],
}


def flow_schemas(accounts: Sequence[str] = tuple(LEVELS), *, namespace: str = "kube-system") -> list[dict[str, Any]]:
    found = [
        _schema(name, [name], level=LEVELS[name], precedence=1000, rule=_EVERYTHING, namespace=namespace)
        for name in accounts
    ]
    leases = {
        "verbs": ["get", "create", "update"],
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "namespaces": [namespace],
    }
    electing = [name for name in accounts if name in ELECTING]
    if electing:
        found.append(
            _schema(
                "ecotone-leases", electing, level="leader-election", precedence=900, rule=leases, namespace=namespace
            )
        )
    return found


def _schema(
    name: str, accounts: Sequence[str], *, level: str, precedence: int, rule: dict[str, Any], namespace: str
) -> dict[str, Any]:
    subjects = [
        {"kind": "ServiceAccount", "serviceAccount": {"name": account, "namespace": namespace}} for account in accounts
    ]
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/part-of": "ecotone"}},
        "spec": {
            "priorityLevelConfiguration": {"name": level},
            "matchingPrecedence": precedence,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [{"subjects": subjects, "resourceRules": [rule]}],
        },
    }
