"""`decide(snapshot, policy)`: the one function everything else calls.

Pure: it works on its own copy of the snapshot, plays every decision forward on it, and returns what should be done. Pods
are taken in QueueSort order; a maximal run of consecutive pods of one kind is placed as a batch. Policies that think in
milliseconds look at pods that must be near each other (`within_bounds`), and at applications of which nothing is measured
yet (`first_placement`), as wholes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

import msgspec
import numpy as np
from msgspec.structs import replace

from ecotone.model.decisions import Bind, Decision, Decisions, Preempt, Wait
from ecotone.model.objects import Pod, PodKind
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.arrival import awaited, young
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.first_placement import Place, places
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import DESCRIBE, Cycle, Hold, Refusal
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.policies import Policy, resolve
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.redundancy.choice import GIVEN_UP, Kept, choose_among_redundant
from ecotone.scheduling.reservations import Reservations, without_ending
from ecotone.scheduling.within_bounds import places_within_bounds, turned_away


def decide(snapshot: Snapshot, policy: Policy, *, pods: Sequence[Pod] | None = None, batch: bool = True) -> Decisions:
    """All decisions for the pending pods (or the given ones) of a snapshot, and the policy's memory for next time."""
    profile = resolve(policy)
    waiting = tuple(snapshot.pending.values()) if pods is None else tuple(pods)
    framework = framework_of(profile)
    if profile.solver is not None:
        held, ready = _gathering(framework, snapshot, waiting)
        if held and not ready:
            return Decisions(tuple(held))
        solve = registry.find_solver(profile.solver.name)
        solved: Decisions = solve(snapshot, ready, **dict(profile.solver.args))
        return Decisions((*solved.decisions, *held), solved.memory)
    if framework.gangs:
        return _without_doomed_groups(framework, snapshot, waiting, batch=batch)
    arriving = _arriving(framework, snapshot, waiting) if framework.settle_seconds > 0 else []
    if arriving:
        held_back = {wait.pod for wait in arriving}
        waiting = tuple(pod for pod in waiting if pod.key not in held_back)
    answer = _together(framework, snapshot, waiting, batch=batch)
    return Decisions((*answer.decisions, *arriving), answer.memory)


def _arriving(framework: Framework, snapshot: Snapshot, waiting: Sequence[Pod]) -> list[Wait]:
    """For the pods of new applications that are not all there yet: that they wait for the rest."""
    groups = young(waiting, now=snapshot.now, settle=framework.settle_seconds)
    if not groups:
        return []
    state = ClusterState.of(snapshot)
    return [
        Wait(
            pod.key,
            f"waits for the rest of its application {group}: {lacking} lacks pods",
            uid=pod.uid,
            group=group,
            seconds=framework.settle_seconds,
        )
        for group, members in groups.items()
        if (lacking := awaited(state, members)) is not None
        for pod in members
    ]


def _together(framework: Framework, snapshot: Snapshot, waiting: Sequence[Pod], *, batch: bool) -> Decisions:
    """Pod by pod; and once more with other places where that leaves fewer pods without one, or suits a whole application."""
    tried = _Round(framework, ClusterState.of(snapshot), batch=batch)
    answer = tried.run(waiting)
    if framework.cost is None:
        return answer
    refused = turned_away(answer, waiting)
    if refused and tried.bound:
        copy = ClusterState.of(tried.state.freeze())
        instead = places_within_bounds(framework, copy, tried.bound.values(), refused)
        tried, answer = _instead(tried, answer, snapshot, waiting, instead)
    if len(tried.bound) > 1:
        instead = places(framework, tried.state, list(tried.bound.values()))
        _, answer = _instead(tried, answer, snapshot, waiting, instead)
    return answer


