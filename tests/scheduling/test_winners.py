"""Winners that are kept while sums change are those of all sums compared anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.scheduling.winners import Winners, top

# A few whole sums, so that many rows tie, and some that differ by next to nothing.
SUMS = st.sampled_from([0.0, 1.0, 74.0, 75.0, 76.0, 75.0 * (1 - 5e-10), 75.0 * (1 + 5e-10), -3.0])


@settings(max_examples=400, deadline=None)
@given(
    sums=st.lists(SUMS, min_size=2, max_size=9),
    left_out=st.sets(st.integers(0, 8), max_size=3),
    changes=st.lists(st.lists(st.tuples(st.integers(0, 8), SUMS), min_size=1, max_size=3), max_size=25),
)
def test_kept_winners_are_those_of_all_sums(
    sums: list[float], left_out: set[int], changes: Sequence[Sequence[tuple[int, float]]]
) -> None:
    now = np.array(sums)
    rows = np.array([row for row in range(len(sums)) if row not in left_out] or [0])
    kept = Winners.of(rows, now[rows])
    for some in changes:
        for row, value in some:
            now[row % len(sums)] = value
            kept.changed(row % len(sums), value)
        found = kept.settle(now)
        anew = rows[top(now[rows])].tolist()
        assert found is None or found.tolist() == anew
        if found is None:
            kept = Winners.of(rows, now[rows])


def test_whoever_was_surpassed_wins_again_when_the_winner_falls_back() -> None:
    sums = np.array([74.0, 74.0, 74.0, 73.0])
    kept = Winners.of(np.arange(4), sums)
    for value in (75.0, 76.0, 73.0):
        sums[1] = value
        kept.changed(1, value)
        found = kept.settle(sums)
        assert found is not None and found.tolist() == ([1] if value > 74 else [0, 2])
