"""Programs that may patch an object change their own annotations on it and nothing else.

A role that lets the monitor annotate nodes lets it also taint them, and set the price by which others place; one that
lets the descheduler record a surge lets it also change the image.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.manifests import measured_keys
from ecotone.manifests.keys import PREFIX
from ecotone.services.install.admission.policy import Objects, by, listed, policy, quoted, rule
from ecotone.services.install.rbac import DESCHEDULER, MONITOR

WORKLOADS = ("deployments", "statefulsets", "daemonsets", "replicasets")
SURGE = PREFIX + "surge"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
LISTS = ("finalizers", "ownerReferences")


def monitor_annotations(namespace: str) -> Objects:
    rules = [rule("", ("nodes",)), rule("apps", WORKLOADS)]
    allowed = f"key in {listed(measured_keys.OURS)}"
    return _annotations_only("ecotone-monitor", MONITOR, rules, allowed=allowed, namespace=namespace)


def descheduler_annotations(namespace: str, left_alone: Sequence[str]) -> Objects:
    return [
        *_annotations_only(
            "ecotone-descheduler",
            DESCHEDULER,
            [rule("apps", WORKLOADS)],
            allowed=f"key == {quoted(SURGE)}",
            namespace=namespace,
            left_alone=left_alone,
        ),
        *_annotations_only(
            "ecotone-descheduler-pods",
            DESCHEDULER,
            [rule("", ("pods",))],
            allowed=f"key == {quoted(DELETION_COST)}",
            namespace=namespace,
            left_alone=left_alone,
        ),
    ]


def _annotations_only(
    name: str,
    account: str,
    rules: Sequence[dict[str, object]],
    *,
    allowed: str,
    namespace: str,
    left_alone: Sequence[str] = (),
) -> Objects:
    variables = [
        (f"{which}{field.capitalize()}", f"has({it}.metadata.{field}) ? {it}.metadata.{field} : {{}}")
        for field in ("annotations", "labels")
        for which, it in (("new", "object"), ("old", "oldObject"))
    ]
    checks = [
        "oldObject != null",
        "object.spec == oldObject.spec",
        "variables.newLabels == variables.oldLabels",
        *(
            f"has(object.metadata.{field}) == has(oldObject.metadata.{field}) && "
            f"(!has(object.metadata.{field}) || object.metadata.{field} == oldObject.metadata.{field})"
            for field in LISTS
        ),
        f"variables.newAnnotations.all(key, {allowed} || (key in variables.oldAnnotations && "
        "variables.oldAnnotations[key] == variables.newAnnotations[key]))",
        f"variables.oldAnnotations.all(key, {allowed} || key in variables.newAnnotations)",
    ]
    message = f"{account} may change nothing here but its own annotations"
    told = [(check, message) for check in checks]
    if left_alone:
        told.append((f"!(request.namespace in {listed(left_alone)})", f"{account} changes nothing in this namespace"))
    return policy(name, rules, told, conditions=[by(account, namespace)], variables=variables)
