"""How far the descheduler may go, whatever its code believes: one replica more or less, never to none, and not everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.services.install.admission.policy import Check, Objects, by, listed, policy, rule
from ecotone.services.install.rbac import DESCHEDULER


def scales(namespace: str, left_alone: Sequence[str]) -> Objects:
    # What is 0 is left out of the object.
    after, before = ("object.?spec.?replicas.orValue(0)", "oldObject.?spec.?replicas.orValue(0)")
    checks = [
        (f"{after} > 0", "the descheduler never scales to nothing"),
        (f"{after} - {before} <= 1 && {before} - {after} <= 1", "the descheduler scales by one replica at a time"),
        _not_in(left_alone),
    ]
    rules = [rule("apps", ("deployments/scale",), ("UPDATE",))]
    return policy("ecotone-descheduler-scale", rules, checks, conditions=[by(DESCHEDULER, namespace)])


def evictions(namespace: str, left_alone: Sequence[str]) -> Objects:
    rules = [rule("", ("pods/eviction",), ("CREATE",))]
    conditions = [by(DESCHEDULER, namespace)]
    return policy("ecotone-descheduler-evictions", rules, [_not_in(left_alone)], conditions=conditions)


def _not_in(namespaces: Sequence[str]) -> Check:
    return f"!(request.namespace in {listed(namespaces)})", "the descheduler moves nothing in this namespace"
