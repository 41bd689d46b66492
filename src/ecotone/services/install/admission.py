"""What roles cannot narrow: which fields a program may change, and who alone writes a kind of object.

A role that lets the monitor annotate nodes lets it also taint them; one that lets the descheduler record a surge on a
Deployment lets it also change the image. A ValidatingAdmissionPolicy looks at the difference between old and new object:
the monitor may change annotations `ecotone.dev/*` and nothing else, the descheduler those on Deployments and, on pods,
`pod-deletion-cost`. Reservations steer where pods go, so only the descheduler writes them; the cluster's own controllers
and its administrators (group `system:masters`) may remove them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.services.install.rbac import DESCHEDULER, MONITOR

API = "admissionregistration.k8s.io/v1"
OURS = "key.startsWith('ecotone.dev/')"
DELETION_COST = "key == 'controller.kubernetes.io/pod-deletion-cost'"
WORKLOADS = ("deployments", "statefulsets", "daemonsets", "replicasets")
CONTROLLERS = ("namespace-controller", "generic-garbage-collector")


def admission_policies(
    components: Sequence[str] = ("monitor", "descheduler"), *, namespace: str = "kube-system"
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if "monitor" in components:
        rules = [_rule("", ("nodes",)), _rule("apps", WORKLOADS)]
        found += _annotations_only("ecotone-monitor", MONITOR, rules, allowed=OURS, namespace=namespace)
    if "descheduler" in components:
        rules = [_rule("apps", WORKLOADS)]
        found += _annotations_only("ecotone-descheduler", DESCHEDULER, rules, allowed=OURS, namespace=namespace)
        rules = [_rule("", ("pods",))]
        found += _annotations_only(
            "ecotone-descheduler-pods", DESCHEDULER, rules, allowed=DELETION_COST, namespace=namespace
        )
        found += _reservations(namespace)
    return found


def _rule(group: str, resources: Sequence[str], operations: Sequence[str] = ("CREATE", "UPDATE")) -> dict[str, Any]:
    version = "v1alpha1" if group == "ecotone.dev" else "v1"
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
    }


def _user(account: str, namespace: str) -> str:
    return f"'system:serviceaccount:{namespace}:{account}'"


def _annotations_only(
    name: str, account: str, rules: list[dict[str, Any]], *, allowed: str, namespace: str
) -> list[dict[str, Any]]:
    variables = [
        {
            "name": f"{which}{field.capitalize()}",
            "expression": f"has({it}.metadata.{field}) ? {it}.metadata.{field} : {{}}",
        }
        for field in ("annotations", "labels")
        for which, it in (("new", "object"), ("old", "oldObject"))
    ]
    same = (
        "variables.newAnnotations.all(key, {allowed} || (key in variables.oldAnnotations && "
        "variables.oldAnnotations[key] == variables.newAnnotations[key]))"
    )
    kept = "variables.oldAnnotations.all(key, {allowed} || key in variables.newAnnotations)"
    message = f"{account} may change nothing here but its own annotations"
    checks = [
        "oldObject != null",
        "object.spec == oldObject.spec",
        "variables.newLabels == variables.oldLabels",
        "has(object.metadata.finalizers) == has(oldObject.metadata.finalizers) && "
        "(!has(object.metadata.finalizers) || object.metadata.finalizers == oldObject.metadata.finalizers)",
        "has(object.metadata.ownerReferences) == has(oldObject.metadata.ownerReferences) && "
        "(!has(object.metadata.ownerReferences) || object.metadata.ownerReferences == oldObject.metadata.ownerReferences)",
        same.replace("{allowed}", allowed),
        kept.replace("{allowed}", allowed),
    ]
    conditions = [
        {"name": "its-own-account", "expression": f"request.userInfo.username == {_user(account, namespace)}"}
    ]
    validations = [{"expression": check, "message": message, "reason": "Forbidden"} for check in checks]
    return _policy(name, rules, validations, conditions=conditions, variables=variables)


def _reservations(namespace: str) -> list[dict[str, Any]]:
    controllers = ", ".join(f"'system:serviceaccount:kube-system:{name}'" for name in CONTROLLERS)
    allowed = (
        f"request.userInfo.username == {_user(DESCHEDULER, namespace)} || "
        "'system:masters' in request.userInfo.groups || "
        f"(request.operation == 'DELETE' && request.userInfo.username in [{controllers}])"
    )
    validation = {
        "expression": allowed,
        "message": "only ecotone's descheduler writes reservations",
        "reason": "Forbidden",
    }
    rules = [_rule("ecotone.dev", ("reservations",), ("CREATE", "UPDATE", "DELETE"))]
    return _policy("ecotone-reservations", rules, [validation])


def _policy(
    name: str,
    rules: list[dict[str, Any]],
    validations: list[dict[str, Any]],
    *,
    conditions: Sequence[dict[str, Any]] = (),
    variables: Sequence[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    metadata = {"name": name, "labels": {"app.kubernetes.io/part-of": "ecotone"}}
    spec: dict[str, Any] = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}}
    if conditions:
        spec["matchConditions"] = list(conditions)
    if variables:
        spec["variables"] = list(variables)
    spec["validations"] = validations
    return [
        {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]
