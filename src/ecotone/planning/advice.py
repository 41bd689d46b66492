"""What an owner could change so that requests take less time: how calls are balanced, and how many replicas there are.

Where users stand at several sites, kube-proxy's uniform choice sends most requests away from the pod next to them, wherever
pods are. No placement mends that, but two settings do: `trafficDistribution: PreferSameNode` on the Services, and a replica
at each site. Both are the owner's to decide, so a plan only says what they would gain, in the predicted milliseconds per
request of the best placement with and without the change; `ecotone apply` sets them when asked to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ecotone.descheduling.plans.limits import Care, limits_of, pods_by_workload
from ecotone.descheduling.plans.plan import CUT
from ecotone.descheduling.run import Run
from ecotone.model.arrays import Ints, Mask
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.planning.price import Price, price_of
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.call_graph import SAME_NODE, CallGraph
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Search

PREFER_SAME_NODE = "PreferSameNode"
RULES = ("plans", "targets")  # those that think in predicted response times
LEAST_MS, LEAST_SHARE = 1.0, 0.1  # what somebody notices, and what is worth a change
_SITE = 0.05  # of all requests: fewer are no site to serve by itself
_MOST_SITES = 5
_PARTS = 8  # each search for an advice has this part of a round's budget
_TRIFLE = 0.02  # of the gain: a Service that earns less is left as it is


@dataclass(frozen=True, slots=True)
class Advice:
    """`here`: ms per request of the best placement as things are, `there`: with the change; `cut`: as far as was looked."""

    services: tuple[str, ...]
    here: float
    there: float
    replicas: Mapping[WorkloadKey, int] = field(default_factory=dict)
    cut: bool = False

    def __str__(self) -> str:
        changes = (
            [f"trafficDistribution: {PREFER_SAME_NODE} on Service {', '.join(self.services)}"] if self.services else []
        )
        if self.replicas:
            changes.append(", ".join(f"{count} replicas of {key}" for key, count in self.replicas.items()))
        cut = f" ({CUT})" if self.cut else ""
        return f"{' and '.join(changes)}: {self.there:.4g} ms per request instead of {self.here:.4g} ms{cut}"

    def concerns(self, namespace: str | None) -> bool:
        """True if everything it would change is of this namespace; None stands for all."""
        names = [*self.services, *map(str, self.replicas)]
        return namespace is None or all(name.startswith(f"{namespace}/") for name in names)

    def as_document(self) -> dict[str, Any]:
        return {
            "trafficDistribution": dict.fromkeys(self.services, PREFER_SAME_NODE),
            "replicas": {str(key): count for key, count in self.replicas.items()},
            "ms": self.there,
            "insteadOfMs": self.here,
            **({"cut": True} if self.cut else {}),
        }


@dataclass(frozen=True, slots=True)
class Advised:
    """`prices`: what redundancy costs, of the applications where it costs anything."""

    found: tuple[Advice, ...] = ()
    prices: tuple[Price, ...] = ()


def advice(snapshot: Snapshot, profile: Profile) -> Advised:
    """For every application whose requests are counted, if the policy thinks in response times at all."""
    settings = profile.descheduler
    if settings is None or settings.rule not in RULES:
        return Advised()
    advisor = _Advisor(snapshot, profile, settings)
    framework = advisor.run.framework
    graphs = list(applications(advisor.run.state, lateness=framework.lateness, unawaited=framework.unawaited))
    prices = [price for application in graphs if (price := advisor.price(application)) is not None]
    return Advised(tuple(each for application in graphs for each in advisor.about(application)), tuple(prices))


class _Advisor:
    def __init__(self, snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings) -> None:
        self.run = Run(snapshot, profile, settings)
        self._pods = pods_by_workload(self.run.state)
        self._budget = settings.budget // _PARTS

    def price(self, application: CallGraph) -> Price | None:
        if not self.run.framework.keeps_redundancy:
            return None
        near = [number for number in range(len(application.names)) if self._could_be_near(application, number)]
        limits = self._limits(application)

        def best(graph: CallGraph, within: Limits) -> float:
            return _best(graph, within, Budget(self._budget))

        services = self._services(application, near)
        return price_of(self.run.state, application, limits, best=best, services=services)

    def _limits(self, application: CallGraph) -> Limits:
        movable = np.array(
            [
                bool(own) and all(self.run.may_move(pod) for pod in own)
                for kind in application.kinds
                for own in (self._pods.get(kind.workload, []),)
            ]
        )
        return limits_of(
            self.run.framework, self.run.state, application, self._pods, movable=movable, care=Care(moveMs=0.0)
        )

    def about(self, application: CallGraph) -> list[Advice]:
        limits = self._limits(application)
        movable = limits.movable
        budgets = [Budget(self._budget) for _ in range(4)]
        here = _best(application, limits, budgets[0])
        found = []
        near = [number for number in range(len(movable)) if self._could_be_near(application, number)]
        nearer = _balanced(application, near)
        there = _best(nearer, limits, budgets[1])
        if _worth(here, there):
            kept = self._trimmed(application, limits, near, budgets[2], here=here, there=there)
            there = _best(_balanced(application, kept), limits, Budget(self._budget)) if kept != near else there
            cut = any(each.cut for each in budgets)
            found.append(Advice(self._services(application, kept), here, there, cut=cut))
        each = _at_each_site(nearer, limits, movable)
        if each is not None:
            more = _best(each, limits, budgets[3])
            if _worth(min(here, there), more):
                counts = {
                    kind.workload: int(each.replicas[number])
                    for number, kind in enumerate(application.kinds)
                    if each.replicas[number] != application.replicas[number]
                }
                cut = any(each.cut for each in budgets)
                found.append(Advice(self._services(application, near), here, more, counts, cut))
        return found

    def _could_be_near(self, application: CallGraph, number: int) -> bool:
        return application.balance[number] != SAME_NODE and bool(self._services(application, [number]))

    def _services(self, application: CallGraph, chosen: list[int]) -> tuple[str, ...]:
        """The Services in front of these workloads."""
        labels = [(application.kinds[number].namespace, dict(application.kinds[number].labels)) for number in chosen]
        return tuple(
            f"{each.namespace}/{each.name}"
            for each in self.run.state.services
            if any(each.namespace == namespace and each.selector.matches(own) for namespace, own in labels)
        )

    @staticmethod
    def _trimmed(
        application: CallGraph, limits: Limits, near: list[int], budget: Budget, *, here: float, there: float
    ) -> list[int]:
        """Without the Services that earn next to nothing, as far as the budget goes."""
        kept = list(near)
        for number in near:
            without = [each for each in kept if each != number]
            if budget.over:
                break
            if without and _best(_balanced(application, without), limits, budget) - there <= _TRIFLE * (here - there):
                kept = without
        return kept


def _best(application: CallGraph, limits: Limits, budget: Budget) -> float:
    prediction = Prediction(application)
    target = Search(application, prediction, limits, budget).best()
    return float(prediction.cost(target[np.newaxis].astype(np.float64))[0])


def _worth(here: float, there: float) -> bool:
    return here - there >= max(LEAST_MS, LEAST_SHARE * here)


def _balanced(application: CallGraph, near: list[int]) -> CallGraph:
    balance = tuple(SAME_NODE if number in near else each for number, each in enumerate(application.balance))
    return replace(application, balance=balance)


def _at_each_site(application: CallGraph, limits: Limits, movable: Mask) -> CallGraph | None:
    """One replica of every workload that may move at every site of users; None if there are no several, or as many."""
    demand = application.users.sum(axis=0)
    sites: Ints = np.flatnonzero(demand >= _SITE * demand.sum())
    if not 2 <= len(sites) <= _MOST_SITES:
        return None
    counts = application.counts.copy()
    for number in np.flatnonzero(movable).tolist():
        if counts[number].sum() < len(sites) and limits.allowed[number, sites].all():
            counts[number] = 0
            counts[number, sites] = 1
    return None if (counts == application.counts).all() else replace(application, counts=counts)
