"""Who a pod talks to, and where they are.

Traffic and static affinity are known per pair of workloads, pods are many: peers are looked up once per workload and
counted per node, so that every network score is one weighted sum over the few nodes that host peers, never a loop over
pods. A peer is written `name` (same namespace), `namespace/name`, or `users@NODE`: the users who enter at that node, who
count as one pod there. Bound pods that are neither finished nor being deleted are peers, ready or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Ints, Rows
from ecotone.model.columns.network import is_stale, known
from ecotone.model.objects import USERS, PodKind, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.model.workloads import peer_name

_NO_ROWS: Rows = np.zeros(0, dtype=np.intp)
_NO_COUNTS: Ints = np.zeros(0, dtype=np.int64)
_ONE: Ints = np.ones(1, dtype=np.int64)


class Peer(msgspec.Struct, frozen=True):
    """A workload (or users) at the other end of a channel, and the nodes its pods are on."""

    name: str
    affinity: float
    traffic: float
    rows: Rows
    counts: Ints

    @property
    def replicas(self) -> int:
        return int(self.counts.sum())


def traffic_of(state: ClusterState, workload: Workload | None) -> Mapping[str, float] | None:
    """The workload's measured traffic, None if there is none that can be trusted."""
    if workload is None or is_stale(workload.measured_at, now=state.now, max_age=state.max_age):
        return None
    return workload.traffic


def requests_of(state: ClusterState, workload: Workload) -> Mapping[str, float] | None:
    """Requests per second it exchanges with each peer, None if that was not measured or long ago."""
    if is_stale(workload.measured_at, now=state.now, max_age=state.max_age):
        return None
    return workload.requests


def amount(values: Mapping[str, float] | None, name: str) -> float:
    """What the object says of a peer; absent and unusable values are 0."""
    if not values:
        return 0.0
    value = values.get(name)
    return float(value) if value is not None and known(value) else 0.0


def whereabouts(state: ClusterState, namespace: str, peer: str) -> tuple[Rows, Ints]:
    """The rows that host the peer's pods, and how many each."""
    if peer.startswith(USERS):
        row = state.nodes.index.get(peer[len(USERS) :])
        return (_NO_ROWS, _NO_COUNTS) if row is None else (np.array([row], dtype=np.intp), _ONE)
    kinds = state.named.get(peer_name(namespace, peer), ())
    if len(kinds) == 1:
        return state.usage.where(kinds[0])
    if not kinds:
        return _NO_ROWS, _NO_COUNTS
    found = [state.usage.where(kind) for kind in kinds]
    return np.concatenate([rows for rows, _ in found]), np.concatenate([counts for _, counts in found])


def own_peers(
    state: ClusterState, kind: PodKind, *, static: bool = True, dynamic: bool = True, proxies: bool = True
) -> list[Peer]:
    """Peers as the pod's own workload lists them; without `proxies` neither users nor services outside the cluster."""
    workload = state.workloads.get(kind.workload)
    if workload is None:
        return []
    affinity = workload.affinity if static else None
    traffic = traffic_of(state, workload) if dynamic else None
    peers = []
    for name in dict.fromkeys((*(affinity or ()), *(traffic or ()))):
        priority, flow = amount(affinity, name), amount(traffic, name)
        if (priority > 0 or flow > 0) and (proxies or not _is_proxy(state, kind.namespace, name)):
            rows, counts = whereabouts(state, kind.namespace, name)
            if len(rows):
                peers.append(Peer(name, priority, flow, rows, counts))
    return peers


def _is_proxy(state: ClusterState, namespace: str, peer: str) -> bool:
    """True if the peer stands for users, or for a service outside the cluster."""
    if peer.startswith(USERS):
        return True
    kinds = state.named.get(peer_name(namespace, peer), ())
    workloads = (state.workloads.get(kind.workload) for kind in kinds)
    return any(workload is not None and workload.external for workload in workloads)


def graph_peers(state: ClusterState, kind: PodKind) -> list[Peer]:
    """Peers as the whole graph knows them: a channel counts for both of its ends, whichever of them lists it.

    Both ends know a channel's priority and its traffic in both directions; where they differ, the larger figure counts.
    Across namespaces only the pod's own side does, so that one tenant's figures cannot move another's pods.
    """
    pairs: dict[str, tuple[float, float]] = {}

    def note(name: str, affinity: float, traffic: float) -> None:
        before = pairs.get(name, (0.0, 0.0))
        pairs[name] = (max(before[0], affinity), max(before[1], traffic))

    mine = state.workloads.get(kind.workload)
    listed = traffic_of(state, mine)
    for word in () if mine is None else dict.fromkeys((*(mine.affinity or ()), *(listed or ()))):
        name = word if word.startswith(USERS) else "/".join(peer_name(kind.namespace, word))
        note(name, amount(mine.affinity if mine else None, word), amount(listed, word))
    own = (kind.workload.namespace, kind.workload.name)
    for key in state.graph.mentioned_by.get(own, ()):
        if key.namespace == kind.namespace and key != kind.workload:
            other = state.workloads[key]
            for word in (own[1], "/".join(own)):
                note(str(key), amount(other.affinity, word), amount(traffic_of(state, other), word))
    found = []
    for name, (priority, flow) in pairs.items():
        if priority > 0 or flow > 0:
            rows, counts = whereabouts(state, kind.namespace, name)
            if len(rows):
                found.append(Peer(name, priority, flow, rows, counts))
    return found


def talks_to_itself(state: ClusterState, kind: PodKind) -> bool:
    """True if its own replicas are among its peers, so that placing one moves the others' scores."""
    workload = state.workloads.get(kind.workload)
    if workload is None:
        return False
    own: WorkloadKey = kind.workload
    names = (own.name, str(own)) if own.namespace == kind.namespace else (str(own),)
    listed = (workload.affinity, workload.traffic)
    return any(amount(values, name) > 0 for values in listed for name in names)


def by_node(peers: Sequence[Peer], values: Iterable[float], *, size: int, per_pod: bool = False) -> tuple[Rows, Floats]:
    """The nodes that host peers and the weight of each: a peer's value spread over its pods, or `per_pod` for each."""
    if not peers:
        return _NO_ROWS, np.zeros(0)
    shares = [
        peer.counts * (value if per_pod else value / peer.replicas) for peer, value in zip(peers, values, strict=True)
    ]
    sums: Floats = np.bincount(
        np.concatenate([peer.rows for peer in peers]), np.concatenate(shares), minlength=size
    ).astype(np.float64, copy=False)
    targets = np.flatnonzero(sums)
    return targets, sums[targets]
