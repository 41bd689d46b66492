"""Moves of several workloads at once.

A chain that sits in one place has settled: whichever pod goes first to where the users are now pays a round trip to all
it left behind, so one pod at a time never gets there. Here whole groups are judged, each caller with everything it calls,
by what all requests together spend:

    J = sum over channels of requests/s x round trip  +  sum over nodes of CPU work/s x how often work waits for itself

in milliseconds per second; divided by the users' requests per second, milliseconds per request. Only where requests are
counted can network and CPU be added up this way; without counts no groups are moved. A workload none of whose requests are
counted (behind a message queue, say) has its bytes taken at the size of the counted ones. The figures (channels,
utilisation, waiting) are the scheduler's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecotone.descheduling.saving import Saving
from ecotone.model.arrays import Floats
from ecotone.model.nodes import CPU
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.channels import ASYNCHRONOUS, channels
from ecotone.scheduling.cost import used_share, waiting
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.peers import amount, requests_of, traffic_of, whereabouts
from ecotone.scheduling.plugin import Cycle

Place = dict[Name, int]
_IDLE = 1e-9  # the formula of waiting wants some utilisation


@dataclass(frozen=True, slots=True)
class GroupMove(Saving):
    """Pods that go to one node together."""

    pods: tuple[Pod, ...]
    target: str


class Application:
    """All talk between placed workloads, and J as a function of where the movable ones are."""

    def __init__(self, state: ClusterState, pods: Sequence[Pod]) -> None:
        self._state = state
        self.pods = {(pod.kind.workload.namespace, pod.kind.workload.name): pod for pod in _only_pods(state, pods)}
        self.place: Place = {name: state.nodes.index[pod.node or ""] for name, pod in self.pods.items()}
        self._talk: list[tuple[Name, Name, float]] = []
        self._partners: dict[Name, list[tuple[Name, float]]] = {}
        self._anchors: dict[Name, Floats] = {}  # ms/s on each row, toward what does not move
        self.callees: dict[Name, set[Name]] = {}
        self.users = 0.0
        self._listen()
        capacity = np.maximum(state.nodes.allocatable[:, CPU].astype(np.float64), 1.0)
        self._cores = capacity / 1000
        self._busy = used_share(state, state.nodes.all_rows) * capacity
        self._use = {name: state.pod_usage(pod.kind)[0] for name, pod in self.pods.items()}

    def _listen(self) -> None:
        """Every channel once: from its caller's side, or from the callee's where the callers are users."""
        size = self._request_size()
        for own in self.pods:
            found = channels(self._state, own)
            # Where none of a workload's requests were counted its channels are still in bytes.
            unit = 1.0 if any(channel.rate for channel in found) else size
            for channel in found:
                flow = (channel.traffic or 0.0) / unit * (ASYNCHRONOUS if channel.synchronous is False else 1.0)
                if flow <= 0.0 or (channel.rate is None and channel.users):
                    continue
                if channel.users:
                    self.users += flow
                if channel.users or (channel.calls and channel.peer not in self.pods):
                    self._anchor(own, channel.peer, flow)
                elif channel.calls:
                    self._talk.append((own, channel.peer, flow))
                    self._partners.setdefault(own, []).append((channel.peer, flow))
                    self._partners.setdefault(channel.peer, []).append((own, flow))
                    self.callees.setdefault(own, set()).add(channel.peer)
                elif channel.called and channel.peer not in self.pods:
                    self._anchor(own, channel.peer, flow)

    def _request_size(self) -> float:
        """Bytes of a request, there and back, over all channels on which requests were counted; one if none were."""
        size = count = 0.0
        for name in self.pods:
            for key in self._state.graph.named.get(name, ()):
                workload = self._state.workloads[key]
                traffic, requests = traffic_of(self._state, workload) or {}, requests_of(self._state, workload) or {}
                for peer in requests:
                    if amount(requests, peer) > 0.0 and amount(traffic, peer) > 0.0:
                        size += amount(traffic, peer)
                        count += amount(requests, peer)
        return size / count if count else 1.0

    def _anchor(self, own: Name, peer: Name, flow: float) -> None:
        rows, counts = whereabouts(self._state, *peer)
        if len(rows):
            weights = flow * counts / counts.sum()
            toward = self._state.network.weighted(rows, weights)
            self._anchors[own] = self._anchors.get(own, np.zeros(len(toward))) + toward

    def network_of(self, name: Name, place: Place) -> Floats:
        """Milliseconds per second that this workload's talk takes with it on each row and the others where `place` says."""
        network = self._state.network
        total = np.zeros(len(self._cores)) + self._anchors.get(name, 0.0)
        for other, flow in self._partners.get(name, ()):
            total += flow * network.toward(place[other])
        return total

    def on(self, row: int) -> list[Name]:
        """The movable workloads of a node."""
        return [name for name, home in self.place.items() if home == row]

    def cost(self, place: Place) -> float:
        """J in ms per user request."""
        network = self._state.network
        total = sum(flow * float(network.toward(place[b])[place[a]]) for a, b, flow in self._talk)
        total += sum(float(toward[place[name]]) for name, toward in self._anchors.items())
        busy = self._busy.copy()
        for name, row in place.items():
            if row != self.place[name]:
                busy[self.place[name]] -= self._use[name]
                busy[row] += self._use[name]
        busy = np.maximum(busy, 0.0)
        wait, _ = waiting(np.maximum(busy / (self._cores * 1000), _IDLE), self._cores)
        total += float((busy * wait).sum())
        return total / self.users

    def groups(self) -> Iterator[frozenset[Name]]:
        """Each caller with all it calls, directly or not; and everything that talks."""
        seen: set[frozenset[Name]] = set()
        for start in self.pods:
            reached, left = {start}, [start]
            while left:
                for other in self.callees.get(left.pop(), ()):
                    if other not in reached:
                        reached.add(other)
                        left.append(other)
            group = frozenset(reached)
            if len(group) > 1 and group not in seen:
                seen.add(group)
                yield group


