"""Making room: one pod goes so that another one can come.

A pod that arrived first may sit on the last free place beside a peer that another pod needs far more. Alone neither moves:
the one has no reason to go, the other no room. Here such pairs are judged by what the whole application's requests spend
(`together.Application`): the guest moves away in this run, and the pod it made room for follows in the next one, by the
ordinary rule. Should that not happen, for whatever reason, the guest is only a little worse off than before.

Both moves are checked to fit one after the other, guest first; where they fit only at the same moment nothing is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecotone.descheduling.saving import Saving
from ecotone.descheduling.together import Application, Place
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cycle

# What is looked at, the most promising by the network alone first, so that a large cluster costs no more than a small one.
_WISHES = 16  # pods and nodes where they would rather be
_NODES = 4  # of one pod
_GUESTS = 8  # pods on such a node that would lose least by leaving
_PLACES = 8  # where a guest would go


@dataclass(frozen=True, slots=True)
class Room(Saving):
    """The guest goes to the target, and then the comer to where the guest was."""

    guest: Pod
    target: str
    comer: Pod


def rooms(
    framework: Framework, state: ClusterState, pods: Sequence[Pod], *, relative_gain: float, gain: float
) -> Iterator[Room]:
    """Pairs of moves that make the application's requests faster by so much and fit, the best first."""
    application = Application(state, pods)
    if application.users <= 0.0 or not state.network.anything_known:
        return
    here = application.cost(application.place)
    found: list[tuple[float, Name, int, Name, int]] = []
    for comer, row in _wishes(application):
        after = {**application.place, comer: row}
        for guest, target in _ways_out(application, after, row, comer):
            there = application.cost({**after, guest: target})
            if here - there >= max(gain, relative_gain * here):
                found.append((there, comer, row, guest, target))
    open_already: dict[tuple[Name, int], bool] = {}
    for there, comer, row, guest, target in sorted(found):
        if (comer, row) not in open_already:
            open_already[comer, row] = _allows(framework, state, application.pods[comer], row)
        if open_already[comer, row]:
            continue  # it needs no room made: that is an ordinary move
        if _fits(framework, state, (application.pods[guest], target), (application.pods[comer], row)):
            leaves, comes = application.pods[guest], application.pods[comer]
            yield Room(leaves, state.nodes.names[target], comes, here=here, there=there)


def _wishes(application: Application) -> list[tuple[Name, int]]:
    """Pods and the nodes they would be better off on by the network alone, the largest saving first."""
    found = []
    for name in application.pods:
        toward = application.network_of(name, application.place)
        best = np.argsort(toward, kind="stable")[:_NODES].tolist()
        saved = [(float(toward[row] - toward[application.place[name]]), name, row) for row in best]
        found += [each for each in saved if each[0] < 0.0]
    return [(name, row) for _, name, row in sorted(found)[:_WISHES]]


def _ways_out(application: Application, place: Place, row: int, comer: Name) -> list[tuple[Name, int]]:
    """Who could leave this node, and where to."""
    guests = []
    for guest in application.on(row):
        if guest != comer:
            toward = application.network_of(guest, place)
            others = [each for each in np.argsort(toward, kind="stable")[: _PLACES + 1].tolist() if each != row]
            if others:
                guests.append((float(toward[others[0]] - toward[row]), guest, others))
    return [(guest, target) for _, guest, others in sorted(guests)[:_GUESTS] for target in others]


def _fits(framework: Framework, state: ClusterState, guest: tuple[Pod, int], comer: tuple[Pod, int]) -> bool:
    """Whether the filters take the guest at its target now, and the comer in its place once it is gone."""
    pod, row = guest
    if not _allows(framework, state, pod, row):
        return False
    state.lift(pod.key)
    state.assume(pod, state.nodes.names[row])
    try:
        return _allows(framework, state, comer[0], comer[1])
    finally:
        state.drop_pod(pod.key)
        state.put_pod(pod)


def _allows(framework: Framework, state: ClusterState, pod: Pod, row: int) -> bool:
    state.lift(pod.key)
    try:
        evaluation = Evaluation(framework, Cycle(state, replace(pod, node=None, bound_at=None)))
        return evaluation.refusal is None and bool(evaluation.ok[row])
    finally:
        state.put_pod(pod)
