"""What each service may do, and nothing more.

Every rule is there because a request of the service needs it: a test takes each away and shows what stops. Secrets,
config maps and everything not named here stay closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.manifests import figures_policy

SCHEDULER = "ecotone-scheduler"
EXTENDER = "ecotone-extender"
MONITOR = "ecotone-monitor"
DESCHEDULER = "ecotone-descheduler"
PROBE = "ecotone-probe"
RBAC = "rbac.authorization.k8s.io"
Rule = dict[str, list[str]]
READ = ["list", "watch"]


def rule(groups: str, resources: list[str], verbs: list[str]) -> Rule:
    return {"apiGroups": [groups], "resources": resources, "verbs": verbs}


# Virtual verbs, which admission policies alone ask for: writing what was measured, and holding places.
WRITE_FIGURES: Rule = rule(figures_policy.GROUP, [figures_policy.RESOURCE], [figures_policy.VERB])
HOLD: Rule = rule("ecotone.dev", ["reservations"], ["hold"])
# Whether measured keys have the monitor alone as their writer.
LOOK_AT_POLICY: Rule = {
    **rule(
        "admissionregistration.k8s.io",
        ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
        ["get"],
    ),
    "resourceNames": [figures_policy.NAME],
}
CACHE_RULES: list[Rule] = [
    LOOK_AT_POLICY,
    rule("", ["nodes"], READ),
    rule("", ["pods"], READ),
    rule("", ["namespaces"], READ),
    rule("", ["services", "replicationcontrollers"], READ),
    rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], READ),
    rule("policy", ["poddisruptionbudgets"], READ),
    rule("", ["persistentvolumeclaims", "persistentvolumes"], READ),
    rule("storage.k8s.io", ["storageclasses", "csinodes"], READ),
    rule("ecotone.dev", ["networkmaps", "reservations", "appgroups"], READ),
]
SCHEDULER_RULES: list[Rule] = [
    *CACHE_RULES,
    # Reading a pod back after a binding whose answer was lost; removing the victims of a preemption.
    rule("", ["pods"], ["get", "delete"]),
    rule("", ["pods/binding"], ["create"]),
    rule("", ["pods/status"], ["patch"]),
    # Volumes that wait for their first consumer: telling where it is, and seeing that they are bound.
    rule("", ["persistentvolumeclaims"], ["get", "patch"]),
    rule("", ["persistentvolumes"], ["patch"]),
    rule("events.k8s.io", ["events"], ["create", "patch"]),
    # Telling that a place kept for a moved pod has its pod.
    rule("ecotone.dev", ["reservations/status"], ["patch"]),
    # Whether a caller of /decisions from another machine may see that pod.
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
]


def lease_rules(name: str, *, looks_at: Sequence[str] = ()) -> list[Rule]:
    """A program's own lease, and those of others it may look at."""
    rules = [
        rule("coordination.k8s.io", ["leases"], ["create"]),
        {**rule("coordination.k8s.io", ["leases"], ["get", "update"]), "resourceNames": [name]},
    ]
    if looks_at:
        rules.append({**rule("coordination.k8s.io", ["leases"], ["get"]), "resourceNames": list(looks_at)})
    return rules


