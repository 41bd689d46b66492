"""The installation's rights and policies on a real API server, and people and programs who try what these refuse."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from control_plane.closed_loop import known
from control_plane.cluster import Cluster, Refused, collection
from control_plane.objects import pod
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone

TENANT = "tenant"
ADMINISTRATOR = "administrator"
"""All rights by RBAC, and not of the group that no policy binds."""
MERGE = "application/merge-patch+json"


def install(
    cluster: Cluster, *options: str, parts: tuple[str, ...] = ("crds", "rbac", "priorities", "admission")
) -> None:
    """What `ecotone manifests` prints, applied, and in force."""
    code, printed, problems = run_ecotone(cluster, "manifests", *parts, *options, "-o", "json")
    assert code == 0, problems
    for one in json.loads(printed)["items"]:
        cluster.call("POST", collection(one), one)
    wait_until(lambda: known(cluster), timeout=30, what="custom resources")
    if "admission" in parts:
        wait_until(lambda: in_force(cluster), timeout=60, what="policies in force")


def in_force(cluster: Cluster) -> bool:
    """The API server takes a moment to act on policies; the last of them refuses, and so do those before it."""
    annotated = pod("probe-of-policies", annotations={"ecotone.dev/cpu-usage": "1m"})
    urgent = pod("probe-of-policies", priorityClassName="ecotone-control")
    return all(
        tried(cluster, "POST", "/api/v1/namespaces/default/pods?dryRun=All", body, acting_as=who)
        for who, body in ((TENANT, annotated), (ADMINISTRATOR, urgent))
    )


def people(cluster: Cluster, *namespaces: str) -> None:
    """A tenant with the edit role in these namespaces, and an administrator who is one by RBAC alone."""
    for namespace in namespaces:
        with contextlib.suppress(Refused):
            cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        cluster.create(binding("RoleBinding", TENANT, "edit", namespace=namespace))
        # Beyond edit: what an administrator may well hand to a team.
        name = f"{TENANT}-more"
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": name, "namespace": namespace},
            "rules": [
                {"apiGroups": ["ecotone.dev"], "resources": ["*"], "verbs": ["*"]},
                {"apiGroups": ["", "apps", "batch"], "resources": ["pods/status", "*/status"], "verbs": ["*"]},
                {"apiGroups": [""], "resources": ["pods/binding", "bindings"], "verbs": ["create"]},
            ],
        }
        cluster.create(role, {**binding("RoleBinding", name, name, namespace=namespace, role="Role")})
    cluster.create(binding("ClusterRoleBinding", ADMINISTRATOR, "cluster-admin"))


def binding(kind: str, name: str, role_name: str, *, namespace: str = "", role: str = "ClusterRole") -> dict[str, Any]:
    user = TENANT if name.startswith(TENANT) else name
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": f"test-{name}", **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": role_name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }


def service_account(name: str, namespace: str = "kube-system") -> str:
    return f"system:serviceaccount:{namespace}:{name}"


def tried(cluster: Cluster, method: str, path: str, body: Any = None, **options: Any) -> str:
    """What the API server says in refusing; nothing if it does not refuse."""
    try:
        cluster.call(method, path, body, **options)
    except Refused as answer:
        return str(answer)
    return ""
