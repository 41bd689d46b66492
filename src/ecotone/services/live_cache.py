"""The cluster as the watch streams tell it, plus what we have decided and nobody has confirmed yet.

Events change columns of one ``ClusterState`` in place; a decision sees a frozen view of it. An *assumed* pod counts on
its node from the moment of the decision until the watch shows it bound (there or elsewhere) or the binding failed, so
two decisions in a row never spend the same millicore. Assumptions do not expire by themselves: a slow binding must not
turn into room for another pod.

Node changes are collected and applied together before the next view, since a change of the node set rebuilds columns,
and a monitor that annotates five thousand nodes should cost one rebuild.

It is where the object store puts what it has read (`ClusterSink`): nodes, pods, workloads and network maps are told to
the listener here; what surrounds them goes straight into the state, and whoever feeds it tells what changed.

Pending pods stay in the scheduling queue, not in the state: only those nominated to a node after a preemption are there,
because they alone matter to other pods' decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from ecotone.model.columns.network import NetworkMap
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import (
    AppGroup,
    Claim,
    DisruptionBudget,
    Node,
    Pod,
    Reservation,
    ServiceSelector,
    StorageClass,
    Volume,
    Workload,
    WorkloadKey,
)
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Event

Listener = Callable[[Event], None]
PodListener = Callable[[Pod | None, Pod | None], None]


class Assumed(msgspec.Struct, frozen=True):
    pod: Pod
    node: str


class LiveCache:
    """`listener` hears what may help waiting pods; `pod_listener` gets each pod as it was and as it is now."""

    def __init__(
        self, state: ClusterState, *, listener: Listener | None = None, pod_listener: PodListener | None = None
    ) -> None:
        self.state = state
        self._listener = listener
        self._pod_listener = pod_listener
        self._nodes: dict[str, Node] = {}
        self._changed_nodes: dict[str, None] = {}  # in the order they came, so that rows do not depend on hashing
        self._pods: dict[str, Pod] = {}
        self._assumed: dict[str, Assumed] = {}
        self._reservations: dict[tuple[str, str], Reservation] = {}
        self._taken: dict[tuple[str, str], str] = {}

    # What the watch streams say

    def put_node(self, node: Node) -> None:
        before = self._nodes.get(node.name)
        if before == node:
            return
        self._nodes[node.name] = node
        self._changed_nodes[node.name] = None
        self._tell(Event("node", "add" if before is None else "update", before, node))

    def drop_node(self, name: str) -> None:
        before = self._nodes.pop(name, None)
        if before is not None:
            self._changed_nodes[name] = None
            self._tell(Event("node", "delete", before, None))

    def put_pod(self, pod: Pod) -> None:
        before = self._pods.get(pod.key)
        if before is not None and before.uid != pod.uid:
            self.drop_pod(pod.key)
            before = None
        self._pods[pod.key] = pod
        assumed = self._assumed.get(pod.uid)
        if assumed is not None:
            if pod.node is None and not pod.terminal and not pod.deleting:
                return
            del self._assumed[pod.uid]
        if pod.node is not None or (pod.nominated is not None and not pod.terminal):
            self.state.put_pod(pod)
        else:
            self.state.drop_pod(pod.key)
        self._tell_pod(before, pod)
        if self._pod_listener is not None:
            self._pod_listener(before, pod)

    def drop_pod(self, key: str) -> None:
        before = self._pods.pop(key, None)
        if before is None:
            return
        assumed = self._assumed.pop(before.uid, None)
        self.state.drop_pod(key)
        if before.node is not None or assumed is not None or before.nominated is not None:
            gone = before if assumed is None else before.on(assumed.node)
            if not before.terminal:
                self._tell(Event("pod", "delete", gone, None))
        if self._pod_listener is not None:
            self._pod_listener(before, None)

    @property
    def nodes(self) -> NodeTable:
        self.settle_nodes()
        return self.state.nodes

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        given = {node.name: node for node in nodes}
        for name in [each for each in self._nodes if each not in given]:
            self.drop_node(name)
        for node in given.values():
            self.put_node(node)

    @property
    def workloads(self) -> Mapping[WorkloadKey, Workload]:
        return self.state.workloads

    def put_workload(self, workload: Workload) -> None:
        before = self.state.workloads.get(workload.key)
        if before != workload:
            self.state.put_workload(workload)
            self._tell(Event("workload", "add" if before is None else "update", before, workload))

    def drop_workload(self, key: WorkloadKey) -> None:
        before = self.state.workloads.get(key)
        if before is not None:
            self.state.drop_workload(key)
            self._tell(Event("workload", "delete", before, None))

    def set_maps(self, maps: Iterable[NetworkMap]) -> None:
        self.state.set_maps(maps)
        self._tell(Event("network", "update", None, None))

    def set_budgets(self, budgets: Iterable[DisruptionBudget]) -> None:
        self.state.set_budgets(budgets)

    def set_services(self, services: Iterable[ServiceSelector]) -> None:
        self.state.set_services(services)

    def set_reservations(self, reservations: Iterable[Reservation]) -> None:
        self._reservations = {(each.namespace, each.name): each for each in reservations}
        self._taken = {key: uid for key, uid in self._taken.items() if key in self._reservations}
        self._settle_reservations()

    def _settle_reservations(self) -> None:
        """What a pod of ours is on its way to take is taken for every decision that follows."""
        self.state.set_reservations(
            msgspec.structs.replace(each, taken_by=each.taken_by or self._taken.get(key, ""))
            for key, each in self._reservations.items()
        )

    def take(self, pod: Pod, node: str) -> Reservation | None:
        """The reservation that this pod's place on this node was kept by, if any; nobody else gets it from now on."""
        for each in self.state.reservations:
            fits = each.workload == pod.kind.workload and each.template_hash in ("", pod.template_hash)
            if fits and each.node == node and not each.taken_by and each.expires > self.state.now:
                self._taken[each.namespace, each.name] = pod.uid
                self._settle_reservations()
                return each
        return None

    def give_back(self, reservation: Reservation) -> None:
        """The binding failed: the place is kept for the next pod of the workload."""
        self._taken.pop((reservation.namespace, reservation.name), None)
        self._settle_reservations()

    def set_app_groups(self, groups: Iterable[AppGroup]) -> None:
        self.state.set_app_groups(groups)

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        self.state.set_namespace(name, labels)

    def set_claim(self, key: str, claim: Claim | None) -> None:
        self.state.set_claim(key, claim)

    def set_volume(self, name: str, volume: Volume | None) -> None:
        self.state.set_volume(name, volume)

    def set_storage_class(self, name: str, given: StorageClass | None) -> None:
        self.state.set_storage_class(name, given)

    def tell(self, resource: str, action: str, old: object | None, new: object | None) -> None:
        """Something other than a node or pod changed; the caller has already put it into the state."""
        self._tell(Event(resource, action, old, new))

    def _tell_pod(self, before: Pod | None, pod: Pod) -> None:
        was_there = before is not None and before.node is not None and not before.terminal
        is_there = pod.node is not None and not pod.terminal
        if is_there and not was_there:
            self._tell(Event("pod", "add", before, pod))
        elif was_there and not is_there:
            self._tell(Event("pod", "delete", before, None))
        elif is_there and before is not None and (before.kind != pod.kind or before.deleting != pod.deleting):
            smaller = _asks_less(before, pod)
            self._tell(Event("pod", "scale-down" if smaller else "update", before, pod))

    def _tell(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)

    # What we decide

    def assume(self, pod: Pod, node: str) -> None:
        self._assumed[pod.uid] = Assumed(pod, node)
        self.state.assume(pod, node)

    def forget(self, pod: Pod) -> None:
        """The binding failed for certain: the place is free again."""
        assumed = self._assumed.pop(pod.uid, None)
        if assumed is None:
            return
        self.state.drop_pod(pod.key)
        known = self._pods.get(pod.key)
        if known is not None and known.uid == pod.uid:
            if known.node is not None or known.nominated is not None:
                self.state.put_pod(known)
            # Room has come back that other pods may be waiting for.
            self._tell(Event("pod", "delete", pod.on(assumed.node), None))

    def forget_all(self) -> None:
        """A new term of leadership starts from what the API server says, not from what we once intended."""
        for assumed in list(self._assumed.values()):
            self.forget(assumed.pod)

    def nominate(self, pod: Pod, node: str | None) -> Pod:
        """A preemption made room for this pod there; until it is bound, others leave that room alone."""
        nominated = replace(pod, nominated=node)
        if pod.key in self._pods and self._pods[pod.key].uid == pod.uid:
            self._pods[pod.key] = replace(self._pods[pod.key], nominated=node)
        if node is None:
            self.state.drop_pod(pod.key)
        else:
            self.state.put_pod(nominated)
        return nominated

    # What decisions see

    def settle_nodes(self) -> None:
        """Changes of nodes since the last look, all at once; only a removal lays out every row again."""
        if not self._changed_nodes:
            return
        if self._changed_nodes.keys() <= self._nodes.keys():
            self.state.put_nodes(self._nodes[name] for name in self._changed_nodes)
        else:
            self.state.set_nodes(self._nodes.values())
        self._changed_nodes.clear()

    def view(self, now: float) -> Snapshot:
        self.settle_nodes()
        self.state.advance(now)
        return self.state.freeze()

    def pod(self, key: str) -> Pod | None:
        return self._pods.get(key)

    @property
    def assumed_count(self) -> int:
        return len(self._assumed)

    def pods(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def waiting(self) -> Iterator[Pod]:
        """Pods that nobody has given a node yet."""
        for pod in self._pods.values():
            if pod.node is None and pod.uid not in self._assumed and not (pod.terminal or pod.deleting):
                yield pod

    @property
    def sizes(self) -> dict[str, int]:
        return {"nodes": len(self._nodes), "pods": len(self._pods), "assumed_pods": len(self._assumed)}


def _asks_less(before: Pod, after: Pod) -> bool:
    return before.kind != after.kind and any(
        after.spec.request(resource) < amount for resource, amount in before.spec.requests
    )
