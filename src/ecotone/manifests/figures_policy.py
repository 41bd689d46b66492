"""The admission policy that lets measured keys be believed, and whether what stands on a cluster is that policy.

Annotations and labels say nothing of who wrote them, and managed fields say what a client chooses. So the API server is
asked to refuse every change of a measured key unless its writer may `write` the virtual resource `figures`. The monitor's
role carries that verb, and so does a `*`; it is asked of the whole cluster, since rights within a namespace do not reach
beyond it. What stays as it is passes, and so does taking figures away, though never the times and errors alone: what is
left would look better than it is. Kubernetes' own controllers copy what is on a template or a Deployment, which was judged
there.

Conditions are short and ordered from cheap to dear: whoever changes no measured key never pays for the question of rights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecotone.manifests.keys import PREFIX
from ecotone.manifests.measured_keys import STAMPS, pattern

NAME = "ecotone-figures"
API = "admissionregistration.k8s.io/v1"
GROUP, RESOURCE, VERB = "ecotone.dev", "figures", "write"
COPYING = (
    *("deployment", "replicaset", "replication", "statefulset", "daemon-set", "job", "cronjob"),
)  # the controllers that make one object from another's template
RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("nodes", "nodes/status", "pods", "pods/status", "pods/binding", "bindings")),
    ("", ("replicationcontrollers", "replicationcontrollers/status")),
    (
        "apps",
        tuple(
            f"{plural}{part}"
            for plural in ("deployments", "replicasets", "statefulsets", "daemonsets")
            for part in ("", "/status")
        ),
    ),
    ("batch", ("jobs", "jobs/status", "cronjobs", "cronjobs/status")),
    ("ecotone.dev", ("appgroups", "appgroups/status")),
)
_PLACES = ("metadata", "spec.?template.?metadata", "spec.?jobTemplate.?metadata")
_DEEPEST = "spec.?jobTemplate.?spec.?template.?metadata"


def policy() -> dict[str, Any]:
    variables = [
        ("is", "dyn(object)"),
        ("was", "oldObject == null ? dyn({}) : dyn(oldObject)"),
        ("new", _maps("is")),
        ("old", _maps("was")),
        ("mayWrite", f"authorizer.group('{GROUP}').resource('{RESOURCE}').check('{VERB}').allowed()"),
    ]
    measured = f"k.matches(r'{pattern()}')"
    same = "(k in variables.old[i] && variables.old[i][k] == variables.new[i][k])"
    # The published keys have names that others may use, too; without a digit such a value is no figure.
    harmless = rf"(!k.startsWith('{PREFIX}') && !variables.new[i][k].matches(r'\p{{Nd}}'))"
    stamps = ", ".join(f"'{stamp}'" for stamp in STAMPS)
    where = f"[{', '.join(str(number) for number in range(2 * (len(_PLACES) + 1)))}]"
    checks = [
        (
            f"{where}.all(i, variables.new[i].all(k, !{measured} || {same} || {harmless}))",
            "measured keys are written by ecotone's monitor; leave them as they are, or take them off",
        ),
        (
            f"{where}.all(i, [{stamps}].all(s, !(s in variables.old[i]) || s in variables.new[i] || "
            f"!variables.new[i].exists(k, {measured})))",
            "measured keys are taken off together with their times and errors",
        ),
        (
            "variables.is.?status.?workloads == variables.was.?status.?workloads",
            "figures in an AppGroup's status are written by ecotone's monitor",
        ),
    ]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [_rule(group, resources) for group, resources in RULES]},
        "matchConditions": [{"name": "no-copy-by-a-controller", "expression": _no_copy()}],
        "variables": [{"name": name, "expression": expression} for name, expression in variables],
        "validations": [
            {"expression": f"({check}) || variables.mayWrite", "message": message, "reason": "Forbidden"}
            for check, message in checks
        ],
    }
    return {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": _metadata(), "spec": spec}


def binding() -> dict[str, Any]:
    spec = {"policyName": NAME, "validationActions": ["Deny"]}
    return {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": _metadata(), "spec": spec}


def why_not(found: Mapping[str, Any] | None, bound: Mapping[str, Any] | None) -> str | None:
    """Why this policy and this binding of a cluster do not keep measured keys for the monitor; None if they do."""
    if found is None:
        return f"the admission policy {NAME} is not installed"
    if bound is None:
        return f"the admission policy {NAME} is not bound"
    wanted, spec = policy()["spec"], _mapping(found.get("spec"))
    for part in ("failurePolicy", "matchConditions", "variables"):
        if spec.get(part) != wanted[part]:
            return f"the admission policy {NAME} is another one ({part} differ)"
    if not _as_strict(spec.get("validations"), wanted["validations"]):
        return f"the admission policy {NAME} is another one (validations differ)"
    if not _covers(_mapping(spec.get("matchConstraints")), wanted["matchConstraints"]["resourceRules"]):
        return f"the admission policy {NAME} leaves objects out"
    told = _mapping(bound.get("spec"))
    if told.get("policyName") != NAME or "Deny" not in (told.get("validationActions") or ()):
        return f"the binding of {NAME} refuses nothing"
    if told.get("paramRef") or not _everything(_mapping(told.get("matchResources"))):
        return f"the binding of {NAME} leaves objects out"
    return None


def _as_strict(given: Any, wanted: Sequence[Mapping[str, Any]]) -> bool:
    """Messages may be others; one check more refuses more."""
    texts = {one.get("expression") for one in given or () if isinstance(one, Mapping)}
    return {one["expression"] for one in wanted} <= texts


def _covers(constraints: Mapping[str, Any], wanted: Sequence[Mapping[str, Any]]) -> bool:
    if not _everything(constraints) or constraints.get("matchPolicy", "Equivalent") != "Equivalent":
        return False
    rules = [_mapping(rule) for rule in constraints.get("resourceRules") or ()]
    return all(
        any(
            rule.get("scope", "*") == "*"
            and not rule.get("resourceNames")
            and all(set(one[part]) <= set(rule.get(part) or ()) for part in one)
            for rule in rules
        )
        for one in wanted
    )


def _everything(match: Mapping[str, Any]) -> bool:
    """No selector and no exception narrows it."""
    return not any(match.get(part) for part in ("namespaceSelector", "objectSelector", "excludeResourceRules"))


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _metadata() -> dict[str, Any]:
    return {"name": NAME, "labels": {"app.kubernetes.io/part-of": "ecotone"}}


def _rule(group: str, resources: Sequence[str]) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1alpha1" if group == "ecotone.dev" else "v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": list(resources),
    }


def _maps(variable: str) -> str:
    """Annotations and labels of the object, of its pods' template, and of a CronJob's Jobs and their template."""
    places = [f"?{place}.?{field}" for place in (*_PLACES, _DEEPEST) for field in ("annotations", "labels")]
    return "[" + ", ".join(f"variables.{variable}.{place}.orValue({{}})" for place in places) + "]"


def _no_copy() -> str:
    names = ", ".join(f"'system:serviceaccount:kube-system:{one}-controller'" for one in COPYING)
    # A controller manager that does not lend its controllers accounts of their own works under one name.
    return f"!(request.userInfo.username in ['system:kube-controller-manager', {names}])"
