"""Roles taken apart: each right on its own, a role without one of them, and what the audit log says was used."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from control_plane.closed_loop import known
from control_plane.cluster import Cluster, collection
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone

Rule = dict[str, Any]
Right = tuple[str, str, str]
"""API group, resource with its subresource, verb."""


def install_role(cluster: Cluster, name: str, *, crds: bool = True) -> None:
    """Custom resources and this program's printed role, given to the test's user `ecotone` instead of the account."""
    code, printed, problems = run_ecotone(cluster, "manifests", *(["crds"] if crds else []), "rbac")
    assert code == 0, problems
    for one in yaml.safe_load_all(printed):
        if one["kind"] != "CustomResourceDefinition" and one["metadata"]["name"] != name:
            continue
        if one["kind"].endswith("RoleBinding"):
            one["subjects"] = [{"kind": "User", "name": "ecotone", "apiGroup": "rbac.authorization.k8s.io"}]
        cluster.call("POST", collection(one), one)
    # A kind that is not served yet is looked for again only after a while.
    wait_until(lambda: known(cluster), timeout=30, what="custom resources")


def single_rules(*roles: tuple[str, Iterable[Rule]]) -> list[tuple[str, str, Rule]]:
    """Each resource and verb on its own, with the kind of role it stands in and a name for people."""
    return [
        (role, f"{verb} {resource}", {**rule, "resources": [resource], "verbs": [verb]})
        for role, rules in roles
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(rules: list[Rule], gone: Rule) -> list[Rule]:
    left = []
    for rule in copy.deepcopy(rules):
        meant = rule["apiGroups"] == gone["apiGroups"] and gone["resources"][0] in rule["resources"]
        if not meant or gone["verbs"][0] not in rule["verbs"]:
            left.append(rule)
            continue
        others = [one for one in rule["resources"] if one != gone["resources"][0]]
        verbs = [one for one in rule["verbs"] if one != gone["verbs"][0]]
        if others:
            left.append({**rule, "resources": others})
        if verbs:
            left.append({**rule, "resources": gone["resources"], "verbs": verbs})
    return left


@contextmanager
def lacking(cluster: Cluster, name: str, role: str, rule: Rule) -> Iterator[None]:
    """This program's role without one right, for a while."""
    api = "/apis/rbac.authorization.k8s.io/v1"
    path = f"{api}/clusterroles/{name}" if role == "clusterroles" else f"{api}/namespaces/kube-system/roles/{name}"
    whole = cluster.call("GET", path)
    cluster.call("PUT", path, {**whole, "rules": without(whole["rules"], rule)})
    try:
        yield
    finally:
        current = cluster.call("GET", path)
        cluster.call("PUT", path, {**current, "rules": whole["rules"]})


def granted(*roles: Iterable[Rule]) -> set[Right]:
    return {
        (group, resource, verb)
        for rules in roles
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used_and_refused(audit_log: Path, *, user: str = "ecotone") -> tuple[set[Right], set[Right]]:
    used: set[Right] = set()
    refused: set[Right] = set()
    for line in audit_log.read_text().splitlines():
        event = json.loads(line)
        if event["user"]["username"] != user or event["stage"] != "ResponseComplete":
            continue
        target = event["objectRef"]
        resource = "/".join(part for part in (target["resource"], target.get("subresource")) if part)
        what = (target.get("apiGroup", ""), resource, event["verb"])
        (refused if event["responseStatus"].get("code") == 403 else used).add(what)
    return used, refused


def unused(audit_log: Path, *roles: Iterable[Rule]) -> set[Right]:
    """Rights nobody used; watches end only with the server, so the log may not have them yet."""
    used, _ = used_and_refused(audit_log)
    return {one for one in granted(*roles) - used if one[2] != "watch"}
