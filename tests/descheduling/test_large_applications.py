"""What a round looks at is bounded, in memory and in what is judged, however large an application is."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import plan as plans_in
from ecotone.descheduling.plans.limits import Care, limits_of, pods_by_workload
from ecotone.descheduling.plans.plan import CUT
from ecotone.manifests.files import read_paths
from ecotone.model.decisions import Evict
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.profiles.policies import POLICIES
from ecotone.scheduling.response.around import Around
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Search
from large_application import objects

POLICY = POLICIES["ecotone"]


def snapshot(*, services: int, nodes: int, filled: float, near: bool = False) -> Snapshot:
    text = json.dumps(objects(services=services, nodes=nodes, filled=filled, near=near))
    return read_paths(["-"], stdin=BytesIO(text.encode()))


def problem(taken: Snapshot) -> tuple[CallGraph, Limits]:
    state = ClusterState.of(taken)
    (application,) = applications(state)
    pods = pods_by_workload(state)
    movable = np.ones(len(application.names), dtype=np.bool_)
    limits = limits_of(Framework(POLICY), state, application, pods, movable=movable, care=Care(), lean=True)
    return application, limits


@pytest.mark.parametrize("filled", [0.3, 0.9])
@pytest.mark.parametrize("near", [False, True])
def test_a_search_ends_soon_after_its_budget_and_takes_little_memory(filled: float, near: bool) -> None:
    application, limits = problem(snapshot(services=60, nodes=60, filled=filled, near=near))
    most = 5_000_000
    budget = _Counted(most)
    tracemalloc.start()
    best = Search(application, Prediction(application), limits, budget).best()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert budget.cut
    assert budget.spent < 2 * most
    assert peak < 100e6
    before, after = Prediction(application).cost(np.stack([application.counts, best]).astype(np.float64))
    assert after < before


class _Counted(Budget):
    spent = 0.0

    def spend(self, evaluations: float) -> None:
        self.spent += evaluations
        super().spend(evaluations)


def test_more_budget_finds_nothing_worse_and_enough_of_it_is_not_reached() -> None:
    application, limits = problem(snapshot(services=30, nodes=30, filled=0.9))
    prediction = Prediction(application)
    costs = []
    for evaluations in (100_000, 1_000_000, 10_000_000, 1_000_000_000):
        budget = Budget(evaluations)
        search = Search(application, prediction, limits, budget)
        costs.append(search.alone_cost(search.best().astype(np.float64)))
    assert costs[-1] < costs[0]
    assert not budget.cut


@pytest.mark.parametrize("filled", [0.3, 0.9])
def test_a_search_change_by_change_ends_where_no_whole_placement_next_to_it_is_better(filled: float) -> None:
    """Judged as whole tables, without what change by change takes for granted."""
    application, limits = problem(snapshot(services=25, nodes=20, filled=filled))
    search = Search(application, Prediction(application), limits)
    best = search.descend(application.counts.astype(np.float64)).astype(np.float64)
    least = search.alone_cost(best)
    assert least < search.alone_cost(application.counts.astype(np.float64))
    for workload in range(len(best)):
        costs = search.cost(search.single_moves(best, workload))
        assert float(costs.min()) > least - 1e-5


def test_a_plan_of_a_search_that_was_cut_says_so_and_remembers_it() -> None:
    taken = snapshot(services=30, nodes=30, filled=0.3)
    assert POLICY.descheduler is not None
    settings = replace(POLICY.descheduler, budget=2_000_000)
    found = deschedule(taken, POLICY, settings)
    moves = [each for each in found.decisions if isinstance(each, Evict)]
    assert moves
    assert all(CUT in each.why for each in moves)
    assert all(plan.cut for plan in plans_in.read(found.memory))
    again = deschedule(taken, POLICY, settings)
    assert again.decisions == found.decisions
    whole = deschedule(taken, POLICY, POLICY.descheduler)
    assert not any(CUT in each.why for each in whole.decisions if isinstance(each, Evict))


def test_who_judges_changes_keeps_no_table_for_each_of_them() -> None:
    application, _ = problem(snapshot(services=60, nodes=60, filled=0.3))
    around = Around(Prediction(application), application.counts.astype(np.float64))
    rows = 3.0 * np.eye(application.counts.shape[1])
    tracemalloc.start()
    around.change(0, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(rows) * application.counts.size * 8 / 2
