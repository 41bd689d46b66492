"""A view of the cluster, sorted by application once for all rounds that look at it.

A round asks about the pods and workloads of one namespace. With two hundred applications due at the same moment each would
go through fifty thousand pods several times to find its own; here they are told apart in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from ecotone.model.members import pods_of
from ecotone.model.objects import Node, Pod, Workload, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.services.descheduler.restraint import is_leaving
from ecotone.services.live_cache import LiveCache

FRESH_SECONDS = 1.0
"""How long several rounds may share a view; whoever moves something asks for a new one."""

Group = tuple[str, str]


class Survey:
    """`waiting`: pods without a node, which a live view leaves to the scheduler's queue."""

    def __init__(self, view: Snapshot, waiting: Iterable[Pod] = ()) -> None:
        self.view = view
        self.all_waiting = tuple(waiting)
        self._waiting: dict[Group, list[Pod]] = {}
        for pod in self.all_waiting:
            if pod.kind.app_group is not None:
                self._waiting.setdefault((pod.namespace, pod.kind.app_group), []).append(pod)
        self._pods: dict[str, list[Pod]] = {}
        for pod in view.pods():
            self._pods.setdefault(pod.namespace, []).append(pod)
        self._workloads: dict[str, list[Workload]] = {}
        for workload in view.workloads.values():
            self._workloads.setdefault(workload.key.namespace, []).append(workload)
        self._members: dict[Group, set[WorkloadKey]] = {}
        for kinds in view.named.values():
            for kind in kinds:
                if kind.app_group is not None:
                    self._members.setdefault((kind.namespace, kind.app_group), set()).add(kind.workload)

    def pods(self, namespace: str) -> Iterable[Pod]:
        """All that have a node and are not finished."""
        return self._pods.get(namespace, ())

    def waiting(self, namespace: str, app_group: str) -> Sequence[Pod]:
        """The pods of this application that wait for a node."""
        return self._waiting.get((namespace, app_group), ())

    def workloads(self, namespace: str) -> Iterable[Workload]:
        return self._workloads.get(namespace, ())

    def members(self, namespace: str, app_group: str) -> frozenset[WorkloadKey]:
        """The workloads with pods of this application."""
        return frozenset(self._members.get((namespace, app_group), ()))

    def pods_of(self, workload: WorkloadKey) -> list[Pod]:
        """Those that have a node."""
        return pods_of(self.view, workload)

    @cached_property
    def leaving(self) -> frozenset[str]:
        """Nodes that are marked for removal or have failed; every move asks."""
        return frozenset(each.name for each in self.view.nodes.nodes if is_leaving(each))

    @cached_property
    def failed(self) -> frozenset[str]:
        """Nodes that are not ready."""
        return frozenset(node.name for node in self.view.nodes.nodes if not node.ready)

    def node(self, name: str) -> Node | None:
        row = self.view.nodes.index.get(name)
        return None if row is None else self.view.nodes.nodes[row]


class Surveys:
    """The newest survey, taken anew when it is a second old or was called outdated."""

    def __init__(self, cache: LiveCache, wall: Callable[[], float]) -> None:
        self._cache = cache
        self._wall = wall
        self._newest: Survey | None = None

    def take(self) -> Survey:
        now = self._wall()
        known = self._newest
        if known is None or not 0.0 <= now - known.view.now < FRESH_SECONDS:
            known = self._newest = Survey(self._cache.view(now), self._cache.waiting())
        return known

    def outdated(self) -> None:
        self._newest = None