def _instead(
    tried: _Round, answer: Decisions, snapshot: Snapshot, waiting: Sequence[Pod], instead: Mapping[str, Place]
) -> tuple[_Round, Decisions]:
    """The round once more, with other places for some; or as it was, if not every pod gets what it should."""
    if not instead:
        return tried, answer
    kept = {each.pod: Place(each.node, each.why) for each in answer.decisions if isinstance(each, Bind)}
    wanted = {**kept, **instead}
    again = _Round(tried.framework, ClusterState.of(snapshot), batch=tried.batch, wanted=wanted)
    other = again.run(waiting)
    bound = {each.pod: each.node for each in other.decisions if isinstance(each, Bind)}
    return (again, other) if bound == {key: place.node for key, place in wanted.items()} else (tried, answer)


def _gathering(
    framework: Framework, snapshot: Snapshot, waiting: tuple[Pod, ...]
) -> tuple[list[Wait], tuple[Pod, ...]]:
    """Of pods that a solver is asked about: those whose groups still gather, and those it may decide now."""
    plugins = framework.gathering
    if not plugins or not waiting:
        return [], waiting
    state = ClusterState.of(snapshot)
    holds: dict[str, Hold | None] = {}
    held: list[Wait] = []
    ready: list[Pod] = []
    for pod in waiting:
        hold: Hold | None = None
        for plugin in plugins:
            group = plugin.group_of(pod)
            if group is not None:
                if group not in holds:
                    holds[group] = plugin.incomplete(state, pod)
                hold = hold or holds[group]
        if hold is None:
            ready.append(pod)
        else:
            why = f"waits for its group {hold.group}: more pods are expected; {hold.why}"
            held.append(Wait(pod.key, why, uid=pod.uid, group=hold.group, seconds=hold.seconds))
    return held, tuple(ready)


def _without_doomed_groups(
    framework: Framework, snapshot: Snapshot, waiting: Sequence[Pod], *, batch: bool
) -> Decisions:
    """Rounds until no group is broken: one that cannot be complete must not take places from those that can.

    Groups that lack pods leave first. Of those with a pod that fits nowhere, the first to fail leaves and the others try
    again without it; after a few such rounds all that fail leave at once. The rest of a group that left waits with the
    reason of the pod that fits nowhere.
    """
    doomed: dict[str, tuple[str, Wait]] = {}
    waits: list[Decision] = []
    left = list(waiting)
    for attempt in count():
        round_ = _Round(framework, ClusterState.of(snapshot), batch=batch)
        answer = round_.run(left)
        if not round_.broken:
            break
        absent = {group: held for group, held in round_.incomplete.items() if group not in round_.broken}
        first = next(iter(round_.broken))
        if absent:
            waits += [wait for held in absent.values() for wait in held]
        else:
            doomed.update(round_.broken if attempt >= _PATIENCE else {first: round_.broken[first]})
        left = [pod for pod in left if framework.groups_of(pod).isdisjoint({*doomed, *absent})]
    for pod in waiting:
        for group in framework.groups_of(pod) & doomed.keys():
            culprit, wait = doomed[group]
            whole = f"{group} waits as a whole: {culprit} fits nowhere: {wait.why}"
            why = wait.why if pod.key == culprit else whole
            waits.append(replace(wait, pod=pod.key, uid=pod.uid, why=why, group=group))
    return Decisions((*answer.decisions, *waits), answer.memory)


_PATIENCE = 8
_FRAMEWORKS: dict[int, Framework] = {}
_MOST_FRAMEWORKS = 64


def framework_of(profile: Profile) -> Framework:
    """The framework of a profile, made once: profiles are values, and plugins keep no cluster state."""
    made = _FRAMEWORKS.get(id(profile))
    if made is None or made.profile is not profile:
        if len(_FRAMEWORKS) >= _MOST_FRAMEWORKS:
            _FRAMEWORKS.clear()
        made = _FRAMEWORKS[id(profile)] = Framework(profile)
    return made


class _Group(msgspec.Struct):
    needed: int
    seconds: float
    held: list[tuple[Pod, int, str, Cycle]] = msgspec.field(default_factory=list)


