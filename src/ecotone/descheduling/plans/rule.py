"""The rule `plans`: applications whose requests are counted move by plans, everything else by the best single gain.

First of all, pods make way for those that bounds on distances leave without any node (`stranded`). Last of all, an
application for which no plan was found is asked together with those that stand where it could be faster (`rivals`).

A plan is accepted if it saves what somebody notices (`min_gain` milliseconds and `min_relative_gain`) and if that pays for
the way within `horizon` seconds; a return to where a workload came from lately must save twice as much. From then on it is
one decision: the cool-down, moves per run and one pod per workload count it once, and its steps follow each other as soon
as replacements are Ready.

Plans are made for the flows that the next measurement will show if things go on (`rates`). A first measurement says too
little about the CPU that a load will need: then a plan must pay with `rising` times the CPU as well. While a load grows some
calls are counted later than others: a plan must pay with them all (`late_counts`). Starting takes CPU,
too, and nodes look busy for as long as their figures reach back: until a pod of it has run for longer than that, an
application moves for shorter ways alone, or every move would be the ground for another. So it does while its load changes, if
CPU is measured over a window: of CPU used before and requests that came since nobody can tell what a request needs. Nor do such
figures show a new call before it has been made for a window's length (`complete_counts`), and of the CPU that they promise to
save only what is more than they may be wrong by counts. A plan that rests on figures which nobody has measured yet waits for
them (`missing`), unless it pays whatever they turn out to be.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecotone.descheduling.best_gain import take_best_moves
from ecotone.descheduling.eligibility import budgets_of
from ecotone.descheduling.grounds import Grounds
from ecotone.descheduling.lost import replace_lost
from ecotone.descheduling.missing import unmeasured
from ecotone.descheduling.plans import plan as plans_in
from ecotone.descheduling.plans.anew import anew
from ecotone.descheduling.plans.complete_counts import CompleteCounts
from ecotone.descheduling.plans.late_counts import late_loss
from ecotone.descheduling.plans.limits import Care, limits_of
from ecotone.descheduling.plans.orders import Order, Spare, judged, orders
from ecotone.descheduling.plans.plan import CUT, Ended, MovePlan, Stages, Step
from ecotone.descheduling.plans.progress import Ask, following
from ecotone.descheduling.plans.rates import Rates
from ecotone.descheduling.plans.redundant import redundant_of
from ecotone.descheduling.plans.rest import AtRest, digest_of
from ecotone.descheduling.plans.rivals import Asked, Turns, rivals
from ecotone.descheduling.plans.share import Share
from ecotone.descheduling.plans.stranded import rescues
from ecotone.descheduling.plans.trial import settle, with_room
from ecotone.descheduling.plans.units import stages_of, unit_of, units_of
from ecotone.descheduling.plans.unmeasured import Change, change_of
from ecotone.descheduling.plans.waiting import hold_places
from ecotone.descheduling.run import Run
from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.decisions import Decisions, Evict
from ecotone.model.members import pods_of_each
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.costs.peers import amount, requests_of, traffic_of
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.response.bound import least_cost
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.joined_graph import joined
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Search
from ecotone.scheduling.response.sharing import shared

_ATTEMPTS = 12
_FIRST = 0.75  # of the budget that is left: for a placement, and less for each one that the filters refuse


@dataclass(frozen=True, slots=True)
class _NoPlan:
    """`bar`: the workload and place that the filters refuse, if that is why; `waits`: asked again in the next round."""

    why: str
    bar: tuple[int, int] | None = None
    waits: bool = False


def _part_of(plan: MovePlan) -> str:
    gain = f"{plan.there:.4g} ms per request instead of {plan.here:.4g} ms"
    return f"its application moves as a whole to {gain}: there this is its place, or its turn comes in a later stage"


def plans(snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings, **args: Any) -> Decisions:
    return _Run(snapshot, profile, settings, Care(**args)).plans()


class _Run(Run):
    def __init__(self, snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings, care: Care) -> None:
        super().__init__(snapshot, profile, settings)
        self.care = care
        self._under_way: list[MovePlan] = []
        self._ended: list[Ended] = []
        self._share = Share(settings.max_moves)
        self._counted: set[WorkloadKey] = set()
        self._rates = Rates(self.state)
        self._counts = CompleteCounts(self.state.memory, now=self.state.now, reach=settings.reach)
        self._rest = AtRest(self.state.memory, now=self.state.now)
        self._asked: list[Asked] = []
        self._left: list[Asked] = []
        self._turns = Turns(self.state.memory)

    def plans(self) -> Decisions:
        replace_lost(self)
        for plan in plans_in.read(self.state.memory):
            self._continue(plan)
        busy = {workload for plan in self._under_way for workload in plan.workloads}
        for plan in rescues(self, busy, limit=self.care.startup + self.care.patience):
            busy |= plan.workloads
            self._go_on(plan)
        hold_places(self)
        only = self.settings.only
        around = None if only is None else {(key.namespace, key.name) for key in only}
        lateness, unawaited = self.framework.lateness, self.framework.unawaited
        for application in applications(self.state, around=around, lateness=lateness, unawaited=unawaited):
            keys = {kind.workload for kind in application.kinds}
            found = pods_of_each(self.state, keys)
            pods = {key: [pod for pod in own if pod.is_peer] for key, own in found.items()}
            self._counted |= keys
            self._rates.note(application)
            self._counts.note(application)
            ahead, movable = self._rates.ahead(application), self._free(application, pods)
            asked = Asked(ahead, pods, movable, busy=bool(keys & busy))
            self._asked.append(asked)
            if asked.busy:
                self.tell(keys, "a plan that its application is part of is under way")
            else:
                self._begin(asked)
        self._make_room()
        idle, silent = self._idle_members() - self._counted, self._silent() - self._counted
        self.tell(idle, "it receives no requests now, and its application moves by what requests take")
        self.tell(silent, "no traffic of it was seen when it was measured")
        take_best_moves(self, without=self._counted | busy | idle | silent)
        memory = plans_in.write_ended(plans_in.write(self.memory(), self._under_way), self._ended)
        memory = self._turns.write(self._rates.write(memory))
        return Decisions(tuple(self.moves), self._counts.write(self._rest.write(memory)))

    def _idle_members(self) -> set[WorkloadKey]:
        """Workloads of counted applications that receive no requests now: moving them gains nothing."""
        kinds = self.kinds()
        groups = {
            (kind.namespace, kind.app_group) for kind in kinds if kind.app_group and kind.workload in self._counted
        }
        return {kind.workload for kind in kinds if (kind.namespace, kind.app_group) in groups}

    def _silent(self) -> set[WorkloadKey]:
        """Workloads whose traffic was measured and is nothing: whom they might talk to one day moves nobody."""
        only, known = self.settings.only, self.state.workloads
        found = set()
        for key in known if only is None else only & known.keys():
            workload = known[key]
            told = (traffic_of(self.state, workload), requests_of(self.state, workload))
            seen = [each for each in told if each is not None]
            if seen and not any(amount(each, peer) > 0.0 for each in seen for peer in each):
                found.add(key)
        return found

    # Plans under way

    def _continue(self, plan: MovePlan) -> None:
        """Goes on with a plan of an earlier round, unless it has ended."""
        found = following(self.state, plan)
        if found.elsewhere:
            plan, why = anew(self, plan, self.care)
            found = replace(found, over=True, why=why) if why else following(self.state, plan)
        if found.over:
            self._ended.append(Ended.of(plan, found.why))
            if found.why != plans_in.DONE:
                self.tell(plan.workloads, f"a plan of its application has ended: {found.why}")
        else:
            self._go_on(plan, new=False)

    def _go_on(self, plan: MovePlan, *, new: bool = True) -> None:
        """Asks for what comes next, as far as its places are free: they are held before a pod leaves."""
        asks = following(self.state, plan).asks
        self._keep_places(plan, set(plan.issued.values()) - {ask.number for ask in asks})
        free = with_room(self.framework, self.state, [(ask.step, ask.pod) for ask in asks])
        may = {pod.uid for _, pod in free}
        self._issue(plan, [ask for ask in asks if ask.pod.uid in may], new=new)

    def _issue(self, plan: MovePlan, asks: Sequence[Ask], *, new: bool) -> None:
        """One that can take no step now does not begin."""
        taken = {}
        for ask in asks:
            step, pod = ask.step, ask.pod
            if any(self.ledger.allowed(budget) < 1 for budget in budgets_of(self.state, pod)):
                continue
            if not self._share.takes(pod):
                continue
            self.moves.append(
                Evict(
                    pod.key, step.origin, step.target, plan.gain / plan.pods, "ms", plan.why(step), uid=pod.uid,
                    surge=step.surge,
                )
            )  # fmt: skip
            self.ledger.accept(pod, disrupts=not step.surge, grounds=plan.grounds)
            taken[pod.uid] = ask.number
        if taken or not new:
            self._under_way.append(plan.issuing(taken))
            self._keep_places(plan, range(plan.pods))

    def _keep_places(self, plan: MovePlan, numbers: Collection[int]) -> None:
        """What these steps still are to bring to their targets counts there from now on: nobody else plans with it."""
        rescued = None if plan.rescue is None else self.state.pending.get(plan.rescue.pod)
        if plan.rescue is not None and rescued is not None and plan.rescue.node in self.state.nodes.index:
            self.state.assume(rescued, plan.rescue.node)
        ends: dict[tuple[WorkloadKey, str], int] = {}
        for number, step in enumerate(plan.steps):
            if number in numbers:
                ends.setdefault((step.workload, step.target), plan.start[step.workload].get(step.target, 0))
                ends[step.workload, step.target] += 1
                if (step.workload, step.origin) in ends:
                    ends[step.workload, step.origin] -= 1
        for held in self.state.reservations:
            place = (held.workload, held.node)
            if place in ends and held.expires > self.state.now and not held.taken_by:
                ends[place] -= 1  # kept already
        for (workload, node), wanted in ends.items():
            pods = [pod for pod in self.pods_of(workload) if not pod.deleting]
            # A workload that was deleted or scaled to nothing meanwhile brings nobody.
            for number in range(wanted - sum(pod.node == node for pod in pods) if pods else 0):
                name = f"{pods[0].name}.{node}.{number}"
                self.state.assume(replace(pods[0], name=name, uid=name, node=None, bound_at=None, ready=False), node)

    # New plans

    def _free(self, application: CallGraph, pods: dict[WorkloadKey, list[Pod]]) -> Mask:
        return np.array([self._may_move(pods.get(kind.workload, [])) for kind in application.kinds])

    def _begin(self, asked: Asked) -> None:
        application, pods, movable = asked.application, asked.pods, asked.movable
        fixed = [kind.workload for kind, free in zip(application.kinds, movable.tolist(), strict=True) if not free]
        self.tell(fixed, "not all pods of its workload may move now")
        if not movable.any():
            return
        if not self._share.left(next(pod for own in pods.values() for pod in own)):
            self._tell_free(application, movable, f"maxMovesPerRun {self.settings.max_moves} is reached")
            return
        digest = self._digest(application, movable, pods)
        if self._rest.knows(application, digest):
            self._tell_free(application, movable, "nothing has changed since its application was found at its best")
            if self._turns.waits(asked):
                self._left.append(asked)
        elif self.settings.told is None and self._cannot_pay(application, Prediction(application), movable):
            self._rest.note(application, digest)
        elif self._leaves_as_it_is(application, movable, pods):
            self._rest.note(application, digest)
            self._left.append(asked)

    def _make_room(self) -> None:
        """Those that were left as they are, each together with others that stand where it would be faster."""
        for asked in self._turns.taken(self._left):
            if self._turns.over:
                self._turns.wait(asked)
                continue
            under_way = {workload for plan in self._under_way for workload in plan.workloads}
            found = rivals(self.state, asked, self._asked, under_way, cool_down=self.settings.cool_down)
            if found.ready:
                self._turns.take()
            plan = self._shared(asked, found.ready) if found.ready else None
            if plan is not None:
                self._tell_free(asked.application, asked.movable, _part_of(plan))
                self._go_on(plan)
            elif found.later:
                self._turns.wait(asked)

    def _shared(self, asked: Asked, others: list[Asked]) -> MovePlan | None:
        """A plan for it and those of the others that move with it, if it pays for all of their users."""
        everybody = (asked, *others)
        pods = {key: own for each in everybody for key, own in each.pods.items()}
        whole = self._together(everybody)
        limits = self._limits(whole, np.concatenate([each.movable for each in everybody]), pods)
        mine = np.arange(len(whole.names)) < len(asked.movable)
        budget = Budget(self.settings.budget)
        target = shared(whole, Prediction(whole), limits, own=mine, budget=budget)
        parts = np.split(np.arange(len(target)), np.cumsum([len(each.movable) for each in everybody])[:-1])
        moved = [number for number, part in enumerate(parts) if (target[part] != whole.counts[part]).any()]
        if not moved:
            return None
        application = self._together([everybody[number] for number in moved], whole.rows)
        there = np.concatenate([target[parts[number]] for number in moved])
        plan = self._plan(application, Prediction(application), there, pods)
        return replace(plan, cut=budget.cut) if isinstance(plan, MovePlan) else None

    def _together(self, several: Sequence[Asked], beside: Rows | None = None) -> CallGraph:
        applications = [each.application for each in several]
        return joined(self.state, applications, self.framework.lateness, beside=beside)

    def _limits(self, application: CallGraph, movable: Mask, pods: dict[WorkloadKey, list[Pod]]) -> Limits:
        return limits_of(
            self.framework, self.state, application, pods, movable=movable, care=self.care, lean=True
        )  # fmt: skip

    def _tell_free(self, application: CallGraph, movable: Mask, why: str) -> None:
        free = zip(application.kinds, movable.tolist(), strict=True)
        self.tell([kind.workload for kind, may in free if may], why)

    def _digest(self, application: CallGraph, movable: Mask, pods: dict[WorkloadKey, list[Pod]]) -> str:
        spare, new = self._spare(application, pods), self._rates.new(application)
        left = [self.ledger.left(kind.workload) for kind in application.kinds]
        settings = (self.settings.min_gain, self.settings.group_gain, self.settings.budget)
        more = (self.framework.profile.name, *settings, new, left, self.care)
        return digest_of(self.state, application, more=(*more, movable.tolist(), spare.pods.tolist(), spare.surge))

    def _leaves_as_it_is(self, application: CallGraph, movable: Mask, pods: dict[WorkloadKey, list[Pod]]) -> bool:
        """True if no plan was begun, and none is to be expected while things are as they are."""
        prediction = Prediction(application)
        limits = self._limits(application, movable, pods)
        budget = Budget(self.settings.budget)
        for _ in range(_ATTEMPTS):
            with budget.share(_FIRST):
                target = Search(application, prediction, limits, budget).best()
            if (target == application.counts).all():
                cut = f" ({CUT})" if budget.cut else ""
                why = f"no placement of its whole application makes requests faster{cut}"
                self._tell_free(application, movable, why)
                return True
            plan = self._plan(application, prediction, target, pods)
            if isinstance(plan, MovePlan):
                plan = replace(plan, cut=budget.cut)
                self._tell_free(application, movable, _part_of(plan))
                self._go_on(plan)
                return False
            self._tell_free(application, movable, plan.why)
            if plan.bar is None:
                return not plan.waits
            limits.allowed[plan.bar] = False
        return True

    def _cannot_pay(self, application: CallGraph, prediction: Prediction, movable: Mask) -> bool:
        """True if not even the lower bound, as if every node took every pod, is far enough below what a request costs now.

        A search would end the same way, only later, and with more to tell whoever asks why.
        """
        here = float(prediction.cost(application.counts[np.newaxis].astype(np.float64))[0])
        least = max(self.settings.min_gain, self.settings.group_gain * here)
        everywhere = np.ones(application.counts.shape, dtype=np.bool_)
        return here - least_cost(application, movable=movable, allowed=everywhere) < least * (1 - 1e-9)

    def _may_move(self, pods: list[Pod]) -> bool:
        """True if all pods of a workload may go: the search thinks of them as alike."""
        if not pods or not all(pod.ready and self.may_move(pod) for pod in pods):
            return False
        if len(pods) == 1 and self.settings.single_replicas == "never":
            return False
        return self.ledger.forbids(pods[0]) is None

    def _plan(
        self, application: CallGraph, prediction: Prediction, target: Ints, pods: dict[WorkloadKey, list[Pod]]
    ) -> MovePlan | _NoPlan:
        """The plan for this placement if it pays."""
        spare = self._spare(application, pods)
        here, there = prediction.cost(np.stack([application.counts, target]).astype(np.float64)).tolist()
        least = max(self.settings.min_gain, self.settings.group_gain * here)
        returns = self._returns(application, target, pods)
        if returns:
            least *= 2
        saves = f"the best placement of its whole application saves {here - there:.4g} of {here:.4g} ms per request"
        if here - there < least:
            settings = f"minGain {self.settings.min_gain:g} and groupGain {self.settings.group_gain:g}"
            twice = ", doubled for a return to where it came from" if returns else ""
            return _NoPlan(f"{saves}, less than the {least:.4g} ms of {settings}{twice}")
        ways = prediction.network(np.stack([application.counts, target]).astype(np.float64))
        shorter = float(ways[0] - ways[1])
        if shorter < least and (doubt := self._doubt(application, pods)) is not None:
            return _NoPlan(f"{saves}, but too little by shorter ways, and {doubt}", waits=True)
        noise = self._noise(here - float(ways[0]))
        if noise > 0.0 and shorter + max(0.0, here - there - shorter - noise) < least:
            return _NoPlan(f"{saves}, but hardly more than figures of CPU use may be wrong by")
        uncounted = self._counts.missing(application, target)
        if uncounted is not None:
            return _NoPlan(f"{saves}, but calls of {uncounted} may not all be counted yet", waits=True)
        if not self._pays_when_risen(application, target, least):
            return _NoPlan(f"{saves}, but not if its CPU use, measured once so far, is {self.care.rising:g} times that")
        if here - there - self._late_loss(application, target) < least:
            return _NoPlan(f"{saves}, but not if calls are counted late while its load grows", waits=True)
        change = change_of(self.state, application, target, self.framework.lateness)
        missing = self._waits(application, target, change, least)
        if missing is not None:
            return _NoPlan(f"{saves}, but {missing}", waits=True)
        bar, thin = None, False
        redundant = redundant_of(self, application)
        time = {"seconds": self.care.startup, "horizon": self.care.horizon}
        for order in orders(application, prediction, target, spare, **time, redundant=redundant):
            if order.lowers:
                thin = True
                continue
            if (here - there) * self.care.horizon < order.excess:
                continue
            wanted = stages_of(self.state, application, order.stages, order.surge)
            stages = settle(self.framework, self.state, wanted, pods, most=self.settings.max_moves)
            if isinstance(stages, Step):
                bar = bar or unit_of(self.state, application, stages)[::2]
                continue
            if stages != wanted:
                units = units_of(self.state, application, stages)
                going = Spare(spare.pods, order.surge)
                order = judged(  # noqa: PLW2901
                    order.name, units, application, prediction, going, **time, redundant=redundant
                )
                if order.lowers:
                    thin = True
                    continue
                if (here - there) * self.care.horizon < order.excess:
                    continue
            grounds = Grounds(change.ways, self.unheard(application.kinds), counted=True)
            return replace(self._written(order, stages, pods, here=here, there=there), grounds=grounds)
        if bar is not None:
            return _NoPlan(f"{saves}, but the filters refuse a pod its place there", bar)
        if thin:
            return _NoPlan(f"{saves}, but on the way replicas would stand on too few nodes or in too few zones")
        return _NoPlan(f"{saves}, less than the way there costs within {self.care.horizon:g} s")

    def _waits(self, application: CallGraph, target: Ints, change: Change, least: float) -> str | None:
        """Which missing figures a plan waits for: those that may turn its gain into a loss."""
        ways = list(change.entered)
        if change.left and change.least_gain(application.counts, target) < least:
            ways += change.left
        silent = unmeasured(self.state, self.mates(application.kinds))
        return self.missing.waits_for(ways, silent) if ways or silent else None

    def _late_loss(self, application: CallGraph, target: Ints) -> float:
        growth = self._rates.growth(application)
        if growth <= 0.0:
            return 0.0
        return late_loss(application, target, before=self._rates.before(application), growth=growth)

    def _noise(self, cpu: float) -> float:
        """Milliseconds that CPU figures of a window may be wrong by, where a request waits so long for CPU by them."""
        return self.care.wrong * cpu if self.settings.reach > 0.0 else 0.0

    def _doubt(self, application: CallGraph, pods: dict[WorkloadKey, list[Pod]]) -> str | None:
        """Why its figures of CPU use may not be what its requests need; None if they are."""
        own = [pod for kind in application.kinds for pod in pods.get(kind.workload, [])]
        if self.started_lately(own, startup=self.care.startup):
            return "CPU figures may still show its pods' start"
        if self.settings.reach > 0.0 and self._rates.changing(application):
            return "CPU figures may still be of another load"
        return None

    def _pays_when_risen(self, application: CallGraph, target: Ints, least: float) -> bool:
        if not self._rates.new(application):
            return True
        risen = Prediction(replace(application, use=application.use * self.care.rising))
        here, there = risen.cost(np.stack([application.counts, target]).astype(np.float64)).tolist()
        return bool(here - there >= least)

    def _spare(self, application: CallGraph, pods: dict[WorkloadKey, list[Pod]]) -> Spare:
        most, surge = [], []
        for kind in application.kinds:
            own = pods.get(kind.workload, [])
            most.append(self.spare(own))
            surge.append(len(own) == 1 and self.settings.single_replicas == "surge")
        return Spare(np.array(most), tuple(surge))

    def _returns(self, application: CallGraph, target: Ints, pods: dict[WorkloadKey, list[Pod]]) -> bool:
        names = self.state.nodes.names
        for number, kind in enumerate(application.kinds):
            comes = np.flatnonzero(target[number] > application.counts[number])
            for pod in pods.get(kind.workload, [])[:1]:
                places = [names[application.rows[place]] for place in comes.tolist()]
                if any(self.ledger.returns(pod, place, counted=True) for place in places):
                    return True
        return False

    def _written(
        self, order: Order, stages: Stages, pods: dict[WorkloadKey, list[Pod]], *, here: float, there: float
    ) -> MovePlan:
        return MovePlan.beginning(
            stages, pods, at=self.state.now, limit=self.care.startup + self.care.patience, here=here, there=there,
            excess=order.excess, order=order.name, safe=order.safe,
        )  # fmt: skip
