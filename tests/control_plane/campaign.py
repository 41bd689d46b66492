"""A tenant who may do anything in his own namespace, what he tries, and what becomes of everybody else.

Attempts register themselves by kind; each gets the tenant and a seeded draw, does one thing and says what it was. Whether
it is refused does not matter. What matters is the picture of the other namespaces before and after.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from control_plane.admission import MERGE, TENANT, tried
from control_plane.cluster import Cluster

APPLY = "application/apply-patch+yaml"
Attempt = Callable[["Tenant", random.Random], str]
ATTEMPTS: dict[str, Attempt] = {}
GROUPS = "/apis/ecotone.dev/v1alpha1"
EVERY = 20
"""Attempts between two looks at the others."""


def attempt(kind: str) -> Callable[[Attempt], Attempt]:
    """Registers what a tenant may try."""

    def register(made: Attempt) -> Attempt:
        assert kind not in ATTEMPTS, kind
        ATTEMPTS[kind] = made
        return made

    return register


@dataclass(frozen=True)
class Tenant:
    cluster: Cluster
    namespace: str = "evil"
    user: str = TENANT

    def tries(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> str:
        """What the API server says in refusing; nothing if it does not refuse."""
        return tried(self.cluster, method, path, body, content_type=content_type, acting_as=self.user)

    def patches(self, path: str, body: Any) -> str:
        return self.tries("PATCH", path, body, content_type=MERGE)

    def here(self, group: str, plural: str, name: str = "") -> str:
        """A path in his own namespace."""
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        return f"{root}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True)
class Victims:
    """Everything of other namespaces that a tenant's doing could change."""

    cluster: Cluster
    namespaces: Sequence[str]

    def picture(self) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for namespace in self.namespaces:
            for root, plural, shown in (
                ("/api/v1", "pods", _pod),
                ("/apis/apps/v1", "deployments", _workload),
                ("/apis/apps/v1", "replicasets", _workload),
                (GROUPS, "reservations", _whole),
                (GROUPS, "appgroups", _settings),
            ):
                for one in self.cluster.list(f"{root}/namespaces/{namespace}/{plural}"):
                    seen[f"{plural}/{namespace}/{one['metadata']['name']}"] = shown(one)
        for one in self.cluster.list("/api/v1/nodes"):
            seen[f"nodes/{one['metadata']['name']}"] = [one["spec"], *_notes(one)]
        return seen


def _notes(one: dict[str, Any]) -> list[Any]:
    return [one["metadata"].get(field, {}) for field in ("labels", "annotations")]


def _pod(one: dict[str, Any]) -> list[Any]:
    """Which pod it is, where it runs, and whether it is on its way out."""
    meta = one["metadata"]
    return [meta["uid"], one["spec"].get("nodeName"), "deletionTimestamp" in meta, *_notes(one)]


def _workload(one: dict[str, Any]) -> list[Any]:
    return [one["spec"], *_notes(one)]


def _whole(one: dict[str, Any]) -> list[Any]:
    return [one["spec"], one.get("status", {})]


def _settings(one: dict[str, Any]) -> list[Any]:
    """Not its status, which tells of every round; moves are pods that are others now."""
    return [one["spec"]]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        f"{key}: {before.get(key)} -> {after.get(key)}"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]


def play(
    tenant: Tenant, victims: Victims, *, count: int, seed: int, kinds: Iterable[str] = (), check: Callable[[], None]
) -> list[str]:
    """So many attempts; every few of them, and at the end, the others must be as they were. `check`: our programs live."""
    draw = random.Random(seed)
    chosen = sorted(kinds or ATTEMPTS)
    before = victims.picture()
    told: list[str] = []
    for number in range(count):
        # Each kind comes before any comes again.
        kind = chosen[number % len(chosen)] if number < len(chosen) else draw.choice(chosen)
        told.append(f"{number} {kind}: {ATTEMPTS[kind](tenant, draw)}")
        if number % EVERY == EVERY - 1:
            check()
            assert not changes(before, victims.picture()), "\n".join(told[-EVERY:])
    return told
