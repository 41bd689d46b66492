"""Where peers are, or will be.

The first pods of an application are placed before those they talk to exist. A peer without a place is not nowhere: it may
be pinned to some nodes, and otherwise it will follow its own peers. Whatever lies between, a chain w - p - a with p still
free costs at least what its thinner half carries from w to a, since p can stand at either end. So an unplaced peer is
looked through: its anchors (users, external services, pods that run) count as the workload's own, each with the thinner of
the two channels. The workload itself never counts, so that placing its replicas does not move its own target.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.costs.channels import Channel, channels
from ecotone.scheduling.costs.peers import whereabouts

FARTHEST = 3

Pull = dict[int, float]


def pull_of(state: ClusterState, own: Name, *, known: list[Channel] | None = None) -> tuple[Rows, Floats]:
    """The nodes a workload is drawn to, and with how many round trips per request each."""
    pull: Pull = {}
    itself = frozenset({own})
    for channel in channels(state, own) if known is None else known:
        _add(pull, _from(state, channel, itself, own, FARTHEST), 1.0)
    rows = sorted(pull)
    return np.array(rows, dtype=np.intp), np.array([pull[row] for row in rows], dtype=np.float64)


def _from(state: ClusterState, channel: Channel, seen: frozenset[Name], behind: Name, depth: int) -> Pull:
    """What one channel adds: its weight over the peer's pods, or over what draws the peer if it has none yet."""
    rows, counts = whereabouts(state, *channel.peer)
    if len(rows) == 1:  # as of most peers: plain numbers are enough
        number: int = counts.item()
        return {rows.item(): number * (channel.weight / float(number))}
    if not len(rows):
        rows = _pinned(state, channel.peer)
        counts = np.ones(len(rows), dtype=np.int64)
    if len(rows):
        amounts: list[int] = counts.tolist()
        each = channel.weight / float(sum(amounts))
        pull: Pull = {}
        for row, amount in zip(rows.tolist(), amounts, strict=True):
            pull[row] = amount * each
        return pull
    # What a peer in another namespace is drawn to is what another tenant wrote.
    if depth == 0 or channel.users or channel.peer in seen or channel.peer[0] != behind[0]:
        return {}
    return _through(state, channel, seen | {channel.peer}, behind, depth - 1)


def _through(state: ClusterState, channel: Channel, seen: frozenset[Name], behind: Name, depth: int) -> Pull:
    links = channels(state, channel.peer)
    back = next((link.weight for link in links if link.peer == behind), 1.0)
    pull: Pull = {}
    for link in links:
        if link.peer not in seen:
            thinner = min(1.0, link.weight / back) / link.weight
            _add(pull, _from(state, link, seen, channel.peer, depth), channel.weight * thinner)
    total = sum(pull.values())
    if total > channel.weight:
        pull = {row: weight * (channel.weight / total) for row, weight in pull.items()}
    return pull


def _add(pull: Pull, more: Pull, factor: float) -> None:
    for row, weight in more.items():
        pull[row] = pull.get(row, 0.0) + weight * factor


def _pinned(state: ClusterState, peer: Name) -> Rows:
    """Where its waiting pods must go, if that is less than half of the cluster."""
    nodes = state.nodes
    for kind in state.named.get(peer, ()):
        spec = kind.spec
        if spec.node_selector or spec.node_affinity.required is not None:
            rows = np.flatnonzero(
                nodes.matches_selector(spec.node_selector) & nodes.matches_affinity(spec.node_affinity)
            )
            if 2 * len(rows) < len(nodes):
                return rows
    return nodes.all_rows[:0]
