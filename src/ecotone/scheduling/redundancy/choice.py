"""Redundancy of one pod's choice: which of the nodes that fit keep its workload on enough nodes and in enough zones.

A preference as strong as a filter: where one node that fits keeps it the others are out; where none does, the pod is worth
more than its redundancy, and what was given up is said. Replicas of another revision do not count, as they will be gone.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.targets import lacking, missed_ms
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Rejection
from ecotone.scheduling.redundancy.want import ZONE, Want, near_zones, want_of

NAME = "Redundancy"
GIVEN_UP = "redundancy is given up"
REASON = "its replicas would stand on too few nodes or in too few zones"
PROMISED = "elsewhere its replicas would miss their QoS target"
BROKEN = 1e-6  # milliseconds over target that are rounding and not a broken promise
_REVISIONS = ("pod-template-hash", "controller-revision-hash")
_MANY = 1 << 20  # replicas: as many as there may ever be
_NOWHERE: Rows = np.zeros(0, dtype=np.intp)


class Kept(msgspec.Struct, frozen=True):
    """`settled`: whatever places further replicas take, nothing is lost; `given_up`: what the pod's place gives up, if any."""

    settled: bool = True
    given_up: str = ""


_SETTLED = Kept()


def standing(state: ClusterState, kind: PodKind) -> tuple[Rows, Ints]:
    """The rows with pods of the same workload and revision that serve or will soon, each once, and how many each."""
    revision = _revision(kind)
    kinds = state.named.get((kind.workload.namespace, kind.workload.name), ())
    alike = [each for each in kinds if each.workload == kind.workload and _revision(each) == revision]
    found = [where for each in alike if len((where := state.usage.where(each))[0])]
    if len(found) <= 1:
        return found[0] if found else (_NOWHERE, _NOWHERE)
    rows, places = np.unique(np.concatenate([rows for rows, _ in found]), return_inverse=True)
    return rows, np.bincount(places, weights=np.concatenate([counts for _, counts in found])).astype(np.int64)


def _revision(kind: PodKind) -> str | None:
    return next((value for name, value in kind.labels if name in _REVISIONS), None)


def choose_among_redundant(evaluation: Evaluation) -> Kept:
    """Leaves only nodes that keep the workload of a waiting pod redundant, as far as any that fits does."""
    state, kind = evaluation.cycle.state, evaluation.cycle.pod.kind
    if not evaluation.framework.keeps_redundancy or evaluation.refusal is not None or not len(evaluation.feasible):
        return _SETTLED
    last = want_of(state, kind, _MANY)
    if last.nodes == 1:
        return _SETTLED
    rows, counts = standing(state, kind)
    if not len(rows):
        return Kept(settled=False)
    places = _Places(state, rows, evaluation.feasible)
    mask, given_up = places.keeping(want_of(state, kind, int(counts.sum()) + 1))
    if mask is not None and _breaks_promise(state, evaluation.cycle.pod, evaluation.feasible, mask):
        return Kept(settled=False, given_up=PROMISED)
    if mask is not None:
        evaluation.restrict(mask, [(NAME, Rejection(~mask, REASON, final=False))])
    return Kept(places.enough(last), given_up)


def _breaks_promise(state: ClusterState, pod: Pod, feasible: Rows, mask: Mask) -> bool:
    """True if QoS targets, its own or those of pods that wait with it, are kept only on a node that is not one of these."""
    missed = missed_ms(state, pod.kind)
    if missed is None:
        return False
    wanted = lacking(state, pod)
    places = feasible[:0] if wanted is None else feasible[wanted[feasible] > 0]
    if len(places):
        return not mask[places].any()
    return bool(missed[feasible[mask[feasible]]].min() > missed[feasible].min() + BROKEN)


def stay_redundant(evaluation: Evaluation, here: int) -> None:
    """Leaves only nodes on which a running pod, lifted off node `here`, takes neither a node nor a zone from its workload."""
    state, kind = evaluation.cycle.state, evaluation.cycle.pod.kind
    if not evaluation.framework.keeps_redundancy:
        return
    rows, counts = standing(state, kind)
    want = want_of(state, kind, int(counts.sum()) + 1)
    if not len(rows) or want.nodes == 1:
        return
    codes = state.nodes.labels(ZONE)[0]
    others = codes[rows]
    zones = set(others[others >= 0].tolist())
    allowed = np.ones(len(codes), dtype=np.bool_)
    if here not in rows and (want.kept or len(rows) < want.nodes):
        allowed[rows] = False
    home = int(codes[here])
    if home >= 0 and home not in zones and (want.kept or len(zones) < want.zones):
        allowed &= (codes >= 0) & ~np.isin(codes, list(zones))
    allowed[here] = True
    if not allowed.all():
        evaluation.restrict(allowed, [(NAME, Rejection(~allowed, REASON, final=False))])


def misses_one(state: ClusterState, kind: PodKind) -> bool:
    """True if the pods that stand are too close together for their number, as they are while one of them is replaced."""
    rows, counts = standing(state, kind)
    if not len(rows):
        return False
    places = _Places(state, rows, state.nodes.all_rows)
    mask, given_up = places.keeping(want_of(state, kind, int(counts.sum())))
    return mask is not None or bool(given_up)


class _Places:
    """Where a workload stands, and the nodes that would take one more of its pods."""

    def __init__(self, state: ClusterState, rows: Rows, feasible: Rows) -> None:
        self._state = state
        self._rows = rows
        self._feasible = feasible
        self._codes, names = state.nodes.labels(ZONE)
        self._number = len(names)
        held = self._codes[rows]
        self._zones = np.unique(held[held >= 0])

    def keeping(self, want: Want) -> tuple[Mask | None, str]:
        """The nodes one of which the next pod has to take (None: any will do), and what no node that fits would keep."""
        elsewhere = np.ones(len(self._codes), dtype=np.bool_)
        elsewhere[self._rows] = False
        in_others = (self._codes >= 0) & ~np.isin(self._codes, self._zones)
        lost = []
        outright = len(self._zones) < min(want.zones, self._number)
        beside = self._beside() if want.near and not outright else None
        if outright or beside is not None:
            if (in_others if beside is None else beside)[self._feasible].any():
                return in_others, ""
            lost.append(_told("zone", len(self._zones), max(2, min(want.zones, self._number))))
        if len(self._rows) < min(want.nodes, len(self._codes)):
            if elsewhere[self._feasible].any():
                return elsewhere, "".join(lost)
            lost.append(_told("node", len(self._rows), want.nodes))
        return None, " and ".join(lost)

    def enough(self, want: Want) -> bool:
        """True if no further replica, however many come, has to go anywhere in particular."""
        mask, _ = self.keeping(want)
        return mask is None

    def _beside(self) -> Mask | None:
        """The nodes in zones near the only one that it stands in; None if it stands in several, or none is near."""
        if len(self._zones) != 1 or self._number < 2:
            return None
        near = near_zones(self._state, int(self._zones[0]))
        return np.append(near, False)[self._codes] if near.any() else None


def _told(what: str, has: int, wanted: int) -> str:
    """`node` or `zone`, of which there are fewer than wanted."""
    where = "on" if what == "node" else "in"
    return (
        f"its replicas are {where} {has} {what}{'' if has == 1 else 's'} instead of {wanted}, as no other one takes it"
    )
