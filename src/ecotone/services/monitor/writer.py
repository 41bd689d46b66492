"""Every write of the monitor, in one place, with the right it needs.

| write | API group, resource | verb |
|---|---|---|
| a node's `ecotone.dev/*` annotations | core, `nodes` | patch |
| a workload's `ecotone.dev/*` annotations | apps, `deployments`, `statefulsets`, `daemonsets` | patch |
| copies of removed annotations, off a Deployment's ReplicaSets | apps, `replicasets` | patch |
| conditions and figures | ecotone.dev, `clusters/status`, `appgroups/status` | patch |
| Events | events.k8s.io, `events` | create, patch |
| the lease, with --leader-elect | coordination.k8s.io, `leases` | create; get, update of `ecotone-monitor` |

It reads (list, watch) nodes, pods, deployments, statefulsets, daemonsets, replicasets, clusters, appgroups. With
`--no-cluster` it needs nothing of clusters; with `--no-applications` nothing of workloads and appgroups. Pods, replicasets
and nodes tell who exposed a series; with `--trust-prometheus` only the part that measures them needs them.

Kubernetes copies a Deployment's annotations to its ReplicaSets, cluster-wide at 20 writes a second: writes to workloads
are therefore spread out, and namespaces take turns: one whose figures never rest delays its own. A write that is refused
is reported and left to the next cycle, which plans it anew.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import Resource
from ecotone.kube.writing.applying import apply_annotations, apply_status, remove_annotations
from ecotone.services.monitor.metrics import MonitorMetrics
from ecotone.services.monitor.watched import FIELD_MANAGER, Meta
from ecotone.telemetry.turns import Turns

log = logging.getLogger(__name__)

_RESOURCES = {each.kind: each for each in (resources.DEPLOYMENTS, resources.STATEFUL_SETS, resources.DAEMON_SETS)}


class Pace:
    """Lets one through every so often, namespaces in turns: a bucket of one second's worth of tokens."""

    def __init__(self, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._tokens = max(1.0, per_second)
        self._at = clock()
        self._turns = Turns(1)

    async def turn(self, namespace: str) -> None:
        async with self._turns.turn(namespace):
            now = self._clock()
            self._tokens = min(max(1.0, self._per_second), self._tokens + (now - self._at) * self._per_second)
            self._at = now
            if self._tokens < 1:
                await asyncio.sleep((1 - self._tokens) / self._per_second)
                self._tokens, self._at = 1.0, self._clock()
            self._tokens -= 1


class Writer:
    def __init__(
        self,
        client: ApiClient,
        metrics: MonitorMetrics,
        *,
        workloads_per_second: float,
        nodes_at_once: int,
        deadline: Callable[[], float | None],
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._pace = Pace(workloads_per_second)
        self._nodes = asyncio.Semaphore(nodes_at_once)
        self._deadline = deadline

    async def node(self, meta: Meta, annotations: Mapping[str, str]) -> bool:
        async with self._nodes:
            return await self._annotate("node", resources.NODES, meta, annotations)

    async def workload(self, kind: str, meta: Meta, annotations: Mapping[str, str]) -> bool:
        await self._pace.turn(meta.namespace)
        return await self._annotate("workload", _RESOURCES[kind], meta, annotations)

    async def replica_set(self, meta: Meta, keys: Iterable[str]) -> bool:
        await self._pace.turn(meta.namespace)
        return await self._write(
            "replicaset",
            meta,
            remove_annotations(
                self._client,
                resources.REPLICA_SETS,
                keys,
                name=meta.name,
                namespace=meta.namespace,
                uid=meta.uid,
                deadline=self._deadline(),
            ),
        )

    async def status(self, resource: Resource, meta: Meta, status: Mapping[str, Any]) -> bool:
        return await self._write(
            "status",
            meta,
            apply_status(
                self._client,
                resource,
                status,
                name=meta.name,
                namespace=meta.namespace or None,
                uid=meta.uid,
                manager=FIELD_MANAGER,
                deadline=self._deadline(),
            ),
        )

    async def _annotate(self, what: str, resource: Resource, meta: Meta, annotations: Mapping[str, str]) -> bool:
        return await self._write(
            what,
            meta,
            apply_annotations(
                self._client,
                resource,
                annotations,
                name=meta.name,
                namespace=meta.namespace or None,
                uid=meta.uid,
                manager=FIELD_MANAGER,
                deadline=self._deadline(),
            ),
        )

    async def _write(self, what: str, meta: Meta, request: Awaitable[None]) -> bool:
        try:
            await request
        except ApiError as error:
            # 404 and 409: the object went, or another took its name; there is nothing left to write on.
            gone = error.not_found or error.conflict
            self._metrics.writes.labels(what, "gone" if gone else "refused").inc()
            log.log(logging.INFO if gone else logging.WARNING, "%s %s/%s: %s", what, meta.namespace, meta.name, error)
            return False
        except UnreachableError as error:
            self._metrics.writes.labels(what, "unreachable").inc()
            log.warning("%s %s/%s: %s", what, meta.namespace, meta.name, error)
            return False
        self._metrics.writes.labels(what, "done").inc()
        return True
