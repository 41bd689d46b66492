"""The loop: for every application whose time has come, look, restrain, decide, move, follow up, tell.

Deciding is the pure ``descheduling.deschedule`` on a view of the live cache; this file carries its moves out one by one and
asks in every round what became of those begun before. Nothing waits for a particular event: whatever happened between two
rounds, to us or to the cluster, the next round starts from what is there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ecotone.descheduling import deschedule
from ecotone.descheduling.costs import pod_cost, request_cost
from ecotone.descheduling.missing import LONGEST
from ecotone.descheduling.plans import plan as plans
from ecotone.descheduling.plans.looking import looked_at
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.writing.eviction import Evicted, EvictionOutcome
from ecotone.model.decisions import DeletionCost, Evict
from ecotone.model.errors import InputError
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.profiles.windows import is_open
from ecotone.services.descheduler.groups import Groups, LiveAppGroup
from ecotone.services.descheduler.metrics import DeschedulerMetrics
from ecotone.services.descheduler.moves import History, Move, Outcome
from ecotone.services.descheduler.restraint import Freshness, Scope, freshness, in_rollout, is_leaving
from ecotone.services.descheduler.settings import DeschedulerProgramSettings, chosen
from ecotone.services.descheduler.surge import Surges
from ecotone.services.descheduler.survey import Survey, Surveys
from ecotone.services.descheduler.writer import MoveWriter
from ecotone.services.live_cache import LiveCache
from ecotone.services.monitor.conditions import Condition, merged
from ecotone.services.running import beside_the_loop

log = logging.getLogger(__name__)

WORKS, FRESH = "Descheduling", "MeasurementsFresh"
CAUTION = 2.0
"""By so much more must a move gain while some of the measurements are old."""

ARRIVAL_SECONDS = 5.0
"""After this long a pod that is still there has not been evicted."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Round:
    """One application in one round."""

    group: LiveAppGroup
    namespace: str
    profile: Profile
    settings: DeschedulerSettings
    history: History
    survey: Survey

    @property
    def name(self) -> str:
        return self.group.spec.name or self.group.metadata.name

    @property
    def view(self) -> Snapshot:
        return self.survey.view

    @property
    def members(self) -> frozenset[WorkloadKey]:
        return self.survey.members(self.namespace, self.name)


