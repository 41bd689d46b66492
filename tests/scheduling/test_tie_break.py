"""Sums of tie-breakers, asked for a few rows and kept between replicas, are those of whole columns asked anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

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
    pod = new_pod(world)
    evaluation = Evaluation(FRAMEWORK, Cycle(state, pod))
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
        evaluation.advance(placed, row, replace(pod, name=f"next-{number}", uid=f"next-{number}"))
        kept.placed(row, moved=evaluation.feasible.tolist() != before)


@settings(max_examples=150, deadline=None)
@given(world=worlds, picks=st.lists(st.tuples(st.integers(0, 99), st.booleans()), min_size=1, max_size=12))
def test_kept_winners_are_those_of_sums_compared_anew(world: World, picks: Sequence[tuple[int, bool]]) -> None:
    state = world.state()
    pod = new_pod(world)
    evaluation = Evaluation(FRAMEWORK, Cycle(state, pod))
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
        evaluation.advance(placed, row, replace(pod, name=f"next-{number}", uid=f"next-{number}"))
        kept.placed(row, moved=evaluation.feasible.tolist() != before)
