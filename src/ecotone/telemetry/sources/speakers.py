"""From a target to who answers its scrapes: a pod, or a node's kubelet.

What counts is the address that Prometheus connects to. A PodMonitor may discover somebody else's pod and relabel
`__address__` to its author's own, so the scraped address must be the discovered pod's as the API server tells it. On a
node's network pods share the address, and services listen there on ports that tenants may get (NodePort); there the port
must be one that the pod declares. A kubelet is known by its node's address and port, and only its metrics are read: it also
serves the logs of containers, which say whatever their authors print.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.targets import Target

KUBELET_PATHS = frozenset({"/metrics", "/metrics/cadvisor", "/metrics/resource"})
API_SERVERS = frozenset({"kubernetes.default.svc", "kubernetes.default.svc.cluster.local"})
_THROUGH_API = re.compile(r"/api/v1/nodes/([a-z0-9.-]+)/proxy(/metrics(?:/[a-z]+)?)")


class Role(Enum):
    POD = "pod"
    KUBELET = "kubelet"
    BELIEVED = "believed"
    """Nobody was asked who it is: the installation trusts its Prometheus."""


class Speaker(NamedTuple):
    """Who exposed a series."""

    role: Role
    workload: Ref = Ref("", "")
    pod: str = ""
    node: str = ""
    listed: bool = False
    """True if the installation's configuration names its workload as a reporter for others."""
    probe: bool = False
    """True if it is the installation's own probe."""


@dataclass(frozen=True, slots=True)
class Voices:
    """Who may speak about a family at all; series of others are not even asked for."""

    namespace: str = ""
    """The pods of this namespace."""
    listed: bool = False
    """The reporters that the installation's configuration names."""
    kubelets: bool = False
    probe: bool = False
    name: str = ""
    """How a message calls them if none is scraped; nothing if that is usual."""


@dataclass(frozen=True, slots=True)
class Inhabitant:
    """A pod as the API server tells it."""

    workload: Ref
    node: str
    addresses: Sequence[str] = ()
    on_node_network: bool = False
    ports: Collection[int] = ()


class Inhabitants(Protocol):
    """What the cluster knows; asked for every target."""

    def inhabitant(self, namespace: str, pod: str) -> Inhabitant | None: ...

    def kubelet_at(self, host: str, port: int) -> str | None:
        """The node whose kubelet listens there."""

    def has_node(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Trust:
    """What an installation says about its Prometheus and about who reports for others."""

    everything: bool = False
    reporters: frozenset[Ref] = frozenset()
    probe: Ref = Ref("kube-system", "ecotone-probe")


def speaker_of(target: Target, inhabitants: Inhabitants, trust: Trust) -> Speaker | str | None:
    """Who answers this target's scrapes; why that cannot be told; None for a pod that is not known (any more)."""
    try:
        url = urlsplit(target.scrape_url)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        return "its address cannot be read"
    node = _kubelet(url, host, port, inhabitants)
    if node is not None:
        return Speaker(Role.KUBELET, node=node)
    namespace, pod = target.discovered_labels.namespace, target.discovered_labels.pod
    if not namespace or not pod:
        return "it was not discovered as a pod or as a kubelet's metrics"
    lives = inhabitants.inhabitant(namespace, pod)
    if lives is None:
        return None
    if host not in lives.addresses or (lives.on_node_network and port not in lives.ports):
        return f"it is not at an address of pod {namespace}/{pod}"
    return Speaker(
        Role.POD,
        workload=lives.workload,
        pod=pod,
        node=lives.node,
        listed=lives.workload in trust.reporters,
        probe=lives.workload == trust.probe,
    )


def _kubelet(url: SplitResult, host: str, port: int, inhabitants: Inhabitants) -> str | None:
    if host in API_SERVERS and url.scheme == "https":
        through = _THROUGH_API.fullmatch(url.path)
        if through is not None and through[2] in KUBELET_PATHS and inhabitants.has_node(through[1]):
            return through[1]
        return None
    return inhabitants.kubelet_at(host, port) if url.path in KUBELET_PATHS else None
