"""Sums of tie-breakers, asked for a few rows and kept between replicas, are those of whole columns asked anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, labelled, node, pod
from ecotone.model.objects import Pod, ServiceSelector
from ecotone.model.selectors import Taint
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, Evaluation, framework_of
from ecotone.scheduling.plugin import Cycle, change_by_placement
from ecotone.scheduling.tie_break import TieBreak
from ecotone.scheduling.winners import top
from reference.random_worlds import new_pod, worlds
from reference.world import World

FRAMEWORK = framework_of(POLICIES["ecotone"])


@settings(max_examples=150, deadline=None)
@given(world=worlds, picks=st.lists(st.tuples(st.integers(0, 99), st.sets(st.integers(0, 99))), min_size=1, max_size=6))
def test_kept_sums_are_those_of_columns_asked_anew(world: World, picks: Sequence[tuple[int, set[int]]]) -> None:
    state = world.state()
    first = new_pod(world)
    evaluation = Evaluation(FRAMEWORK, Cycle(state, first))
    cycle = evaluation.cycle
    kept = TieBreak(cycle, FRAMEWORK.tie_breakers, lambda plugin: change_by_placement(plugin, cycle))
    for number, (chosen, some) in enumerate(picks):
        if not len(evaluation.feasible):
            return
        places = np.unique([each % len(evaluation.feasible) for each in (chosen, *some)])
        anew = Evaluation(FRAMEWORK, Cycle(state, cycle.pod))
        assert anew.feasible.tolist() == evaluation.feasible.tolist()
        assert kept.at(evaluation.feasible[places]).tolist() == anew.total(anew.ties)[places].tolist()
        row = int(evaluation.feasible[chosen % len(evaluation.feasible)])
        placed = state.assume(cycle.pod, state.nodes.names[row])
        before = evaluation.feasible.tolist()
        evaluation.advance(placed, row, replace(first, name=f"next-{number}", uid=f"next-{number}"))
        kept.placed(row, moved=evaluation.feasible.tolist() != before)


@settings(max_examples=150, deadline=None)
@given(world=worlds, picks=st.lists(st.tuples(st.integers(0, 99), st.booleans()), min_size=1, max_size=12))
def test_kept_winners_are_those_of_sums_compared_anew(world: World, picks: Sequence[tuple[int, bool]]) -> None:
    state = world.state()
    first = new_pod(world)
    evaluation = Evaluation(FRAMEWORK, Cycle(state, first))
    cycle = evaluation.cycle
    kept = TieBreak(cycle, FRAMEWORK.tie_breakers, lambda plugin: change_by_placement(plugin, cycle))
    for number, (chosen, best) in enumerate(picks):
        if not len(evaluation.feasible):
            return
        anew = Evaluation(FRAMEWORK, Cycle(state, cycle.pod))
        winners = anew.feasible[top(anew.total(anew.ties))].tolist()
        assert kept.winners(evaluation.feasible).tolist() == winners
        among = winners if best else evaluation.feasible.tolist()
        row = among[chosen % len(among)]
        placed = state.assume(cycle.pod, state.nodes.names[row])
        before = evaluation.feasible.tolist()
        evaluation.advance(placed, row, replace(first, name=f"next-{number}", uid=f"next-{number}"))
        kept.placed(row, moved=evaluation.feasible.tolist() != before)


def zoned(seed: int) -> tuple[ClusterState, list[Pod]]:
    """Nodes in a few zones, some without a label, and replicas of a Service: each placement changes a whole zone."""
    luck = Random(seed)
    worst = (Taint("spot", "", "PreferNoSchedule"), Taint("old", "", "PreferNoSchedule"))
    nodes = [
        node(
            f"n{place}",
            cpu=luck.choice(("2", "4")),
            zone=luck.choice(("east", "west", "north", None)),
            pods=luck.choice((2, 110, 110)),
            taints=luck.choice(((), (), worst[:1])),
        )
        for place in range(luck.randint(6, 40))
    ]
    # Once it is full, the others' soft taints weigh more.
    nodes[0] = replace(nodes[0], taints=worst, allocatable={**nodes[0].allocatable, "pods": luck.choice((1, 2))})
    there = [
        pod(f"old-{each}", labels={"app": "web"}, node=luck.choice(nodes).name) for each in range(luck.randint(0, 9))
    ]
    waiting = [pod(f"new-{each}", labels={"app": "web"}, cpu="100m") for each in range(12)]
    state = cluster(nodes, [*there, *waiting], services=(ServiceSelector("default", "web", labelled(app="web")),))
    return state, waiting


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32), picks=st.lists(st.tuples(st.integers(0, 99), st.booleans()), min_size=2, max_size=11)
)
def test_kept_sums_of_many_rows_follow_replicas_that_change_whole_zones(
    seed: int, picks: Sequence[tuple[int, bool]]
) -> None:
    state, waiting = zoned(seed)
    evaluation = Evaluation(FRAMEWORK, Cycle(state, waiting[0]))
    cycle = evaluation.cycle
    kept = TieBreak(cycle, FRAMEWORK.tie_breakers, lambda plugin: change_by_placement(plugin, cycle))
    rows = evaluation.feasible
    for (chosen, again), following in zip(picks, waiting[1:], strict=False):
        if not len(evaluation.feasible):
            return
        if not again or not np.isin(rows, evaluation.feasible).all():
            rows = evaluation.feasible[chosen % 3 :: 1 + chosen % 2]
        anew = Evaluation(FRAMEWORK, Cycle(state, cycle.pod))
        sums = anew.total(anew.ties)[np.searchsorted(anew.feasible, rows)]
        if len(rows):
            assert kept.at(rows).tolist() == sums.tolist()
            assert kept.winners(rows).tolist() == rows[top(sums)].tolist()
        row = int(evaluation.feasible[chosen % len(evaluation.feasible)])
        placed = state.assume(cycle.pod, state.nodes.names[row])
        before = evaluation.feasible.tolist()
        evaluation.advance(placed, row, following)
        kept.placed(row, moved=evaluation.feasible.tolist() != before)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), picks=st.lists(st.integers(0, 99), min_size=1, max_size=8))
def test_a_yardstick_that_is_said_to_stay_after_a_zone_has_changed_is_that_of_all_rows(
    seed: int, picks: Sequence[int]
) -> None:
    state, waiting = zoned(seed)
    evaluation = Evaluation(FRAMEWORK, Cycle(state, waiting[0]))
    cycle = evaluation.cycle
    scorer = next(each for each in FRAMEWORK.tie_breakers if each.nearby is not None)
    assert scorer.nearby is not None and scorer.prepares is not None
    scorer.prepares.prescore(cycle)
    everywhere = state.nodes.all_rows
    for chosen, following in zip(picks, waiting[1:], strict=False):
        if not len(evaluation.feasible):
            return
        before = scorer.nearby.score(cycle, everywhere)
        assert before is not None
        yardstick = scorer.nearby.yardstick(cycle, before[evaluation.feasible])
        row = int(evaluation.feasible[chosen % len(evaluation.feasible)])
        feasible = evaluation.feasible.tolist()
        evaluation.advance(state.assume(cycle.pod, state.nodes.names[row]), row, following)
        if evaluation.feasible.tolist() != feasible:
            return
        after, rows = scorer.nearby.score(cycle, everywhere), scorer.nearby.changed_rows(cycle, row)
        assert after is not None and rows is not None
        unchanged = np.setdiff1d(everywhere, rows)
        assert after[unchanged].tolist() == before[unchanged].tolist()
        if scorer.nearby.keeps_yardstick_nearby(yardstick, before[rows], after[rows]):
            assert scorer.nearby.yardstick(cycle, after[evaluation.feasible]) == yardstick
