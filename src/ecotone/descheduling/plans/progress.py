"""What comes next of a plan, asked of the snapshot and of what the plan remembers of itself.

Level-triggered: a step is done when the pod that was asked to go for it is gone. The first stage with steps that are not done
is the current one; its pods are asked to go once everything that the stages before it brought is Ready. Asking twice gives
the same answer, and a refused eviction is simply asked for again.

Every plan ends. It asks one pod to go for each step, one that stood there when it began, and it is given up where it stands
when its time is over, when its workloads were scaled, or when a target is gone. If everything that it asked for has come to
rest, but not where it was to be, what is left of it is judged anew, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ecotone.descheduling.plans.plan import DONE, Counts, MovePlan, Step
from ecotone.model.members import pods_of_each
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState

Where = tuple[WorkloadKey, str]
TWICE = "replacements landed elsewhere once more"
_CLOCK = 1.0  # seconds by which clocks may differ


@dataclass(frozen=True, slots=True)
class Ask:
    """One step to take now: its number in the plan, and the pod that goes."""

    number: int
    step: Step
    pod: Pod


@dataclass(frozen=True, slots=True)
class Next:
    """`asks` to make now; `over`: nothing is left to do or to wait for; `elsewhere`: what is left is to be judged anew."""

    asks: tuple[Ask, ...] = ()
    over: bool = False
    why: str = ""
    elsewhere: bool = False


def following(state: ClusterState, plan: MovePlan) -> Next:
    why = _given_up(state, plan)
    if why is not None:
        return Next(over=True, why=why)
    now = _Standing(state, plan)
    if now.at_rest and now.strayed:
        return Next(over=True, why=TWICE) if plan.anew else Next(elsewhere=True)
    wanted = Counter(
        {(workload, node): count for workload, nodes in plan.start.items() for node, count in nodes.items()}
    )
    for stage in _numbered(plan):
        left = [(number, step) for number, step in stage if number not in now.done]
        if left:
            during, stay = wanted.copy(), wanted.copy()
            during.subtract((step.workload, step.origin) for _, step in stage if not step.surge)
            stay.subtract((step.workload, step.origin) for _, step in stage)
            return Next(tuple(now.asks(left, stay))) if now.ready(during) else Next()
        wanted.subtract((step.workload, step.origin) for _, step in stage)
        wanted.update((step.workload, step.target) for _, step in stage)
    return Next(over=now.ready(wanted), why=DONE)


def left_of(state: ClusterState, plan: MovePlan) -> MovePlan:
    """What is left of a plan whose replacements landed elsewhere: that counts as done."""
    now = _Standing(state, plan)
    counts: Counts = {workload: {} for workload in plan.workloads}
    for (workload, node), pods in now.pods.items():
        counts[workload][node] = len(pods)
    return plan.left_from(counts, now.uids)


def _given_up(state: ClusterState, plan: MovePlan) -> str | None:
    if any(_scaled(state, plan, workload) for workload in plan.workloads):
        return "a workload was scaled"
    if any(step.target not in state.nodes.index for step in plan.steps):
        return "a node that it moves to is gone"
    if state.now > plan.deadline:
        return f"it was not done within {plan.deadline - plan.begun:.0f} s"
    if state.now < plan.begun - _CLOCK:
        return "it was begun later than now: the clock was set back"
    return None


def _scaled(state: ClusterState, plan: MovePlan, workload: WorkloadKey) -> bool:
    """By somebody else: while a surge of the plan's own is under way, its workload has one replica more."""
    known = state.workloads.get(workload)
    own = sum(plan.start[workload].values())
    if plan.rescue is not None:  # replicas of the workload may wait, the pod that is made way for among them
        return known is not None and known.replicas is not None and known.replicas < own
    surging = any(step.surge for step in plan.steps if step.workload == workload)
    return known is not None and known.replicas not in (None, own, own + surging)


