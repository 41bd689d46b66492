import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecotone.scheduling.normalize import min_max

figures = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 5e-324, 1e-310, float("nan"), float("inf"), float("-inf")])


@given(st.lists(figures, min_size=1, max_size=6))
def test_any_figures_come_to_between_0_and_100(raw):
    found = min_max(np.array(raw))
    assert np.isfinite(found).all() and (found >= 0).all() and (found <= 100).all()


def test_the_smallest_span_there_is_still_tells_nodes_apart():
    assert min_max(np.array([0.0, 5e-324])).tolist() == [0.0, 100.0]


def test_what_is_unknown_or_infinite_never_ranks_best():
    assert min_max(np.array([1.0, float("inf"), 3.0, float("nan")])).tolist() == [0.0, 0.0, 100.0, 0.0]