class _Round:
    """One call of `decide`: a working copy of the cluster and the decisions taken so far."""

    def __init__(
        self,
        framework: Framework,
        state: ClusterState,
        *,
        batch: bool,
        wanted: Mapping[str, Place] | None = None,
    ) -> None:
        self.framework = framework
        self.state = state
        self.wanted = wanted or {}
        self.bound: dict[str, Pod] = {}  # those for which no place was reserved
        self.batch = batch and framework.batches
        self.decisions: list[Decision] = []
        self.groups: dict[str, _Group] = {}
        self.broken: dict[str, tuple[str, Wait]] = {}
        self.incomplete: dict[str, list[Wait]] = {}
        self.reservations = Reservations(state)
        self.nominated = [pod for pod in state.pending.values() if pod.nominated in state.nodes.index]

    def run(self, waiting: Sequence[Pod]) -> Decisions:
        queue = []
        for pod in waiting:
            refused = self.framework.refusal_at_the_gate(self.state, pod)
            if refused is None:
                queue.append(pod)
            else:
                self.decisions.append(Wait(pod.key, refused[1], uid=pod.uid, plugins=(refused[0],)))
        for run in _runs(self.state, self.framework.order(self.state, queue)):
            self._place(run)
        self._give_up_on_groups()
        return Decisions(tuple(self.decisions), dict(self.state.memory))

    def _place(self, run: Sequence[Pod]) -> None:
        """Pods of one kind, one after the other; what one placement leaves unchanged is not computed again."""
        evaluation: Evaluation | None = None
        kept = Kept()
        for position, pod in enumerate(run):
            if self.reservations and self._takes_reserved_place(pod):
                evaluation = None
                continue
            if self.wanted and self._takes_wanted_place(pod):
                evaluation = None
                continue
            if evaluation is None:
                evaluation = self._evaluate(pod)
                kept = choose_among_redundant(evaluation)
            row = evaluation.best() if evaluation.refusal is None else None
            alone = not self.batch or bool(self.nominated) or not kept.settled
            if row is not None:
                placed = self._commit(pod, row, evaluation, gives_up=kept.given_up)
                if placed is not None:
                    self.bound[pod.key] = placed
                if placed is None or alone or position + 1 == len(run):
                    evaluation = None
                else:
                    evaluation.advance(placed, row, run[position + 1])
            elif self._pushes_in(pod) or self._fail(pod, evaluation) or alone:
                evaluation = None
            else:
                same = self.decisions[-1]
                assert isinstance(same, Wait)
                self.decisions += [replace(same, pod=each.key, uid=each.uid) for each in run[position + 1 :]]
                return

    def _pushes_in(self, pod: Pod) -> bool:
        """A pod that fits nowhere takes room that is kept for pods of lower priority, or preempts where that is not enough."""
        freed = self.reservations.release(pod.spec.priority)
        if not freed:
            return False
        evaluation = self._evaluate(pod)
        gives_up = choose_among_redundant(evaluation).given_up
        row = evaluation.best() if evaluation.refusal is None else None
        node: str | None = None
        if row is not None:
            why = "takes room that was kept for pods of lower priority: " + explain_choice(evaluation, row)
            placed = self._commit(pod, row, evaluation, why=why, gives_up=gives_up)
            if placed is not None:
                self.bound[pod.key] = placed
                node = self.state.nodes.names[row]
        elif self._fail(pod, evaluation):
            made = self.decisions[-1]
            node = made.node if isinstance(made, Preempt) else None
        self.reservations.hold_again(freed, but=node)
        return True

    def _takes_reserved_place(self, pod: Pod) -> bool:
        """A replacement goes where the move meant it to go, if it still fits there, and waits for others that end there."""
        kept = self.reservations.claim(pod)
        if kept is None:
            return False
        if self._takes(pod, kept.node, f"takes the place reserved for it by {kept.name}") is not None:
            return True
        later = without_ending(self.state, kept.node)
        if later is None or not Evaluation(self.framework, Cycle(later, pod)).fits(later.nodes.index[kept.node]):
            return False
        self.reservations.give_back(kept)
        why = f"waits for the place reserved for it by {kept.name}: pods that are ending still take room on {kept.node}"
        self.decisions.append(Wait(pod.key, why, uid=pod.uid, seconds=kept.expires - self.state.now))
        return True

    def _takes_wanted_place(self, pod: Pod) -> bool:
        """A pod of an application that was looked at as a whole goes where that suits the whole, if it fits there."""
        place = self.wanted.get(pod.key)
        placed = None if place is None else self._takes(pod, place.node, place.why)
        if placed is not None:
            self.bound[pod.key] = placed
        return placed is not None

    def _takes(self, pod: Pod, node: str, why: str) -> Pod | None:
        evaluation = self._evaluate(pod)
        row = self.state.nodes.index[node]
        return self._commit(pod, row, evaluation, why=why) if evaluation.fits(row) else None

    def _evaluate(self, pod: Pod) -> Evaluation:
        """With pods nominated to nodes, a node must do both with them there and without, as kube-scheduler demands."""
        ghosts = [
            each
            for each in self.nominated
            if each.key in self.state.pending and each.key != pod.key and each.spec.priority >= pod.spec.priority
        ]
        if not ghosts:
            return Evaluation(self.framework, Cycle(self.state, pod))
        there = [ghost.on(ghost.nominated or "") for ghost in ghosts]
        nodes = self.state.nodes
        for ghost in there:
            self.state.usage.add(ghost, nodes.index[ghost.node or ""], nodes)
        crowded = Evaluation(self.framework, Cycle(self.state, pod))
        why = crowded.rejections() if crowded.refusal is None else []
        for ghost in there:
            self.state.usage.remove(ghost, nodes.index[ghost.node or ""], nodes)
        evaluation = Evaluation(self.framework, Cycle(self.state, pod))
        evaluation.restrict(crowded.ok, why)
        return evaluation

    def _commit(
        self, pod: Pod, row: int, evaluation: Evaluation, *, why: str | None = None, gives_up: str = ""
    ) -> Pod | None:
        cycle = evaluation.cycle
        why = why or explain_choice(evaluation, row)
        if gives_up:
            why += f"; {GIVEN_UP}: {gives_up}"
        node = self.state.nodes.names[row]
        for plugin in self.framework.reservers:
            refused = plugin.reserve(cycle, row)
            if refused is not None:
                self._unreserve(cycle, row)
                self.decisions.append(Wait(pod.key, refused, uid=pod.uid, plugins=(plugin.name,)))
                return None
        held: Hold | None = None
        for permitting in self.framework.permits:
            answer = permitting.permit(cycle, row)
            if isinstance(answer, Refusal):
                self._unreserve(cycle, row)
                self.decisions.append(Wait(pod.key, answer.reason, uid=pod.uid, plugins=(permitting.name,)))
                return None
            held = answer or held
        placed = self.state.assume(pod, node)
        if held is None:
            self.decisions.append(Bind(pod.key, node, why, uid=pod.uid))
        else:
            self._hold(pod, row, why, cycle, held)
        return placed

    def _unreserve(self, cycle: Cycle, row: int) -> None:
        for plugin in reversed(self.framework.reservers):
            plugin.unreserve(cycle, row)

    def _hold(self, pod: Pod, row: int, why: str, cycle: Cycle, hold: Hold) -> None:
        group = self.groups.setdefault(hold.group, _Group(hold.needed, hold.seconds))
        group.held.append((pod, row, why, cycle))
        if len(group.held) >= group.needed:
            for each, position, reason, _ in group.held:
                self.decisions.append(Bind(each.key, self.state.nodes.names[position], reason, uid=each.uid))
            del self.groups[hold.group]

    def _give_up_on_groups(self) -> None:
        """Incomplete groups go back as a whole: their places were only held inside this round."""
        for name, group in self.groups.items():
            for pod, row, _, cycle in reversed(group.held):
                self._unreserve(cycle, row)
                self.state.drop_pod(pod.key)
                self.state.put_pod(pod)
            for pod, *_ in group.held:
                why = f"waits for its group {name}: {len(group.held)} of {group.needed} pods have a place"
                wait = Wait(pod.key, why, uid=pod.uid, group=name, seconds=group.seconds)
                self.decisions.append(wait)
                self.incomplete.setdefault(name, []).append(wait)

    def _fail(self, pod: Pod, evaluation: Evaluation) -> bool:
        """Nothing fits: preempt if that helps (True: the cluster changed), else wait with the reasons."""
        no_room: list[str] = []
        for plugin in self.framework.postfilters:
            answer = plugin.postfilter(evaluation.cycle, evaluation)
            if isinstance(answer, Preempt):
                plugins, why = diagnose(evaluation)
                self.decisions.append(replace(answer, why=f"{why} {answer.why}", plugins=plugins))
                for victim in answer.victims:
                    self.state.disrupt(victim)
                self.state.assume(pod, answer.node)
                return True
            if isinstance(answer, str):
                no_room.append(answer)
        plugins, why = diagnose(evaluation)
        wait = Wait(pod.key, why, uid=pod.uid, plugins=plugins, no_room=", ".join(no_room))
        self.decisions.append(wait)
        for group in self.framework.groups_of(pod):
            self.broken.setdefault(group, (pod.key, wait))
        return False