class Descheduler:
    def __init__(
        self,
        settings: DeschedulerProgramSettings,
        *,
        cache: LiveCache,
        groups: Groups,
        writer: MoveWriter,
        surges: Surges,
        alive: Callable[[], str | None],
        moved: Callable[[Move], None],
        told: Told,
        unbelieved: Callable[[], str | None] = lambda: None,
        metrics: DeschedulerMetrics | None = None,
        turned: Callable[[], None] = lambda: None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """``alive`` says why the scheduler cannot be counted upon, or None, and ``unbelieved`` why nothing that is measured
        is; ``told`` prints what a dry run would do;
        ``turned`` is called before every application's round.
        """
        self._settings = settings
        self._cache = cache
        self._surveys = Surveys(cache, wall)
        self._groups = groups
        self._writer = writer
        self._surges = surges
        self._alive = alive
        self._unbelieved = unbelieved
        self._moved = moved
        self._told = told
        self._turned = turned
        self._wall = wall
        self.metrics = metrics or DeschedulerMetrics()
        self._due: dict[str, float] = {}
        self._histories: dict[str, History] = {}

    async def tick(self) -> None:
        """One round of every application that is due; a failure concerns that application alone."""
        self._surveys.outdated()
        for key, group in self._groups.all():
            now = self._wall()
            if now < self._due.get(key, 0.0) and not self._goes_on(key):
                continue
            self._due[key] = now + max(1.0, group.spec.run_period)
            self._turned()
            try:
                await self.round(key, group)
                self.metrics.rounds.labels("ok").inc()
            except (ApiError, UnreachableError, InputError) as error:
                self.metrics.rounds.labels("error").inc()
                log.warning("AppGroup %s: %s", key, error)
            except Exception:
                self.metrics.rounds.labels("error").inc()
                log.exception("AppGroup %s: the round failed", key)
        for gone in self._due.keys() - self._groups.keys():
            del self._due[gone]
            self._histories.pop(gone, None)
            self.metrics.forget(gone)

    def _goes_on(self, key: str) -> bool:
        """True while a plan waits for its replacements: its next stage follows as soon as they are ready."""
        history = self._histories.get(key)
        return history is not None and plans.under_way(history.memory)

    async def round(self, key: str, group: LiveAppGroup) -> None:
        namespace = group.metadata.namespace or "default"
        self.metrics.known_as(key, namespace=namespace, app_group=group.spec.name or group.metadata.name)
        history = self._histories.get(key)
        if history is None:
            history = History.of(self._groups.status(key), namespace=namespace)
            self._histories[key] = history
        conditions: list[Condition] = []
        profile, settings = chosen(group, self._settings.profile)
        survey = self._surveys.take()
        view = survey.view
        if settings is None:
            conditions.append(Condition(WORKS, False, "NoDescheduler", f"policy {profile.name} moves nothing"))
        else:
            now = Round(group, namespace, profile, settings, history, survey)
            await self._follow(now)
            await self._sweep(now)
            history.breaker = history.breaker.judge(history.moves, view.now)
            await self._act(now, conditions)
            self._end_plan(now)
        self.metrics.breaker.labels(key).set(history.breaker.open(view.now))
        generation, written = group.metadata.generation, self._groups.conditions(key)
        told = merged(written, conditions, generation=generation, now=view.now)
        status = {"observedGeneration": generation, "conditions": told, **history.status()}
        if self._groups.differs(key, status):
            await self._writer.status(namespace=namespace, name=group.metadata.name, status=status)

    # Deciding

    async def _act(self, now: Round, conditions: list[Condition]) -> None:
        workloads = list(now.survey.workloads(now.namespace))
        own = [each for each in workloads if each.app_group == now.name]
        fresh = freshness(own, now=now.view.now, max_age=now.view.max_age)
        doubt = self._unbelieved()
        if doubt is None:
            conditions.append(Condition(FRESH, fresh.usable, "Fresh" if fresh.usable else "Stale", str(fresh)))
        else:
            conditions.append(Condition(FRESH, False, "NotBelieved", f"what is measured is not believed: {doubt}"))
        restraint = self._restraint(now, fresh)
        if restraint is not None:
            conditions.append(Condition(WORKS, False, *restraint))
            if fresh.usable:
                await self._look(now)
            return
        conditions.append(Condition(WORKS, True, "Active", "moves are made where they pay off"))
        settings = now.settings
        if fresh.cautious:
            settings = replace(
                settings,
                min_gain=settings.min_gain * CAUTION,
                min_relative_gain=min(1.0, settings.min_relative_gain * CAUTION),
            )
        under_way = frozenset(each.workload for each in now.history.under_way) | self._surges.under_way()
        busy = in_rollout(now.survey.pods(now.namespace), workloads)
        scope = Scope(now.namespace, now.name, busy, under_way, now.survey.failed)
        names = self._groups.scheduler_names(settings)
        waiting = now.survey.waiting(now.namespace, now.name)
        members = now.members | {pod.kind.workload for pod in waiting}
        settings = replace(settings, stays=scope, only=members, scheduler_names=names)
        # Everybody's: room that one of them needs is no room for a plan, whoever's it is.
        view = now.view.with_waiting(now.survey.all_waiting) if now.survey.all_waiting else now.view
        view = replace(view, memory=now.history.memory, last_moves=now.history.last_moves())
        answer = await beside_the_loop(lambda: deschedule(view, now.profile, settings))
        now.history.remember(answer.memory, at=now.view.now)
        for plan in plans.read_ended(answer.memory):
            if plan.why != plans.DONE:
                self._told(f"the plan that moves {', '.join(plan.workloads)} has ended: {plan.why}")
        for decision in answer.decisions:
            if isinstance(decision, Evict):
                await self._move(replace(now, settings=settings), decision)
            elif isinstance(decision, DeletionCost):
                await self._price(decision)

    async def _look(self, now: Round) -> None:
        """Nothing may move; what the load does meanwhile is noted for when something may."""
        view = replace(now.view, memory=now.history.memory)
        settings = replace(now.settings, only=now.members)
        now.history.memory = dict(await beside_the_loop(lambda: looked_at(view, settings)))

    async def _price(self, decision: DeletionCost) -> None:
        """Which pod goes first when its workload shrinks; written only if it says something new.

        While a surge is under way that is the pod that it replaces, and nobody else.
        """
        pod = self._cache.pod(decision.pod)
        if pod is None or pod.uid != decision.uid or pod.deletion_cost == decision.cost:
            return
        if pod.kind.workload in self._surges.under_way():
            return
        await self._writer.price(pod, decision.cost)
        verb = "would set" if self._writer.dry_run else "set"
        self._told(f"{verb} the deletion cost of {decision.pod} to {decision.cost}: {decision.why}")

    def _restraint(self, now: Round, fresh: Freshness) -> tuple[str, str] | None:
        """Reason and message if nothing may move now."""
        history, moment = now.history, now.view.now
        if now.namespace in self._settings.excluded_namespaces:
            return "Excluded", f"namespace {now.namespace} is excluded"
        if self._settings.only_namespaces and now.namespace not in self._settings.only_namespaces:
            return "Excluded", f"moves are made in {', '.join(sorted(self._settings.only_namespaces))} alone"
        if now.group.spec.paused:
            return "Paused", "spec.paused is set"
        if not is_open(now.settings.windows, moment):
            return "OutsideWindows", f"moves are made in {', '.join(now.settings.windows)}"
        if history.breaker.open(moment):
            return "CircuitBreakerOpen", history.breaker.why
        if not fresh.usable:
            return "MeasurementsStale", "measurements are too old to move pods by"
        began = self._groups.filling_since(f"{now.namespace}/{now.group.metadata.name}")
        if not fresh.measured and began is not None and moment - began < LONGEST:
            return (
                "MeasurementsFilling",
                f"its first figures are coming in; they are waited for {LONGEST:.0f} s at most",
            )
        if now.group.spec.slo is not None and (met := self._groups.slo_met(now.group)) is not False:
            known = (
                "is met" if met else "cannot be measured: --prometheus is needed, and the log says what it leaves out"
            )
            return "SLOMet" if met else "SLOUnknown", f"the objective {known}"
        dead = self._alive()
        if dead is not None:
            return "SchedulerUnavailable", dead
        return None

    # Moving

    async def _move(self, now: Round, decision: Evict) -> None:
        pod = self._cache.pod(decision.pod)
        if pod is None or pod.uid != decision.uid:
            return
        if is_leaving(now.survey.node(decision.target)):
            self._refused(now, decision, pod, "its target is being removed")
            return
        leaving = now.survey.leaving
        only = not _is_lost(now, pod) and not any(
            each.ready and not each.deleting and each.uid != pod.uid and each.node not in leaving
            for each in now.survey.pods_of(pod.kind.workload)
        )
        surge = decision.surge or (only and now.settings.single_replicas == "surge")
        if only and now.settings.single_replicas == "never":
            self._refused(now, decision, pod, "the only ready pod, and singleReplicas is never")
            return
        if surge and (impossible := await self._surges.impossible(pod)) is not None:
            if only:
                self._refused(now, decision, pod, f"the only ready pod, and a surge is impossible: {impossible}")
                return
            surge = False
        expires = now.view.now + now.settings.reserve_for
        if now.settings.reserve_for > 0:
            refusal = await self._writer.reserve(pod, decision.target, expires=expires)
            if refusal is not None:
                self._refused(now, decision, pod, refusal.why)
                return
        why_not = await self._carry_out(now, decision, pod, surge=surge)
        if why_not is not None:
            await self._writer.unreserve(namespace=pod.namespace, name=pod.uid)
            self._refused(now, decision, pod, why_not)

    async def _carry_out(self, now: Round, decision: Evict, pod: Pod, *, surge: bool) -> str | None:
        """Why it was not done; the reservation is written when this is called."""
        refusal = await self._writer.still_true(pod, decision.target)
        if refusal is not None:
            return refusal.why
        if surge:
            why_not = await self._surges.begin(pod, decision.target, now=now.view.now)
            if why_not is not None:
                return why_not
        else:
            leaving = now.survey.leaving
            kept = now.settings.single_replicas != "evict" and not _is_lost(now, pod)
            if kept and not await self._writer.ready_mates(pod, leaving=leaving):
                return "it is the only ready pod now on a node that stays"
            try:
                result = await self._writer.evict(pod)
            except UnreachableError as error:
                # It may have arrived: the move counts as begun, and the next rounds see whether it has.
                log.warning("evicting %s: %s", pod.key, error)
                result = Evicted(EvictionOutcome.EVICTED)
            if result.outcome is not EvictionOutcome.EVICTED:
                self.metrics.refusals.labels(result.outcome.value).inc()
                return f"{result.outcome.value}: {result.detail}"
        verb = "would move" if self._writer.dry_run else "moved"
        self._told(f"{verb} {decision.pod} from {decision.origin} to {decision.target}: {decision.why}")
        if self._writer.dry_run:
            return None
        part_of = now.history.plan_with(pod.uid)
        before = pod_cost(now.view, now.profile, now.settings, pod) if part_of is None else part_of.here
        move = Move(
            at=now.view.now,
            pod=pod.key,
            uid=pod.uid,
            workload=pod.kind.workload,
            origin=decision.origin,
            target=decision.target,
            gain=decision.gain,
            unit=decision.unit,
            before=before,
            surge=surge,
            plan=0.0 if part_of is None else now.history.plan_at,
        )
        now.history.add(move)
        self._surveys.outdated()
        self.metrics.moves.labels(pod.namespace, now.name).inc()
        self.metrics.predicted.labels(pod.namespace, now.name).inc(max(0.0, decision.gain))
        self._moved(move)
        return None

    def _refused(self, now: Round, decision: Evict, pod: Pod, why: str) -> None:
        log.info("%s stays on %s: %s", decision.pod, decision.origin, why)
        self.metrics.refusals.labels("restraint").inc()
        if now.history.moves and (last := now.history.moves[-1]).uid == pod.uid and last.outcome is Outcome.REFUSED:
            return
        now.history.add(
            Move(
                at=now.view.now,
                pod=pod.key,
                uid=pod.uid,
                workload=pod.kind.workload,
                origin=decision.origin,
                target=decision.target,
                gain=decision.gain,
                unit=decision.unit,
                outcome=Outcome.REFUSED,
                detail=why,
            )
        )

    # Following up

    async def _follow(self, now: Round) -> None:
        for move in now.history.under_way:
            ended = self._surges.ended(move) if move.surge else None
            if move.surge and ended is None:
                continue
            after = (
                self._judged(now, move) if ended in (None, "") else replace(move, outcome=Outcome.UNDONE, detail=ended)
            )
            if after is None:
                continue
            await self._writer.unreserve(namespace=move.workload.namespace, name=move.uid)
            now.history.replace(move, after)
            self.metrics.outcomes.labels(after.outcome.value).inc()
            self._count_measured(now, after)
            log.info("%s: %s on %s", move.pod, after.outcome.value, after.landed or "no node")

    def _count_measured(self, now: Round, move: Move) -> None:
        if move.measured is not None:
            self.metrics.measured.labels(now.namespace, now.name).inc(max(0.0, move.measured))

    def _end_plan(self, now: Round) -> None:
        """A plan promises as a whole, so it is measured as a whole, and its moves share what it brought.

        That is what a request would cost now had nothing moved, less what it costs: load and links that changed meanwhile
        are not the plan's merit or fault.
        """
        moves = now.history.to_measure()
        if not moves:
            return
        members = {(each.namespace, each.name) for each in now.members}
        unmoved = request_cost(now.view, now.profile, members, instead=now.history.plan_start)
        cost = request_cost(now.view, now.profile, members)
        now.history.plan_start = {}
        for move in moves if unmoved is not None and cost is not None else ():
            after = replace(move, measured=((unmoved or 0.0) - (cost or 0.0)) / len(moves))
            now.history.replace(move, after)
            self._count_measured(now, after)

    def _judged(self, now: Round, move: Move) -> Move | None:
        """The move with its outcome, or None if it is still under way."""
        replacement = self._replacement(now.survey, move)
        if replacement is not None and replacement.ready:
            cost = None if move.plan else pod_cost(now.view, now.profile, now.settings, replacement)
            measured = None if cost is None or move.before is None else move.before - cost
            outcome = Outcome.DONE if replacement.node == move.target else Outcome.ELSEWHERE
            return replace(move, outcome=outcome, landed=replacement.node or "", measured=measured)
        if not move.surge and now.view.now - move.at > ARRIVAL_SECONDS and self._stayed(now.survey, move):
            return replace(move, outcome=Outcome.REFUSED, detail="the eviction did not arrive")
        patience = max(self._settings.ready_seconds, now.settings.reserve_for)
        if now.view.now - move.at > patience:
            where = "" if replacement is None else replacement.node or ""
            return replace(move, outcome=Outcome.NOT_READY, landed=where)
        return None

    @staticmethod
    def _stayed(survey: Survey, move: Move) -> bool:
        there = survey.pods_of(move.workload)
        return any(pod.uid == move.uid and not pod.deleting and not pod.terminal for pod in there)

    @staticmethod
    def _replacement(survey: Survey, move: Move) -> Pod | None:
        held = next((each for each in survey.view.reservations if each.name == move.uid), None)
        there = survey.pods_of(move.workload)
        found = [pod for pod in there if pod.uid != move.uid and not pod.deleting and not pod.terminal]
        if held is not None and held.taken_by:
            return next((pod for pod in found if pod.uid == held.taken_by), None)
        # Creation times are whole seconds; the pod that replaces it cannot be older than the move.
        young = [pod for pod in found if pod.created >= int(move.at)]
        return max(young, key=lambda pod: (pod.node == move.target, pod.created), default=None)

    async def _sweep(self, now: Round) -> None:
        """Reservations that nothing is waiting for: of a crash, of somebody else, or past their time."""
        ours = {each.uid for each in now.history.under_way}
        alive = {pod.uid for pod in now.survey.pods(now.namespace) if not pod.deleting}
        for each in now.view.reservations:
            if each.namespace != now.namespace or each.name in ours:
                continue
            expired = each.expires <= now.view.now
            over = bool(each.taken_by) or each.replaces_uid in alive or each.replaces_uid != each.name
            if (expired or over) and await self._writer.expire(each):
                self.metrics.swept.inc()


def _is_lost(now: Round, pod: Pod) -> bool:
    """True if it is not ready on a node that is not: it serves nobody who would miss it."""
    return not pod.ready and pod.node in now.survey.failed
