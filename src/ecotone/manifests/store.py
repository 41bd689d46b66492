"""Objects of the API applied one by one to a cluster (`ClusterSink`).

Files are poured in at once, watch streams event by event, and both must end in the same columns. The work per event is
that of the object alone: what other objects say about it (a ReplicaSet's owner, a CSINode's limits) is kept in small
indexes, and when such a thing changes only the pods it concerns are resolved again. Wire objects are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from ecotone.manifests import keys, wire
from ecotone.manifests.measured_keys import without_measured
from ecotone.manifests.reading import cluster_objects, storage
from ecotone.manifests.reading.nodes import attachable, to_node
from ecotone.manifests.reading.pods import (
    MIRROR,
    Interner,
    Priorities,
    Template,
    controller_of,
    is_mirror,
    namespace_of,
    need_name,
    pod_of,
)
from ecotone.manifests.reading.proxies import InputProxies, proxy_node
from ecotone.manifests.reading.statements import Statements
from ecotone.manifests.reading.workloads import owner_above, root_owner, to_workload, with_figures
from ecotone.manifests.sink import ClusterSink
from ecotone.model.columns.network import NetworkMap
from ecotone.model.objects import (
    AppGroup,
    DisruptionBudget,
    Node,
    Pod,
    PodKind,
    Reservation,
    ServiceSelector,
    Workload,
    WorkloadKey,
)

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
Sink = TypeVar("Sink", bound=ClusterSink)
Value = TypeVar("Value")


class ObjectStore(Generic[Sink]):
    """`dumped`: the objects are those of a dumped snapshot, which says more than an API server would.

    `believes`: whether measured keys count. Whoever changes it puts every object again.
    """

    def __init__(self, sink: Sink, *, dumped: bool = False) -> None:
        self.sink = sink
        self.believes = True
        self.interner = Interner(dumped=dumped)
        self.app_groups: dict[str, wire.AppGroup] = {}
        self.clusters: dict[str, wire.Cluster] = {}
        self._priorities: dict[str, wire.PriorityClass] = {}
        self._above: dict[Owner, tuple[str, str] | None] = {}
        self._attachable: dict[str, dict[str, int]] = {}
        self._budgets: dict[str, DisruptionBudget] = {}
        self._services: dict[str, ServiceSelector] = {}
        self._maps: dict[str, NetworkMap] = {}
        self._reservations: dict[str, Reservation] = {}
        self._groups: dict[str, AppGroup] = {}
        self._pods: dict[str, Pod] = {}
        self._owned: dict[Owner, set[str]] = {}
        self._owner: dict[str, Owner] = {}
        self._statements = Statements()
        self._proxies = InputProxies()
        self._apps: dict[tuple[str, str], set[str]] = {}
        self._of: dict[WorkloadKey, set[str]] = {}
        self._told: dict[str, Mapping[str, Mapping[str, str]]] = {}
        self._figures: dict[WorkloadKey, Mapping[str, str]] = {}
        self._without_figures: dict[WorkloadKey, Workload] = {}

    def load(
        self,
        objects: Iterable[tuple[str, Any]],
        *,
        seen: list[Any] | None = None,
        left_out: Callable[[str, Any, Exception], None] | None = None,
    ) -> None:
        """Many at once, in whatever order they come; the node table is built once.

        `seen` gets each before it is put. What cannot be taken in is handed to `left_out`, or ends it all without one.
        """
        ranks = {kind: rank for rank, kind in enumerate(ORDER)}
        waiting = sorted(objects, key=lambda each: ranks.get(each[0], len(ranks)))
        seen = [] if seen is None else seen
        nodes: dict[str, Node] = {node.name: node for node in self.sink.nodes.nodes}
        for kind, given in waiting:
            seen.append(given)
            if nodes and ranks.get(kind, len(ranks)) > ranks["Node"]:
                self.sink.set_nodes(nodes.values())
                nodes = {}
            try:
                if kind == "Node":
                    nodes[need_name(given.metadata, kind)] = self._node(given)
                else:
                    self.put(kind, given)
            except Exception as error:
                if left_out is None:
                    raise
                left_out(kind, given, error)
        if nodes:
            self.sink.set_nodes(nodes.values())

    def put(self, kind: str, given: Any) -> None:
        """Adds or updates one object."""
        need_name(given.metadata, kind)
        match kind:
            case "Pod":
                self._put_pod(given)
            case "Node":
                self.sink.put_node(self._node(given))
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
                self.sink.drop_node(name)
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
        return to_node(given, attachable=self._attachable.get(given.metadata.name), believed=self.believes)

    def _put_attachable(self, name: str, limits: dict[str, int]) -> None:
        self._attachable[name] = limits
        row = self.sink.nodes.index.get(name)
        if row is not None:
            self.sink.put_node(replace(self.sink.nodes.nodes[row], attachable=limits))

    # Workloads

    def _put_workload(self, kind: str, given: wire.AnyWorkload) -> None:
        self._set_above(kind, given.metadata)
        if kind == "ReplicaSet" and controller_of(given.metadata) is not None:
            self.sink.drop_workload(WorkloadKey(namespace_of(given.metadata), given.metadata.name, kind))
            return
        plain = to_workload(kind, given, believed=self.believes)
        notes = {**given.spec.template.metadata.annotations, **given.metadata.annotations}
        self._proxies.hear(plain, notes if self.believes else without_measured(notes))
        workload = self._with_figures(self._proxies.resolved(plain.key, self._proxy_node) or plain)
        before = self.sink.workloads.get(workload.key)
        self.sink.put_workload(workload)
        if before is None or before.app_group != workload.app_group:
            self._resolve_again(self._of.get(workload.key, ()))
            self._resolve_again(self._apps.get((workload.key.namespace, workload.key.name), ()))

    def _proxy_node(self, pod: str) -> str | None:
        return proxy_node(self._pods.get(pod))

    def _tell_speakers(self, pod: str) -> None:
        """The pod's node is another one now: who counts users by this pod is put again."""
        for key in self._proxies.speakers(pod):
            workload = self._proxies.resolved(key, self._proxy_node)
            if workload is not None:
                self.sink.put_workload(self._with_figures(workload))

    def _with_figures(self, workload: Workload) -> Workload:
        texts = self._figures.get(workload.key)
        if texts is None:
            return workload
        self._without_figures[workload.key] = workload
        return with_figures(workload, texts)

    def _set_figures(
        self, namespace: str, before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
    ) -> None:
        """What a large group's AppGroup says of its workloads: only those that changed are put again."""
        for name in {*before, *now}:
            if before.get(name) == now.get(name):
                continue
            kind, _, own = name.partition("/")
            key = WorkloadKey(namespace, own, kind)
            plain = self._without_figures.pop(key, None) or self.sink.workloads.get(key)
            if name in now:
                self._figures[key] = now[name]
            else:
                self._figures.pop(key, None)
            if plain is not None:
                self.sink.put_workload(self._with_figures(plain))

    def _drop_workload(self, key: WorkloadKey) -> None:
        self._without_figures.pop(key, None)
        self._proxies.forget(key)
        self._above.pop((key.namespace, key.kind, key.name), None)
        self.sink.drop_workload(key)
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
        # All that may fail comes first: a pod that cannot be read leaves what was known of it as it was.
        pod = self.convert(given)
        key = pod.key
        if pod.terminal:
            self._drop_pod(key)
            return
        bare = _is_bare(pod)
        said = self._statements.read(pod.kind.workload, given, believed=self.believes) if bare else None
        before = self._pods.get(key)
        alike = before is not None and before.kind is pod.kind and before.owner == pod.owner
        if alike and self._statements.is_what_it_says(key, said):
            # Only its node or its status is new.
            self._pods[key] = pod
        else:
            self._forget(key)
            self._remember(pod, said)
        self.sink.put_pod(pod)
        if proxy_node(before) != proxy_node(pod):
            self._tell_speakers(key)
        if self.interner.full:
            self.interner.keep(each.kind for each in self._pods.values())

    def convert(self, given: wire.Pod) -> Pod:
        """A pod as the model has it, without taking it in."""
        meta = given.metadata
        template = self.interner.template(given, Priorities(self._priorities))
        owner = controller_of(meta) if meta.owner_references else None
        if owner is None or is_mirror(meta, owner):
            app = None if MIRROR in meta.annotations or owner is not None else template.app
            workload = self._bare_key(template.namespace, meta.name, app, template.app_group)
        else:
            workload = self._owned_key(template.namespace, (owner.kind, owner.name), template.labels)
        return pod_of(given, template, self._kind(template, meta.name, workload))

    def _kind(self, template: Template, name: str, workload: WorkloadKey) -> PodKind:
        group = self._group(template.app_group, workload)
        if workload.kind != "Pod":
            return self.interner.kind(template, workload, group)
        # Nobody else is of this pod's kind: it is remembered with the pod alone.
        before = self._pods.get(f"{template.namespace}/{name}")
        if before is not None:
            kind = before.kind
            if kind.spec is template.spec and kind.labels == template.labels and kind.workload == workload:
                made = (kind.app_group, kind.max_latency_ms) == (group, template.max_latency_ms)
                return kind if made else template.kind(workload, group)
        return template.kind(workload, group)

    def _group(self, own: str | None, workload: WorkloadKey) -> str | None:
        if own:
            return own
        known = self.sink.workloads.get(workload)
        return None if known is None else known.app_group

    def _drop_pod(self, key: str) -> None:
        self._forget(key)
        self.sink.drop_pod(key)
        self._tell_speakers(key)

    def _remember(self, pod: Pod, said: tuple[str, Workload] | None) -> None:
        key, workload = pod.key, pod.kind.workload
        self._pods[key] = pod
        if workload.kind in WORKLOADS:
            self._of.setdefault(workload, set()).add(key)
        if _is_bare(pod):
            if workload.kind != "Pod":
                self._apps.setdefault((pod.namespace, workload.name), set()).add(key)
            if said is not None:
                self._statements.say(key, workload, said)
                self._tell(workload)
        elif pod.owner is not None:
            kind, _, name = pod.owner.partition("/")
            owner = self._owner[key] = (pod.namespace, kind, name)
            self._owned.setdefault(owner, set()).add(key)

    def _forget(self, key: str) -> tuple[str, Workload] | None:
        """What the pod had said about its workload."""
        pod = self._pods.pop(key, None)
        if pod is None:
            return None
        workload = pod.kind.workload
        if workload.kind in WORKLOADS:
            _discard(self._of, workload, key)
        owner = self._owner.pop(key, None)
        if owner is not None:
            _discard(self._owned, owner, key)
        if not _is_bare(pod):
            return None
        if workload.kind != "Pod":
            _discard(self._apps, (pod.namespace, workload.name), key)
        said = self._statements.unsay(key, workload)
        if said is not None:
            self._tell(workload)
        return said

    def _resolved(self, pod: Pod) -> Pod:
        """The pod with the workload its owners lead to, as they are known now."""
        kind = pod.kind
        own = kind.label(keys.APP_GROUP)
        if _is_bare(pod):
            workload = self._bare_key(pod.namespace, pod.name, None if pod.mirror else kind.label(keys.APP), own)
        else:
            above, _, name = (pod.owner or "").partition("/")
            workload = self._owned_key(pod.namespace, (above, name), kind.labels)
        group = self._group(own, workload)
        if (kind.workload, kind.app_group) == (workload, group):
            return pod
        return replace(pod, kind=self.interner.again(replace(kind, workload=workload, app_group=group)))

    def _owned_key(self, namespace: str, owner: tuple[str, str], labels: Iterable[tuple[str, str]]) -> WorkloadKey:
        hashed = next((value for name, value in labels if name == "pod-template-hash"), "")
        root = root_owner(namespace, owner, owner_of=self._owner_of, template_hash=hashed)
        return WorkloadKey(namespace, root[1], root[0])

    def _bare_key(self, namespace: str, name: str, app: str | None, group: str | None) -> WorkloadKey:
        if not app or not group:
            return WorkloadKey(namespace, name, "Pod")
        for kind in WORKLOADS:
            known = self.sink.workloads.get(WorkloadKey(namespace, app, kind))
            if known is not None and known.app_group == group:
                return known.key
        # Two groups of a namespace may both have a `db`: the kind tells them apart.
        return WorkloadKey(namespace, app, f"App/{group}")

    def _resolve_again(self, pods: Iterable[str]) -> None:
        for key in sorted(pods):
            before = self._pods[key]
            after = self._resolved(before)
            if after is not before:
                self._remember(after, self._forget(key))
                self.sink.put_pod(after)

    def _tell(self, workload: WorkloadKey) -> None:
        """Annotations of bare pods count for their workload, unless it has an object of its own."""
        if workload.kind in WORKLOADS:
            return
        spoken = self._statements.summary(workload)
        if spoken is None:
            self.sink.drop_workload(workload)
        else:
            self.sink.put_workload(spoken)

    # The rest

    def _put_around(self, kind: str, given: Any) -> None:
        meta = given.metadata
        key = f"{namespace_of(meta)}/{meta.name}"
        match kind:
            case "PodDisruptionBudget":
                self._set_budget(key, cluster_objects.to_budget(given))
            case "Service":
                self._set_service(key, cluster_objects.to_service(given))
            case "Namespace":
                self.sink.set_namespace(meta.name, {"kubernetes.io/metadata.name": meta.name, **meta.labels})
            case "PersistentVolumeClaim":
                self.sink.set_claim(key, storage.to_claim(given))
            case "PersistentVolume":
                self.sink.set_volume(meta.name, storage.to_volume(given))
            case "StorageClass":
                self.sink.set_storage_class(meta.name, storage.to_storage_class(given))
            case "NetworkMap":
                self._set_map(meta.name, cluster_objects.to_network_map(given))
            case "Reservation":
                self._set_reservation(key, cluster_objects.to_reservation(given))
            case "AppGroup":
                self._set_app_group(key, cluster_objects.to_app_group(given))
                self.app_groups[key] = given
                told = cluster_objects.group_figures(given) if self.believes else {}
                self._set_figures(namespace_of(meta), self._told.pop(key, {}), told)
                if told:
                    self._told[key] = told
            case "Cluster":
                self.clusters[meta.name] = given

    def _drop_around(self, kind: str, key: str) -> None:
        match kind:
            case "PodDisruptionBudget":
                self._set_budget(key, None)
            case "Service":
                self._set_service(key, None)
            case "Namespace":
                self.sink.set_namespace(key, None)
            case "PersistentVolumeClaim":
                self.sink.set_claim(key, None)
            case "PersistentVolume":
                self.sink.set_volume(key, None)
            case "StorageClass":
                self.sink.set_storage_class(key, None)
            case "NetworkMap":
                self._set_map(key, None)
            case "Reservation":
                self._set_reservation(key, None)
            case "AppGroup":
                self._set_app_group(key, None)
                self.app_groups.pop(key, None)
                self._set_figures(key.rpartition("/")[0], self._told.pop(key, {}), {})
            case "Cluster":
                self.clusters.pop(key, None)

    def _set_budget(self, key: str, budget: DisruptionBudget | None) -> None:
        if _changed(self._budgets, key, budget):
            self.sink.set_budgets(self._budgets.values())

    def _set_service(self, key: str, selector: ServiceSelector | None) -> None:
        if _changed(self._services, key, selector):
            self.sink.set_services(self._services.values())

    def _set_map(self, key: str, given: NetworkMap | None) -> None:
        if _changed(self._maps, key, given):
            self.sink.set_maps(self._maps.values())

    def _set_reservation(self, key: str, given: Reservation | None) -> None:
        if _changed(self._reservations, key, given):
            self.sink.set_reservations(self._reservations.values())

    def _set_app_group(self, key: str, group: AppGroup | None) -> None:
        if _changed(self._groups, key, group):
            self.sink.set_app_groups(self._groups.values())


def _changed(table: dict[str, Value], key: str, value: Value | None) -> bool:
    """Puts the value in, or takes it out (None); True if that makes a difference."""
    if table.get(key) == value:
        return False
    if value is None:
        del table[key]
    else:
        table[key] = value
    return True


def _is_bare(pod: Pod) -> bool:
    return pod.owner is None or pod.mirror


def _discard(index: dict[Any, set[str]], key: Any, pod: str) -> None:
    members = index.get(key)
    if members is not None:
        members.discard(pod)
        if not members:
            del index[key]
