"""A ValidatingAdmissionPolicy and its binding, from what is particular to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

API = "admissionregistration.k8s.io/v1"
Objects = list[dict[str, Any]]
Check = tuple[str, str]
"""A condition that must hold, and what to say where it does not."""


def rule(group: str, resources: Sequence[str], operations: Sequence[str] = ("CREATE", "UPDATE")) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1alpha1" if group == "ecotone.dev" else "v1"],
        "operations": list(operations),
        "resources": list(resources),
    }


def by(account: str, namespace: str) -> dict[str, str]:
    """The condition under which a policy looks at a request at all: it is this account's."""
    user = f"system:serviceaccount:{namespace}:{account}"
    return {"name": "its-own-account", "expression": f"request.userInfo.username == {quoted(user)}"}


def quoted(text: str) -> str:
    return f"'{text}'"


def listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(quoted(text) for text in texts)}]"


def policy(
    name: str,
    rules: Sequence[dict[str, Any]],
    checks: Sequence[Check],
    *,
    conditions: Sequence[dict[str, str]] = (),
    variables: Sequence[tuple[str, str]] = (),
) -> Objects:
    metadata = {"name": name, "labels": {"app.kubernetes.io/part-of": "ecotone"}}
    spec: dict[str, Any] = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": list(rules)}}
    if conditions:
        spec["matchConditions"] = list(conditions)
    if variables:
        spec["variables"] = [{"name": variable, "expression": text} for variable, text in variables]
    spec["validations"] = [
        {"expression": check, "message": message, "reason": "Forbidden"} for check, message in checks
    ]
    return [
        {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]
