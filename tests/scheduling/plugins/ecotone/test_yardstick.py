"""A yardstick that is said to stay after one row has changed is the one that all rows would give."""

from __future__ import annotations

from math import inf, nan

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.scheduling import POLICIES, Evaluation, framework_of
from ecotone.scheduling.plugin import STEADY, Cycle
from reference.random_worlds import new_pod, worlds
from reference.world import World

FRAMEWORK = framework_of(POLICIES["ecotone"])
VALUES = st.one_of(st.floats(-2e6, 0), st.sampled_from([0.0, -1.0, -5e5, -6e5, -inf, nan, inf]))


@settings(max_examples=200, deadline=None)
@given(world=worlds, place=st.integers(0, 99), before=VALUES, after=VALUES, same=st.booleans())
def test_a_yardstick_stays_only_where_all_rows_agree(
    world: World, place: int, before: float, after: float, same: bool
) -> None:
    evaluation = Evaluation(FRAMEWORK, Cycle(world.state(), new_pod(world)))
    if not len(evaluation.feasible):
        return
    (term,) = evaluation.terms
    plugin = term.scorer.plugin
    assert STEADY.has(plugin) and term.asked is not None
    raw = term.asked.copy()
    index = place % len(raw)
    if not same:
        raw[index] = before
    yardstick = plugin.yardstick(evaluation.cycle, raw)
    was, raw[index] = float(raw[index]), after
    if plugin.keeps_yardstick(yardstick, was, after):
        assert plugin.yardstick(evaluation.cycle, raw) == yardstick


@settings(max_examples=200, deadline=None)
@given(world=worlds, values=st.lists(VALUES, min_size=2, max_size=6))
def test_a_row_by_itself_is_normalised_as_among_all(world: World, values: list[float]) -> None:
    evaluation = Evaluation(FRAMEWORK, Cycle(world.state(), new_pod(world)))
    if not len(evaluation.feasible):
        return
    (term,) = evaluation.terms
    relative, rows = term.scorer.relative, evaluation.rows[:1]
    assert relative is not None
    raw = np.array(values)
    yardstick = relative.yardstick(evaluation.cycle, raw)
    together = relative.normalize_by(evaluation.cycle, raw, evaluation.rows, yardstick)
    alone = [relative.normalize_by(evaluation.cycle, raw[one : one + 1], rows, yardstick)[0] for one in range(len(raw))]
    np.testing.assert_array_equal(alone, together)