def _runs(state: ClusterState, queue: Iterable[Pod]) -> Iterable[Sequence[Pod]]:
    run: list[Pod] = []
    for pod in queue:
        if run and not _alike(state, pod.kind, run[0].kind):
            yield run
            run = []
        run.append(pod)
    if run:
        yield run


def _alike(state: ClusterState, one: PodKind, other: PodKind) -> bool:
    """True if both get the same verdicts: one kind, or bare pods that differ only in names no affinity or traffic refers to."""
    if one == other:
        return True
    return one.app_group is None and _unspoken(state, one) and _unspoken(state, other) and one.like(other)


def _unspoken(state: ClusterState, kind: PodKind) -> bool:
    name = (kind.workload.namespace, kind.workload.name)
    return (
        kind.workload.kind == "Pod"
        and kind.workload not in state.workloads
        and name not in state.graph.named
        and name not in state.graph.mentioned_by
    )


def diagnose(evaluation: Evaluation) -> tuple[tuple[str, ...], str]:
    """Which plugins turned the pod away, and the sentence kube-scheduler would write."""
    size = len(evaluation.rows)
    if evaluation.refusal is not None:
        name, refusal = evaluation.refusal
        return (name,), f"0/{size} nodes are available: {refusal.reason}."
    if not size:
        return (), "no nodes available to schedule pods"
    counts: dict[str, int] = {}
    plugins: dict[str, None] = {}
    for name, rejection in evaluation.rejections():
        plugins[name] = None
        counts[rejection.reason] = counts.get(rejection.reason, 0) + int(np.count_nonzero(rejection.mask))
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return tuple(plugins), f"0/{size} nodes are available: {reasons}."


def explain_choice(evaluation: Evaluation, row: int) -> str:
    """One line for the record: how many nodes could take the pod, and what spoke for this one."""
    count = len(evaluation.feasible)
    if count == 1:
        return (
            f"the only one of {len(evaluation.rows)} nodes that fits" if len(evaluation.rows) > 1 else "the only node"
        )
    position = row if count == len(evaluation.rows) else int(np.searchsorted(evaluation.feasible, row))
    parts = []
    shares = []
    for term in evaluation.terms:
        if term.normalized is None or term.raw is None or term.share is None:
            continue
        plugin = term.scorer.plugin
        told = f" ({plugin.describe(evaluation.cycle, row, float(term.raw[row]))})" if DESCRIBE.has(plugin) else ""
        parts.append(f"{plugin.name} {term.normalized.item(position):.4g} x {term.scorer.weight:g}{told}")
        shares.append(term.share.item(position))
    total = sum(shares)
    return f"best of {count} feasible nodes with {total:.4g}: " + ", ".join(parts or ["no term tells them apart"])