def _only_pods(state: ClusterState, pods: Sequence[Pod]) -> list[Pod]:
    """Those that are the only one of their workload: a group is one pod of each."""
    alone = []
    for pod in pods:
        _, counts = whereabouts(state, pod.kind.workload.namespace, pod.kind.workload.name)
        if counts.sum() == 1 and pod.node in state.nodes.index:
            alone.append(pod)
    return alone


def group_moves(framework: Framework, state: ClusterState, pods: Sequence[Pod]) -> Iterator[GroupMove]:
    """Moves of groups that make J smaller and fit, the best first."""
    application = Application(state, pods)
    if application.users <= 0.0 or not state.network.anything_known:
        return
    here = application.cost(application.place)
    found: list[tuple[float, str, frozenset[Name]]] = []
    for group in application.groups():
        for row, name in enumerate(state.nodes.names):
            place = {**application.place, **dict.fromkeys(group, row)}
            there = application.cost(place)
            moving = frozenset(each for each in group if application.place[each] != row)
            if there < here and len(moving) > 1:
                found.append((there, name, moving))
    for there, target, group in sorted(found, key=lambda each: (each[0], each[1], sorted(each[2]))):
        moved = tuple(application.pods[name] for name in sorted(group))
        if _fits(framework, state, moved, target):
            yield GroupMove(moved, target, here=here, there=there)


def _fits(framework: Framework, state: ClusterState, pods: Sequence[Pod], target: str) -> bool:
    """Whether the scheduler's filters take all of them there, one after the other."""
    row = state.nodes.index[target]
    for pod in pods:
        state.drop_pod(pod.key)
    try:
        for pod in pods:
            evaluation = Evaluation(framework, Cycle(state, replace(pod, node=None, bound_at=None)))
            if evaluation.refusal is not None or not evaluation.ok[row]:
                return False
            state.assume(pod, target)
        return True
    finally:
        for pod in pods:
            state.drop_pod(pod.key)
            state.put_pod(pod)
