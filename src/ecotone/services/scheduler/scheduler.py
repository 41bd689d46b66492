"""The scheduler: takes pods from the queue, asks ``decide``, and carries out what it says.

Deciding is synchronous and pure; everything around it is not. A *round* pops a number of pods, takes a view of the cache,
decides, and assumes every placement at once; the bindings then travel in parallel while the next round is decided. So
the API server's latency costs nothing but memory for the pods under way, and no decision ever waits for another's
request.

This file knows nothing of leadership or watch streams; ``program`` puts it to work.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.writing.binding import Bound, Outcome
from ecotone.kube.writing.events import EventRecorder
from ecotone.model.decisions import Bind, Decision, Evict, Preempt, Wait
from ecotone.model.objects import Pod, Reservation
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.arrival import PATIENCE, arriving_group, young
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.profiles.profile import Profile
from ecotone.services.health import Health, Pulse
from ecotone.services.live_cache import LiveCache
from ecotone.services.running import collect_while_idle, wait_at_most
from ecotone.services.scheduler import messages, volumes
from ecotone.services.scheduler.metrics import SchedulerMetrics
from ecotone.services.scheduler.overcommit import OvercommitWatch
from ecotone.services.scheduler.pod_writer import PodWriter
from ecotone.services.scheduler.queue import Entry, Place, SchedulingQueue
from ecotone.services.scheduler.records import DecisionRecords
from ecotone.services.scheduler.settings import SchedulerSettings, frameworks_of

log = logging.getLogger(__name__)


LANDING_SECONDS = 1.0
"""For bindings under way at the end of a term: the rest of the five seconds belongs to the lease."""

FIRST_ROUND = 8

Explain = Callable[[Profile, Pod, Snapshot], dict[str, Any]]


class _Flight(msgspec.Struct, frozen=True):
    """A binding under way."""

    entry: Entry
    pod: Pod
    node: str
    why: str
    profile: str
    popped: float
    reserved: Reservation | None = None
    """The reservation that this placement takes."""


class Scheduler:
    def __init__(
        self,
        settings: SchedulerSettings,
        *,
        writer: PodWriter,
        recorder: EventRecorder,
        explain: Explain,
        metrics: SchedulerMetrics | None = None,
        pulse: Pulse | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.metrics = metrics or SchedulerMetrics()
        self._pulse = pulse or Health().expect("deciding", within=settings.lease.duration)
        self.records = DecisionRecords()
        self._writer = writer
        self._recorder = recorder
        self._explain = explain
        self._clock = clock
        self._wall = wall
        self._frameworks = frameworks_of(settings.profiles)
        self._first = next(iter(self._frameworks.values()))
        state = ClusterState(now=wall(), max_age=settings.max_age, seed=settings.seed)
        self.cache = LiveCache(state, listener=self._changed, pod_listener=self._pod_changed)
        self.queue: SchedulingQueue[Event] = SchedulingQueue(
            key=self._sort_key,
            helps=self._helps,
            gate=self._gate,
            first_backoff=settings.first_backoff,
            longest_backoff=settings.longest_backoff,
        )
        self._work = asyncio.Event()
        self._flights: set[asyncio.Task[None]] = set()
        self._landed = asyncio.Event()
        self._overcommit = OvercommitWatch()
        self._term_over = False
        self._opening = False
        """True until the first round of a term has begun."""

    # The queue's questions

    def _sort_key(self, pod: Pod) -> Any:
        framework = self._frameworks.get(pod.spec.scheduler_name, self._first)
        return framework.sort_key(self.cache.state, pod)

    def _gate(self, pod: Pod) -> str | None:
        framework = self._frameworks.get(pod.spec.scheduler_name, self._first)
        refusal = framework.refusal_at_the_gate(self.cache.state, pod)
        return None if refusal is None else refusal[0]

    def _helps(self, event: Event, entry: Entry) -> bool:
        framework = self._frameworks.get(entry.pod.spec.scheduler_name, self._first)
        try:
            return framework.could_help(event, entry.pod, entry.rejected_by)
        except Exception:
            # A hint only saves work: the event counts, and so does the pod that is tried once too often.
            log.exception("a hint about %s failed", entry.pod.key)
            return True

    def _changed(self, event: Event) -> None:
        if self.queue.happened(event, now=self._clock(), name=f"{event.resource}-{event.action}"):
            self._work.set()

    # What the watch says about pods

    def _pod_changed(self, before: Pod | None, pod: Pod | None) -> None:
        if pod is None:
            if before is not None:
                self.queue.remove(before.uid)
                self._writer.forget(before.uid)
        elif self._is_pending(pod):
            self.queue.add(pod, now=self._clock())
            self._work.set()
        else:
            self.queue.remove(pod.uid)

    @property
    def events_dropped(self) -> int:
        return self._recorder.dropped

    def _is_pending(self, pod: Pod) -> bool:
        return (
            pod.node is None
            and not pod.terminal
            and not pod.deleting
            and pod.spec.scheduler_name in self.settings.profiles
        )

    # A term of leadership

    def start_term(self) -> None:
        """Everything is read anew: nothing from an earlier term is believed."""
        self._term_over = False
        self._opening = True
        self.cache.forget_all()
        now = self._clock()
        for pod in self.cache.pods():
            if self._is_pending(pod) and pod.uid not in self.queue:
                self.queue.add(pod, now=now)

    async def run(self) -> None:
        """Schedules until ``end_term`` or until cancelled; then waits for the bindings under way."""
        try:
            while not self._term_over:
                self._pulse.beat()
                await self._round()
        finally:
            self._pulse.rest()
            self._term_over = True
            await self.land()

    def end_term(self) -> None:
        """No further round is begun. A flag, so that the end does not depend on a cancellation being delivered."""
        self._term_over = True
        self._work.set()
        self._landed.set()

    async def land(self, timeout: float = LANDING_SECONDS) -> None:
        """Bindings under way get a moment; what is still in the air then is let go, its outcome unknown."""
        if self._flights:
            await asyncio.wait(self._flights, timeout=timeout)
        for task in list(self._flights):
            task.cancel()

    async def _round(self) -> None:
        now = self._clock()
        self.queue.advance(now=now)
        room = self.settings.bindings_in_flight - len(self._flights)
        # A round has fixed costs: with many pods waiting, half of the places are let free before the next one. Not more:
        # answers wait while a round is decided, and the API server must not run out of bindings meanwhile.
        crowded = room < min(self.settings.bindings_in_flight // 2, self.queue.size(Place.ACTIVE))
        if room <= 0 or crowded or not self.queue.has_active:
            await self._pause(full=room <= 0 or crowded)
            return
        if self._writer.out_of_time():
            await asyncio.sleep(0.01)
            return
        limit = min(self.settings.round_size, room)
        if self._opening:
            self._opening = False
            limit = min(limit, self._first_round())
        entries = self.queue.pop(now=now, limit=limit, same=lambda pod: pod.spec.scheduler_name)
        entries += self._mates(entries)
        self._recorder.hold()
        try:
            self._decide(entries)
        except Exception:
            log.exception("a round of %d pods failed; they are decided one by one", len(entries))
            self._one_by_one(entries)
        # Let the watch streams and the bindings have the loop before the next round: one turn to be written, one to leave.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _first_round(self) -> int:
        """How many pods the first round of a term takes: a few, so that the API server has something to do meanwhile.

        Not where pods are decided together, by a solver or as groups: what they get depends on who is with them.
        """
        together = any(each.solver is not None or each.all_or_nothing for each in self.settings.profiles.values())
        return self.settings.round_size if together else FIRST_ROUND

    def _one_by_one(self, entries: list[Entry]) -> None:
        """One pod that cannot be decided must not keep those that happened to be popped with it."""
        for entry in entries:
            if entry.place is not Place.IN_FLIGHT:
                continue  # it was decided before the round failed
            try:
                self._decide([entry])
            except Exception:
                log.exception("%s could not be decided and is tried again", entry.pod.key)
                self.queue.retry(entry, now=self._clock(), event="ScheduleAttemptError")
                self.metrics.attempts.labels("error", entry.pod.spec.scheduler_name).inc()

    def _mates(self, entries: list[Entry]) -> list[Entry]:
        """The rest of the all-or-nothing groups that these pods belong to, and the groups still gathering; and of applications
        that are just arriving.

        Groups that are decided together share the nodes better than groups that take what they want one after the other.
        """
        name = entries[0].pod.spec.scheduler_name
        framework = self._frameworks.get(name, self._first)
        groups = frozenset[str]().union(*(framework.groups_of(entry.pod) for entry in entries))
        # Those that have waited for the rest in vain are still decided with each other.
        settle = 2 * PATIENCE * framework.settle_seconds
        arriving = young((each.pod for each in entries), now=self._wall(), settle=settle) if settle > 0 else {}
        if not groups and not arriving:
            return []

        def belongs(entry: Entry) -> bool:
            if entry.pod.spec.scheduler_name != name:
                return False
            if entry.place is not Place.UNSCHEDULABLE and arriving_group(entry.pod) in arriving:
                return True
            mine = framework.groups_of(entry.pod)
            return bool(mine) and (entry.place is not Place.UNSCHEDULABLE or not groups.isdisjoint(mine))

        return self.queue.claim(belongs)

    async def _pause(self, *, full: bool) -> None:
        if self._term_over:
            return
        if full:
            self._landed.clear()
            await wait_at_most(self._landed, 1.0)
            return
        if not self._flights:
            self._recorder.resume()
        moment = self.queue.next_moment()
        timeout = 1.0 if moment is None else max(0.0, min(1.0, moment - self._clock()))
        self._work.clear()
        if not await wait_at_most(self._work, timeout):
            self.look_around()
            collect_while_idle()

    def look_around(self) -> None:
        """Once in a while: over-commitment, and figures for the metrics."""
        self.cache.settle_nodes()
        for found in self._overcommit.check(self.cache.state):
            log.warning("over-committed: %s (is another scheduler active?)", found)
            self.metrics.overcommitments.inc()
            messages.overcommitted(self._recorder, found)
        self.metrics.overcommitted.set(self._overcommit.current)

    # One round

    def _decide(self, entries: list[Entry]) -> None:
        name = entries[0].pod.spec.scheduler_name
        profile = self.settings.profiles[name]
        started = self._clock()
        by_key = {entry.pod.key: entry for entry in entries}
        view = self.cache.view(self._wall())
        # The pods of this round are pending in what is decided upon, and in what is remembered of it.
        view = view.with_waiting(entry.pod for entry in entries)
        self.records.new_round(view)
        answer = decide(view, profile, pods=[entry.pod for entry in entries])
        self.cache.state.memory.update(answer.memory)
        self.metrics.algorithm_duration.observe(self._clock() - started)
        for decision in answer.decisions:
            self._carry_out(decision, by_key, profile=profile, popped=started)
        for entry in by_key.values():
            # A solver may leave a pod out; it is asked again later.
            self.queue.retry(entry, now=self._clock(), event="Undecided")

    def _carry_out(self, decision: Decision, entries: dict[str, Entry], *, profile: Profile, popped: float) -> None:
        if isinstance(decision, Evict):
            return
        entry = entries.pop(decision.pod, None)
        if entry is None:
            return
        name = entry.pod.spec.scheduler_name
        self._remember(entry, decision, profile)
        match decision:
            case Bind(node=node, why=why):
                self._take_off(_Flight(entry, entry.pod, node, why, name, popped))
            case Preempt():
                self._preempt(entry, decision)
            case Wait(seconds=float(), group=group):
                # Its group is not complete yet, or its place not free: nothing failed, it is tried again soon.
                self.queue.retry(entry, now=popped, event="GroupIncomplete" if group else "PlaceNotFree")
            case Wait(why=why, plugins=plugins, no_room=no_room):
                self._rejected(entry, f"{why} {no_room}".rstrip(), frozenset(plugins), popped=popped)

    def _remember(self, entry: Entry, decision: Decision, profile: Profile) -> None:
        short = partial(messages.short_record, profile, entry.pod, decision)
        self.records.keep(entry.pod.key, short, partial(self._explain, profile, entry.pod))

    def _take_off(self, flight: _Flight) -> None:
        if self.cache.state.reservations:
            flight = replace(flight, reserved=self.cache.take(flight.pod, flight.node))
        self.cache.assume(flight.pod, flight.node)
        self.queue.done(flight.pod.uid)
        choice = volumes.choose(self.cache.state, flight.pod, flight.node)
        task = asyncio.create_task(self._bind(flight) if choice is None else self._bind_with(flight, choice))
        self._flights.add(task)
        task.add_done_callback(self._land_one)

    def _land_one(self, task: asyncio.Task[None]) -> None:
        self._flights.discard(task)
        self._landed.set()
        if not self._flights and not self.queue.has_active:
            self._recorder.resume()
        if not task.cancelled() and task.exception() is not None:
            log.error("a binding ended in an error", exc_info=task.exception())

    async def _bind_with(self, flight: _Flight, choice: volumes.Choice) -> None:
        try:
            await self._writer.bind_volumes(choice)
        except volumes.VolumesFailedError as error:
            volumes.forget(self.cache.state, choice)
            self._conclude(flight, Bound(Outcome.REFUSED, detail=str(error)))
            return
        await self._bind(flight)

    async def _bind(self, flight: _Flight) -> None:
        why = flight.why if self.settings.explain_binds else None
        while True:
            try:
                result = await self._writer.bind(flight.pod, flight.node, why=why)
                break
            except (UnreachableError, ApiError) as error:
                log.warning("binding %s to %s: %s", flight.pod.key, flight.node, error)
                if self._term_over:
                    # Nobody knows what became of it: the place stays taken until a new term reads anew.
                    self.metrics.bind_outcomes.labels("unknown").inc()
                    return
                # Only the time was up, not the term: the same binding may be sent again, and no other.
                await asyncio.sleep(0.1)
        self._conclude(flight, result)

    def _conclude(self, flight: _Flight, result: Bound) -> None:
        """What a binding's outcome, good or bad, means for the pod, the cache and the metrics."""
        entry, profile = flight.entry, flight.profile
        self.metrics.bind_outcomes.labels(result.outcome.value).inc()
        now = self._clock()
        if result.outcome is Outcome.BOUND:
            self.metrics.attempts.labels("scheduled", profile).inc()
            self.metrics.attempt_duration.labels("scheduled", profile).observe(now - flight.popped)
            self.metrics.pod_attempts.observe(entry.attempts)
            self.metrics.sli_duration.labels(str(min(entry.attempts, 16))).observe(now - entry.added)
            messages.scheduled(self._recorder, flight.pod, flight.node)
            if flight.reserved is not None:
                self._background(self._writer.take(flight.reserved, flight.pod))
            return
        self.cache.forget(flight.pod)
        if flight.reserved is not None:
            self.cache.give_back(flight.reserved)
        if result.outcome is Outcome.REFUSED:
            self.metrics.attempts.labels("error", profile).inc()
            messages.failed(self._recorder, flight.pod, f"binding rejected: {result.detail}")
            known = self.cache.pod(flight.pod.key)
            if known is not None and known.uid == flight.pod.uid and self._is_pending(known):
                self.queue.retry(entry, now=now)
                self._work.set()
        else:
            log.info("%s: %s (%s)", flight.pod.key, result.outcome.value, result.detail)

    def _rejected(self, entry: Entry, why: str, plugins: frozenset[str], *, popped: float) -> None:
        now = self._clock()
        profile = entry.pod.spec.scheduler_name
        self.queue.unschedulable(entry, rejected_by=plugins, now=now)
        self.metrics.attempts.labels("unschedulable", profile).inc()
        self.metrics.attempt_duration.labels("unschedulable", profile).observe(now - popped)
        messages.failed(self._recorder, entry.pod, why)
        self._background(self._writer.unschedulable(entry.pod, why))

    def _preempt(self, entry: Entry, decision: Preempt) -> None:
        node, why = decision.node, decision.why
        pods = [pod for pod in map(self.cache.pod, decision.victims) if pod is not None]
        self.metrics.preemption_attempts.inc()
        self.metrics.preemption_victims.observe(len(pods))
        entry.pod = self.cache.nominate(entry.pod, node)
        self.queue.unschedulable(entry, rejected_by=frozenset(decision.plugins), now=self._clock())
        messages.failed(self._recorder, entry.pod, why)
        for victim in pods:
            messages.preempted(self._recorder, victim, by=entry.pod, node=node)
        self._background(self._writer.preempt(entry.pod, node, pods, why))

    def _background(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._flights.add(task)
        task.add_done_callback(self._land_one)
