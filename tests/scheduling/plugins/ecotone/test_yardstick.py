"""A yardstick that is said to stay after one row has changed is the one that all rows would give."""

from __future__ import annotations

from math import inf, nan

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
