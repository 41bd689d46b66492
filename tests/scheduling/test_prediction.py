"""What a placement costs, worked out in two ways."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.scheduling.response import prediction
from ecotone.scheduling.response.prediction import MANY, Prediction
from scheduling.call_graphs import application


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), tree=st.booleans())
def test_summed_up_at_once_calls_take_as_long_as_one_by_one(seed: int, tree: bool) -> None:
    luck = Random(seed)
    drawn = application(luck, workloads=MANY + luck.randint(0, 10), nodes=5, tree=tree, uniform=True, use=200.0)
    graph = replace(drawn, deadlines=())
    placements = np.array(
        [[np.bincount([luck.randrange(5) for _ in range(3)], minlength=5) for _ in graph.names] for _ in range(10)],
        dtype=np.float64,
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prediction, "MANY", 1000)
        one_by_one = Prediction(graph)
    assert Prediction(graph).cost(placements) == pytest.approx(one_by_one.cost(placements), rel=1e-9)
    assert Prediction(graph).busy(placements) == pytest.approx(one_by_one.busy(placements), rel=1e-9)