LEASE_RULES: list[Rule] = lease_rules(SCHEDULER)
MONITOR_RULES: list[Rule] = [
    rule("", ["nodes"], READ),
    rule("", ["pods"], READ),
    rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], READ),
    rule("ecotone.dev", ["clusters", "appgroups"], READ),
    # Annotations; an admission policy sees to it that nothing else is changed.
    rule("", ["nodes"], ["patch"]),
    rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], ["patch"]),
    rule("ecotone.dev", ["clusters/status", "appgroups/status"], ["patch"]),
    rule("events.k8s.io", ["events"], ["create", "patch"]),
]
MOVE_RULES: list[Rule] = [
    # The pod once more, just before it goes; the only way a running pod is asked to leave.
    rule("", ["pods"], ["get"]),
    rule("", ["pods/eviction"], ["create"]),
    rule("ecotone.dev", ["reservations"], ["create", "delete"]),
    # A surge: its record on the Deployment, one replica more and less, and which pod goes.
    rule("apps", ["deployments"], ["get", "patch"]),
    rule("apps", ["deployments/scale"], ["get", "update"]),
    rule("autoscaling", ["horizontalpodautoscalers"], ["list"]),
    rule("", ["pods"], ["patch"]),
    rule("events.k8s.io", ["events"], ["create", "patch"]),
]
"""What moving the pods of a namespace takes; also given in some namespaces alone."""
LOOK_RULES: list[Rule] = [
    *CACHE_RULES,
    # A move's target once more, just before it.
    rule("", ["nodes"], ["get"]),
    # Also where it moves nothing it says so.
    rule("ecotone.dev", ["appgroups/status"], ["patch"]),
]
DESCHEDULER_RULES: list[Rule] = [*LOOK_RULES, *MOVE_RULES]
# Also whether the scheduler is alive: nothing moves while nobody would place it.
DESCHEDULER_LEASE_RULES: list[Rule] = lease_rules(DESCHEDULER, looks_at=(SCHEDULER,))
PROBE_RULES: list[Rule] = [rule("", ["pods"], READ)]
EXTENDER_RULES: list[Rule] = CACHE_RULES
EXTENDER_BIND_RULES: list[Rule] = [
    rule("", ["pods"], ["get"]),
    rule("", ["pods/binding"], ["create"]),
]


def rbac(
    components: Sequence[str] = ("scheduler", "monitor", "descheduler", "probe"),
    *,
    namespace: str = "kube-system",
    move_only_in: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Accounts, roles and bindings of these programs. `move_only_in`: the only namespaces the descheduler may change."""
    made: list[dict[str, Any]] = []
    for component, program in _PROGRAMS.items():
        if component not in components:
            continue
        rules = [*program.rules, *program.virtual]
        if component == "descheduler" and move_only_in:
            rules = [*LOOK_RULES, *program.virtual]
            for place in move_only_in:
                made += _inside(program.account, MOVE_RULES, namespace=place, account_in=namespace)
        if rules:
            made += account(program.account, rules, namespace=namespace)
        else:
            made.append(_object("v1", "ServiceAccount", program.account, namespace))
        made += _inside(program.account, program.inside, namespace=namespace, account_in=namespace)
    return made


@dataclass(frozen=True, slots=True)
class _Program:
    """Account, rights in the whole cluster, those that only policies ask for, and rights where the programs run."""

    account: str
    rules: list[Rule]
    virtual: list[Rule]
    inside: list[Rule]


_PROGRAMS = {
    "scheduler": _Program(SCHEDULER, SCHEDULER_RULES, [HOLD], LEASE_RULES),
    "monitor": _Program(MONITOR, MONITOR_RULES, [WRITE_FIGURES], lease_rules(MONITOR)),
    "descheduler": _Program(DESCHEDULER, DESCHEDULER_RULES, [HOLD], DESCHEDULER_LEASE_RULES),
    "probe": _Program(PROBE, [], [], PROBE_RULES),
}


def _inside(name: str, rules: list[Rule], *, namespace: str, account_in: str) -> list[dict[str, Any]]:
    return [
        {**_object(f"{RBAC}/v1", "Role", name, namespace), "rules": rules},
        _binding("Role", name, account_in, within=namespace),
    ]


def extender_rbac(*, namespace: str = "kube-system", bind: bool = False) -> list[dict[str, Any]]:
    """Account, role and binding of the extender: reading alone, unless it is to bind."""
    return account(EXTENDER, [*EXTENDER_RULES, *(EXTENDER_BIND_RULES if bind else [])], namespace=namespace)


def account(name: str, rules: list[Rule], *, namespace: str) -> list[dict[str, Any]]:
    """A service account with these rights in the whole cluster."""
    return [
        _object("v1", "ServiceAccount", name, namespace),
        {**_object(f"{RBAC}/v1", "ClusterRole", name), "rules": rules},
        _binding("ClusterRole", name, namespace),
    ]


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
