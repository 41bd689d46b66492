"""Who may hold places: reservations for those with the verb `hold`, the installation's priorities for its own namespace.

Reservations steer where pods go and keep others out. The verb is virtual: nothing in Kubernetes asks for it but this
policy, so roles that were written for other things do not carry it, and whoever may do anything (`*`) does. It is asked
of the whole cluster. Removing a reservation steers nobody and is left to RBAC: controllers that empty a namespace must be
able to, under whatever name they work.
"""

from __future__ import annotations

from ecotone.services.install.admission.policy import Objects, listed, policy, quoted, rule
from ecotone.services.install.rbac import HOLD
from ecotone.services.install.workloads import CONTROL_PRIORITY, NODE_PRIORITY


def reservations() -> Objects:
    (group,), (resource,), (verb,) = HOLD["apiGroups"], HOLD["resources"], HOLD["verbs"]
    allowed = f"authorizer.group('{group}').resource('{resource}').check('{verb}').allowed()"
    rules = [rule("ecotone.dev", ("reservations", "reservations/status"))]
    return policy("ecotone-reservations", rules, [(allowed, "only ecotone's programs write reservations")])


def priorities(namespace: str) -> Objects:
    classes = listed((CONTROL_PRIORITY, NODE_PRIORITY))
    conditions = [
        {"name": "one-of-our-classes", "expression": f"object.spec.?priorityClassName.orValue('') in {classes}"}
    ]
    check = (
        f"request.namespace == {quoted(namespace)}",
        f"priority classes {CONTROL_PRIORITY} and {NODE_PRIORITY} belong to namespace {namespace}",
    )
    rules = [rule("", ("pods",), ("CREATE",))]
    return policy("ecotone-priorities", rules, [check], conditions=conditions)
