"""What each service may do, and nothing more.

Every rule is there because a request of the service needs it: a test takes each away and shows what stops. Secrets,
config maps and everything not named here stay closed.
"""

from __future__ import annotations

from typing import Any

SCHEDULER = "ecotone-scheduler"
EXTENDER = "ecotone-extender"
RBAC = "rbac.authorization.k8s.io"
Rule = dict[str, list[str]]
READ = ["list", "watch"]


def _rule(groups: str, resources: list[str], verbs: list[str]) -> Rule:
    return {"apiGroups": [groups], "resources": resources, "verbs": verbs}


CACHE_RULES: list[Rule] = [
    _rule("", ["nodes"], READ),
    _rule("", ["pods"], READ),
    _rule("", ["namespaces"], READ),
    _rule("", ["services", "replicationcontrollers"], READ),
    _rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], READ),
    _rule("policy", ["poddisruptionbudgets"], READ),
    _rule("", ["persistentvolumeclaims", "persistentvolumes"], READ),
    _rule("storage.k8s.io", ["storageclasses", "csinodes"], READ),
    _rule("ecotone.dev", ["networkmaps", "reservations"], READ),
]
SCHEDULER_RULES: list[Rule] = [
    *CACHE_RULES,
    # Reading a pod back after a binding whose answer was lost; removing the victims of a preemption.
    _rule("", ["pods"], ["get", "delete"]),
    _rule("", ["pods/binding"], ["create"]),
    _rule("", ["pods/status"], ["patch"]),
    # Volumes that wait for their first consumer: telling where it is, and seeing that they are bound.
    _rule("", ["persistentvolumeclaims"], ["get", "patch"]),
    _rule("", ["persistentvolumes"], ["patch"]),
    _rule("events.k8s.io", ["events"], ["create", "patch"]),
    # Whether a caller of /decisions from another machine may see that pod.
    _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
]
LEASE_RULES: list[Rule] = [
    _rule("coordination.k8s.io", ["leases"], ["create"]),
    {**_rule("coordination.k8s.io", ["leases"], ["get", "update"]), "resourceNames": [SCHEDULER]},
]
EXTENDER_RULES: list[Rule] = [
    *CACHE_RULES,
    _rule("", ["pods"], ["get"]),
    _rule("", ["pods/binding"], ["create"]),
]


def rbac(*, namespace: str = "kube-system") -> list[dict[str, Any]]:
    """Accounts, roles and bindings of the scheduler and the extender."""
    objects: list[dict[str, Any]] = []
    for name, rules in ((SCHEDULER, SCHEDULER_RULES), (EXTENDER, EXTENDER_RULES)):
        objects += [
            _object("v1", "ServiceAccount", name, namespace),
            {**_object(f"{RBAC}/v1", "ClusterRole", name), "rules": rules},
            _binding("ClusterRole", name, namespace),
        ]
    objects += [
        {**_object(f"{RBAC}/v1", "Role", SCHEDULER, namespace), "rules": LEASE_RULES},
        _binding("Role", SCHEDULER, namespace, within=namespace),
    ]
    return objects


def _object(version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {"app.kubernetes.io/part-of": "ecotone"}}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _binding(role: str, name: str, namespace: str, *, within: str | None = None) -> dict[str, Any]:
    return {
        **_object(f"{RBAC}/v1", f"{role}Binding", name, within),
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
