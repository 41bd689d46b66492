"""Users by the pod that lets them in: the thesis writes traffic with an input proxy under that pod's name (`daff-<pod>`, 4.4).

An input proxy is a pod of a DaemonSet, and what matters of it is its node: the model says `users@NODE`. Pods come and go and
their workloads speak of them before and after, so both orders end in the same: what a workload said is kept, and put again
when a pod it names gets or loses its node. A name that no such pod carries stays what it is, a peer workload's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ecotone.manifests import keys
from ecotone.model.objects import USERS, Pod, Workload, WorkloadKey
from ecotone.model.workloads import peer_name

NodeOf = Callable[[str], str | None]


class InputProxies:
    def __init__(self) -> None:
        self._plain: dict[WorkloadKey, Workload] = {}
        self._named: dict[WorkloadKey, frozenset[str]] = {}
        self._speakers: dict[str, set[WorkloadKey]] = {}

    def hear(self, workload: Workload, notes: Mapping[str, str]) -> None:
        """Remembers a workload that speaks of peers as the thesis does, and forgets one that does no longer."""
        self.forget(workload.key)
        named = frozenset(_pod_key(workload.key.namespace, peer) for peer in keys.perhaps_proxies(notes))
        if not named:
            return
        self._plain[workload.key] = workload
        self._named[workload.key] = named
        for pod in named:
            self._speakers.setdefault(pod, set()).add(workload.key)

    def forget(self, key: WorkloadKey) -> None:
        self._plain.pop(key, None)
        for pod in self._named.pop(key, ()):
            self._speakers[pod].discard(key)
            if not self._speakers[pod]:
                del self._speakers[pod]

    def speakers(self, pod: str) -> Iterable[WorkloadKey]:
        """The workloads that speak of this pod."""
        return sorted(self._speakers.get(pod, ()))

    def resolved(self, key: WorkloadKey, node_of: NodeOf) -> Workload | None:
        """What the workload said, proxies by their nodes; None if it does not speak of any."""
        plain = self._plain.get(key)
        if plain is None or plain.traffic is None:
            return plain
        named = self._named[key]
        traffic: dict[str, float] = {}
        for peer, flow in plain.traffic.items():
            pod = _pod_key(key.namespace, peer)
            node = node_of(pod) if pod in named else None
            name = peer if node is None else USERS + node
            traffic[name] = traffic.get(name, 0.0) + flow
        return replace(plain, traffic=traffic)


def proxy_node(pod: Pod | None) -> str | None:
    """The node of a pod that can be an input proxy."""
    return pod.node if pod is not None and (pod.owner or "").startswith("DaemonSet/") else None


def _pod_key(namespace: str, peer: str) -> str:
    return "/".join(peer_name(namespace, peer))