def _numbered(plan: MovePlan) -> Iterator[list[tuple[int, Step]]]:
    first = 0
    for stage in plan.stages:
        yield list(enumerate(stage, start=first))
        first += len(stage)


@dataclass(slots=True)
class _Standing:
    """Where the pods of a plan's workloads are; those on their way out are gone."""

    state: ClusterState
    plan: MovePlan
    pods: dict[Where, list[Pod]] = field(init=False, default_factory=dict)
    uids: set[str] = field(init=False, default_factory=set)  # of those that may go and are still there
    done: set[int] = field(init=False)

    def __post_init__(self) -> None:
        for workload, pods in pods_of_each(self.state, self.plan.workloads).items():
            for pod in pods:
                if not pod.deleting and pod.node is not None:
                    self.pods.setdefault((workload, pod.node), []).append(pod)
                    if pod.uid in self.plan.leaving.get(workload, {}).get(pod.node, ()):
                        self.uids.add(pod.uid)
        for there in self.pods.values():
            there.sort(key=lambda pod: (pod.ready, pod.deletion_cost, pod.key))
        self.done = {number for uid, number in self.plan.issued.items() if uid not in self.uids}

    def ready(self, wanted: Counter[Where]) -> bool:
        return all(sum(pod.ready for pod in self.pods.get(where, ())) >= count for where, count in wanted.items())

    def asks(self, left: list[tuple[int, Step]], stay: Counter[Where]) -> Iterator[Ask]:
        """Steps whose pod is still there: the one that was asked before, or one of those that may go.

        A surge that was asked for is under way. Where no more pods are left than should stay, nobody else goes.
        """
        asked = {number: uid for uid, number in self.plan.issued.items()}
        going = Counter((step.workload, step.origin) for number, step in left if asked.get(number) in self.uids)
        taken = set(self.plan.issued)
        for number, step in left:
            where = (step.workload, step.origin)
            there = self.pods.get(where, [])
            if number in asked:
                again = next((pod for pod in there if pod.uid == asked[number]), None)
                if again is not None and not step.surge:
                    yield Ask(number, step, again)
                continue
            may = self.plan.leaving.get(step.workload, {}).get(step.origin, ())
            pod = next((pod for pod in reversed(there) if pod.uid in may and pod.uid not in taken), None)
            if pod is not None and len(there) - going[where] > stay[where]:
                going[where] += 1
                taken.add(pod.uid)
                yield Ask(number, step, pod)

    @property
    def at_rest(self) -> bool:
        """True if as many pods as at the start run and are Ready, and none is still to leave or to come.

        Pods of a plan that makes way for a waiting pod may wait all along.
        """
        workloads = self.plan.workloads
        if any(uid in self.uids for uid in self.plan.issued):
            return False
        if self.plan.rescue is None and any(pod.kind.workload in workloads for pod in self.state.pending.values()):
            return False
        counts: Counter[WorkloadKey] = Counter()
        for (workload, _), pods in self.pods.items():
            counts[workload] += len(pods)
            if not all(pod.ready for pod in pods):
                return False
        return all(counts[workload] == sum(self.plan.start[workload].values()) for workload in workloads)

    @property
    def strayed(self) -> bool:
        """True if pods are not where the steps so far would have them, or none is left that may go for a step."""
        wanted = Counter(
            {(key, node): count for key, nodes in self.plan.start.items() for node, count in nodes.items()}
        )
        left: Counter[Where] = Counter()
        for number, step in enumerate(self.plan.steps):
            if number in self.done:
                wanted[step.workload, step.origin] -= 1
                wanted[step.workload, step.target] += 1
            else:
                left[step.workload, step.origin] += 1
        if any(len(self.pods.get(where, ())) != count for where, count in wanted.items()):
            return True
        return any(count > self._may_go(where) for where, count in left.items())

    def _may_go(self, where: Where) -> int:
        workload, node = where
        there = self.plan.leaving.get(workload, {}).get(node, ())
        return sum(uid in self.uids and uid not in self.plan.issued for uid in there)
