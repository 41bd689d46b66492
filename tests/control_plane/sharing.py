"""One control plane for many modules: each has it to itself, finds it as it was when new, and leaves nothing behind.

A worker plays its modules one after the other, so sharing one API server between them needs no namespaces or labels to keep
schedulers off other modules' nodes: what a module has made is gone before the next one begins. Modules side by side are
on different workers, and each worker has an API server of its own.

What is taken away is not listed by hand: it is whatever was not there at the beginning. If something does not go, or was there
at the beginning and is another now, the control plane is given up and the next module gets a new one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from control_plane.cluster import Cluster, Refused
from control_plane.processes import wait_until

log = logging.getLogger(__name__)

BEGINNING = {f"/api/v1/namespaces/{name}" for name in ("default", "kube-node-lease", "kube-public", "kube-system")}
BEGINNING |= {"/api/v1/namespaces/default/services/kubernetes"}
"""What an API server makes by itself, a moment after it says that it is ready."""
NOT_ASKED = {
    "/api/v1/events",  # the same objects as those of events.k8s.io
    "/apis/networking.k8s.io/v1/ipaddresses",  # come and go with services, a moment later
}
LIVELY = {"Lease"}  # changed all the time by who holds them
LAST = ("Namespace", "CustomResourceDefinition")  # after what is in them or of them
MERGE = "application/merge-patch+json"
GONE_SECONDS = 20.0


@dataclass(frozen=True)
class Kind:
    path: str
    namespaced: bool
    name: str

    def of(self, one: dict[str, Any]) -> str:
        """The path of an object of this kind."""
        root, _, plural = self.path.rpartition("/")
        place = f"/namespaces/{one['metadata']['namespace']}" if self.namespaced else ""
        return f"{root}{place}/{plural}/{one['metadata']['name']}"


def kinds(cluster: Cluster) -> Iterator[Kind]:
    """Every kind of object that can be listed and deleted, in the version that the API server prefers."""
    versions = [one["preferredVersion"]["groupVersion"] for one in cluster.call("GET", "/apis")["groups"]]
    for root in ("/api/v1", *(f"/apis/{version}" for version in versions)):
        try:
            resources = cluster.call("GET", root)["resources"]
        except Refused as error:
            if error.status != 404:  # a group whose last custom kind has just gone
                raise
            continue
        for one in resources:
            path = f"{root}/{one['name']}"
            if {"list", "delete"} <= set(one["verbs"]) and "/" not in one["name"] and path not in NOT_ASKED:
                yield Kind(path, one["namespaced"], one["kind"])


def objects(cluster: Cluster, kind: Kind) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def answered() -> bool:
        try:
            found[:] = cluster.list(kind.path)
        except Refused as error:
            # A custom kind may go between two questions, and when it is new its storage takes a moment.
            if error.status not in (404, 429):
                raise
            return error.status == 404
        return True

    wait_until(answered, timeout=10, what=f"list of {kind.path}")
    return found


def everything(cluster: Cluster) -> dict[str, tuple[Kind, dict[str, Any]]]:
    return {kind.of(one): (kind, one) for kind in kinds(cluster) for one in objects(cluster, kind)}


def essence(kind: Kind, one: dict[str, Any]) -> str:
    """What of an object does not change by itself."""
    if kind.name in LIVELY:
        return ""
    kept = {key: value for key, value in one.items() if key != "status"}
    if kept.get("aggregationRule"):
        del kept["rules"]  # summed up by a controller
    kept["metadata"] = {key: one["metadata"].get(key) for key in ("uid", "labels", "annotations", "finalizers")}
    return json.dumps(kept, sort_keys=True)


class Shared:
    """A control plane that is lent to one module after the other."""

    def __init__(self, start: Callable[[], Cluster]) -> None:
        self._start = start
        self._cluster: Cluster | None = None
        self._new: dict[str, str] = {}
        self.started = 0

    def lend(self) -> Iterator[Cluster]:
        if self._cluster is None:
            self._cluster = self._start()
            self.started += 1
            wait_until(self._has_come_up, timeout=60, what="what is there from the beginning")
        cluster = self._cluster
        yield cluster
        cluster.stop_others()
        if not self._as_new(cluster):
            cluster.stop()
            self._cluster = None

    def _has_come_up(self) -> bool:
        assert self._cluster is not None
        self._new = {path: essence(*found) for path, found in everything(self._cluster).items()}
        return self._new.keys() >= BEGINNING

    def _as_new(self, cluster: Cluster) -> bool:
        try:
            wait_until(lambda: not self._wipe(cluster), timeout=GONE_SECONDS, what="empty cluster", every=0.1)
        except (TimeoutError, OSError, Refused) as error:
            log.warning("a shared control plane is given up: %s", error)
            return False
        now = {path: essence(*found) for path, found in everything(cluster).items()}
        different = sorted(path for path in self._new.keys() | now.keys() if self._new.get(path) != now.get(path))
        if different:
            log.warning("a shared control plane is given up, it is not as it was: %s", ", ".join(different))
        return not different

    def _wipe(self, cluster: Cluster) -> int:
        """Deletes what is there and was not in the beginning; says how much it was."""
        extra = [found for path, found in everything(cluster).items() if path not in self._new]
        for kind, one in sorted(extra, key=lambda found: LAST.index(found[0].name) if found[0].name in LAST else -1):
            try:
                self._delete(cluster, kind, one)
            except Refused as error:  # gone meanwhile, or a policy that forbids it goes in this turn
                log.info("not deleted in this turn: %s: %s", kind.of(one), error)
        return len(extra)

    def _delete(self, cluster: Cluster, kind: Kind, one: dict[str, Any]) -> None:
        path = kind.of(one)
        if one["metadata"].get("finalizers") and kind.name != "CustomResourceDefinition":
            cluster.call("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
        if "deletionTimestamp" not in one["metadata"]:
            cluster.call("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        if kind.name == "Namespace":  # nobody else is here to say that it is empty
            last = cluster.call("GET", path)
            last["spec"]["finalizers"] = []
            cluster.call("PUT", f"{path}/finalize", last)
