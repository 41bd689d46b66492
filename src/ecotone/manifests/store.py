"""Objects of the API applied one by one to a `ClusterState`.

Files are poured in at once, watch streams event by event, and both must end in the same columns. The work per event is
that of the object alone: what other objects say about it (a ReplicaSet's owner, a CSINode's limits) is kept in small
indexes, and when such a thing changes only the pods it concerns are resolved again. Wire objects are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from ecotone.manifests import around, keys, storage, wire
from ecotone.manifests.nodes import attachable, to_node
from ecotone.manifests.pods import Interner, Priorities, controller_of, namespace_of, need_name, to_pod
from ecotone.manifests.workloads import bare_workload, merged, owner_above, root_owner, to_workload
from ecotone.model.network import DEFAULT_MAX_AGE, NetworkMap
from ecotone.model.objects import DisruptionBudget, Node, Pod, Reservation, ServiceSelector, Workload, WorkloadKey
from ecotone.model.state import ClusterState

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet")
# Whatever others refer to comes first, so that a bulk load resolves each pod once.
ORDER = (
    "PriorityClass",
    "Namespace",
    "CSINode",
    "Node",
    "CronJob",
    "ReplicationController",
    *WORKLOADS,
)

Owner = tuple[str, str, str]


class Objects:
    def __init__(
        self,
        *,
        now: float = 0.0,
        max_age: float = DEFAULT_MAX_AGE,
        seed: int = 0,
        state: ClusterState | None = None,
    ) -> None:
        self.state = ClusterState(now=now, max_age=max_age, seed=seed) if state is None else state
        self.interner = Interner()
        self.app_groups: dict[str, wire.AppGroup] = {}
        self.clusters: dict[str, wire.Cluster] = {}
        self._priorities: dict[str, wire.PriorityClass] = {}
        self._above: dict[Owner, tuple[str, str] | None] = {}
        self._attachable: dict[str, dict[str, int]] = {}
        self._budgets: dict[str, DisruptionBudget] = {}
        self._services: dict[str, ServiceSelector] = {}
        self._maps: dict[str, NetworkMap] = {}
        self._reservations: dict[str, Reservation] = {}
        self._pods: dict[str, Pod] = {}
        self._owned: dict[Owner, set[str]] = {}
        self._owner: dict[str, Owner] = {}
        self._bare: dict[str, Workload] = {}
        self._said: dict[WorkloadKey, dict[Workload, int]] = {}
        self._apps: dict[tuple[str, str], set[str]] = {}
        self._of: dict[WorkloadKey, set[str]] = {}

    def load(self, objects: Iterable[tuple[str, Any]], *, seen: list[Any] | None = None) -> None:
        """Many at once, in whatever order they come; the node table is built once. `seen` gets each before it is put."""
        ranks = {kind: rank for rank, kind in enumerate(ORDER)}
        waiting = sorted(objects, key=lambda each: ranks.get(each[0], len(ranks)))
        seen = [] if seen is None else seen
        nodes: dict[str, Node] = {node.name: node for node in self.state.nodes.nodes}
        for kind, given in waiting:
            seen.append(given)
            if kind == "Node":
                nodes[need_name(given.metadata, kind)] = self._node(given)
                continue
            if nodes and ranks.get(kind, len(ranks)) > ranks["Node"]:
                self.state.set_nodes(nodes.values())
                nodes = {}
            self.put(kind, given)
        if nodes:
            self.state.set_nodes(nodes.values())

    def put(self, kind: str, given: Any) -> None:
        """Adds or updates one object."""
        need_name(given.metadata, kind)
        match kind:
            case "Pod":
                self._put_pod(given)
            case "Node":
                self.state.put_node(self._node(given))
            case "Deployment" | "StatefulSet" | "DaemonSet" | "Job" | "ReplicaSet":
                self._put_workload(kind, given)
            case "ReplicationController" | "CronJob":
                self._set_above(kind, given.metadata)
            case "CSINode":
                self._put_attachable(given.metadata.name, attachable(given))
            case "PriorityClass":
                self._priorities[given.metadata.name] = given
            case _:
                self._put_around(kind, given)

    def drop(self, kind: str, key: str) -> None:
        """Removes one object; `key` is `namespace/name`, or the name of what has no namespace."""
        namespace, _, name = key.rpartition("/")
        match kind:
            case "Pod":
                self._drop_pod(key)
            case "Node":
                self.state.drop_node(name)
            case "Deployment" | "StatefulSet" | "DaemonSet" | "Job" | "ReplicaSet":
                self._drop_workload(WorkloadKey(namespace, name, kind))
            case "ReplicationController" | "CronJob":
                self._above.pop((namespace, kind, name), None)
            case "CSINode":
                self._put_attachable(name, {})
            case "PriorityClass":
                self._priorities.pop(name, None)
            case _:
                self._drop_around(kind, key)

    # Nodes

    def _node(self, given: wire.Node) -> Node:
        return to_node(given, attachable=self._attachable.get(given.metadata.name))

    def _put_attachable(self, name: str, limits: dict[str, int]) -> None:
        self._attachable[name] = limits
        row = self.state.nodes.index.get(name)
        if row is not None:
            self.state.put_node(replace(self.state.nodes.nodes[row], attachable=limits))

    # Workloads

    def _put_workload(self, kind: str, given: wire.AnyWorkload) -> None:
        self._set_above(kind, given.metadata)
        if kind == "ReplicaSet" and controller_of(given.metadata) is not None:
            self.state.drop_workload(WorkloadKey(namespace_of(given.metadata), given.metadata.name, kind))
            return
        workload = to_workload(kind, given)
        before = self.state.workloads.get(workload.key)
        self.state.put_workload(workload)
        if before is None or before.app_group != workload.app_group:
            self._resolve_again(self._of.get(workload.key, ()))
            self._resolve_again(self._apps.get((workload.key.namespace, workload.key.name), ()))

    def _drop_workload(self, key: WorkloadKey) -> None:
        self._above.pop((key.namespace, key.kind, key.name), None)
        self.state.drop_workload(key)
        self._resolve_again(self._of.get(key, ()))
        self._resolve_again(self._owned.get((key.namespace, key.kind, key.name), ()))

    def _set_above(self, kind: str, metadata: wire.Metadata) -> None:
        owner = (namespace_of(metadata), kind, metadata.name)
        above = owner_above(metadata)
        if owner in self._above and self._above[owner] == above:
            return
        self._above[owner] = above
        self._resolve_again(self._owned.get(owner, ()))

    def _owner_of(self, namespace: str, kind: str, name: str) -> tuple[str, str] | None:
        return self._above.get((namespace, kind, name))

    # Pods

    def _put_pod(self, given: wire.Pod) -> None:
        namespace, name = namespace_of(given.metadata), given.metadata.name
        key = f"{namespace}/{name}"
        self._forget(key)
        pod = to_pod(
            given,
            workload=WorkloadKey(namespace, name, "Pod"),
            priorities=Priorities(self._priorities),
            interner=self.interner,
        )
        if pod.terminal:
            self.state.drop_pod(key)
            return
        if pod.owner is None or pod.mirror:
            self._bare[key] = bare_workload(pod.kind.workload, given)
        pod = self._resolved(pod)
        self._remember(pod)
        self.state.put_pod(pod)
        if self.interner.full:
            self.interner.keep(each.kind for each in self._pods.values())

    def convert(self, given: wire.Pod) -> Pod:
        """A pod as the model has it, without taking it in."""
        itself = WorkloadKey(namespace_of(given.metadata), given.metadata.name, "Pod")
        pod = to_pod(given, workload=itself, priorities=Priorities(self._priorities), interner=self.interner)
        workload = self._bare_key(pod) if pod.owner is None or pod.mirror else self._owned_key(pod)
        return self._with_workload(pod, workload)

    def _drop_pod(self, key: str) -> None:
        self._forget(key)
        self.state.drop_pod(key)

    def _remember(self, pod: Pod) -> None:
        key = pod.key
        self._pods[key] = pod
        self._of.setdefault(pod.kind.workload, set()).add(key)
        if key in self._bare:
            app = pod.kind.label(keys.APP)
            if app is not None:
                self._apps.setdefault((pod.namespace, app), set()).add(key)
            self._say(pod, by=+1)
        elif pod.owner is not None:
            kind, _, name = pod.owner.partition("/")
            owner = self._owner[key] = (pod.namespace, kind, name)
            self._owned.setdefault(owner, set()).add(key)

    def _forget(self, key: str) -> None:
        pod = self._pods.pop(key, None)
        if pod is None:
            return
        _discard(self._of, pod.kind.workload, key)
        owner = self._owner.pop(key, None)
        if owner is not None:
            _discard(self._owned, owner, key)
        if key in self._bare:
            app = pod.kind.label(keys.APP)
            if app is not None:
                _discard(self._apps, (pod.namespace, app), key)
            self._say(pod, by=-1)
            del self._bare[key]

    def _resolved(self, pod: Pod) -> Pod:
        """The pod with the workload its owners lead to, as they are known now."""
        return self._with_workload(pod, self._bare_key(pod) if pod.key in self._bare else self._owned_key(pod))

    def _with_workload(self, pod: Pod, workload: WorkloadKey) -> Pod:
        known = self.state.workloads.get(workload)
        group = pod.kind.label(keys.APP_GROUP) or (None if known is None else known.app_group)
        if (pod.kind.workload, pod.kind.app_group) == (workload, group):
            return pod
        kind = self.interner.kind(replace(pod.kind, workload=workload, app_group=group))
        return replace(pod, kind=kind)

    def _owned_key(self, pod: Pod) -> WorkloadKey:
        kind, _, name = (pod.owner or "").partition("/")
        hashed = pod.kind.label("pod-template-hash") or ""
        root = root_owner(pod.namespace, (kind, name), owner_of=self._owner_of, template_hash=hashed)
        return WorkloadKey(pod.namespace, root[1], root[0])

    def _bare_key(self, pod: Pod) -> WorkloadKey:
        app, group = pod.kind.label(keys.APP), pod.kind.label(keys.APP_GROUP)
        if not app or not group or pod.mirror:
            return WorkloadKey(pod.namespace, pod.name, "Pod")
        for kind in WORKLOADS:
            known = self.state.workloads.get(WorkloadKey(pod.namespace, app, kind))
            if known is not None and known.app_group == group:
                return known.key
        # Two groups of a namespace may both have a `db`: the kind tells them apart.
        return WorkloadKey(pod.namespace, app, f"App/{group}")

    def _resolve_again(self, pods: Iterable[str]) -> None:
        for key in sorted(pods):
            before = self._pods[key]
            after = self._resolved(before)
            if after is not before:
                spoken = self._bare.get(key)
                self._forget(key)
                if spoken is not None:
                    self._bare[key] = spoken
                self._remember(after)
                self.state.put_pod(after)

    def _say(self, pod: Pod, *, by: int) -> None:
        """Bare pods speak for their workload; equal statements are counted, so a replica costs the same as the first."""
        key = pod.kind.workload
        said = replace(self._bare[pod.key], key=key)
        heard = self._said.setdefault(key, {})
        heard[said] = heard.get(said, 0) + by
        if not heard[said]:
            del heard[said]
        if not heard:
            del self._said[key]
        if key.kind in WORKLOADS:
            return
        if heard:
            spoken = reduce(merged, sorted(heard, key=repr))
            self.state.put_workload(replace(spoken, replicas=sum(heard.values())))
        else:
            self.state.drop_workload(key)

    # The rest

    def _put_around(self, kind: str, given: Any) -> None:
        meta = given.metadata
        key = f"{namespace_of(meta)}/{meta.name}"
        match kind:
            case "PodDisruptionBudget":
                self._budgets[key] = around.to_budget(given)
                self.state.budgets = tuple(self._budgets.values())
            case "Service":
                self._put_service(key, around.to_service(given))
            case "Namespace":
                self.state.namespaces[meta.name] = {"kubernetes.io/metadata.name": meta.name, **meta.labels}
            case "PersistentVolumeClaim":
                self.state.claims[key] = storage.to_claim(given)
            case "PersistentVolume":
                self.state.volumes[meta.name] = storage.to_volume(given)
            case "StorageClass":
                self.state.storage_classes[meta.name] = storage.to_storage_class(given)
            case "NetworkMap":
                self._maps[meta.name] = around.to_network_map(given)
                self.state.set_maps(self._maps.values())
            case "Reservation":
                self._reservations[key] = around.to_reservation(given)
                self.state.reservations = tuple(self._reservations.values())
            case "AppGroup":
                self.app_groups[key] = given
            case "Cluster":
                self.clusters[meta.name] = given

    def _put_service(self, key: str, selector: ServiceSelector | None) -> None:
        if selector is None:
            self._services.pop(key, None)
        else:
            self._services[key] = selector
        self.state.services = tuple(self._services.values())

    def _drop_around(self, kind: str, key: str) -> None:
        match kind:
            case "PodDisruptionBudget":
                self._budgets.pop(key, None)
                self.state.budgets = tuple(self._budgets.values())
            case "Service":
                self._put_service(key, None)
            case "Namespace":
                self.state.namespaces.pop(key, None)
            case "PersistentVolumeClaim":
                self.state.claims.pop(key, None)
            case "PersistentVolume":
                self.state.volumes.pop(key, None)
            case "StorageClass":
                self.state.storage_classes.pop(key, None)
            case "NetworkMap":
                self._maps.pop(key, None)
                self.state.set_maps(self._maps.values())
            case "Reservation":
                self._reservations.pop(key, None)
                self.state.reservations = tuple(self._reservations.values())
            case "AppGroup":
                self.app_groups.pop(key, None)
            case "Cluster":
                self.clusters.pop(key, None)


def _discard(index: dict[Any, set[str]], key: Any, pod: str) -> None:
    members = index.get(key)
    if members is not None:
        members.discard(pod)
        if not members:
            del index[key]
