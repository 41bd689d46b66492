"""Placements that differ from a known one in a single workload cost what they cost when judged as a whole."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ecotone.scheduling.response.around import Around, can_tell
from ecotone.scheduling.response.prediction import Prediction
from scheduling.call_graphs import application

NOTHING = 1e-6  # milliseconds: a search takes no less for a gain


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), tree=st.booleans(), uniform=st.booleans(), workloads=st.integers(2, 30))
def test_a_changed_workload_costs_what_the_whole_placement_does(
    seed: int, tree: bool, uniform: bool, workloads: int
) -> None:
    luck = Random(seed)
    nodes = luck.randint(2, 6)
    graph = application(luck, workloads=workloads, nodes=nodes, tree=tree, uniform=uniform, use=200.0)
    calls = tuple(replace(call, awaited=luck.random() < 0.7) for call in graph.calls)
    graph = replace(graph, calls=calls, unawaited=luck.choice((0.0, 0.2)))
    assume(can_tell(graph))
    here = graph.counts.astype(np.float64)
    prediction = Prediction(graph)
    around = Around(prediction, here)
    for workload in range(workloads):
        rows = np.array([np.bincount([luck.randrange(nodes)] * 2, minlength=nodes) for _ in range(3)], dtype=np.float64)
        rows[0] = here[workload]
        rows[1, luck.randrange(nodes)] += 1
        whole = np.repeat(here[np.newaxis], len(rows), axis=0)
        whole[:, workload] = rows
        change = around.change(workload, rows)
        assert around.milliseconds(change) == pytest.approx(prediction.cost(whole), rel=1e-9, abs=NOTHING)
        slowest = prediction.uneven(whole) + prediction.unsteady(whole)
        assert around.slowest(change, workload, rows) == pytest.approx(slowest, rel=1e-9, abs=NOTHING)


def test_circles_of_near_calls_are_judged_as_a_whole() -> None:
    luck = Random(1)
    told = [can_tell(application(luck, workloads=6, nodes=3, tree=False, uniform=False, use=1.0)) for _ in range(40)]
    assert not all(told)
    uniform = [application(luck, workloads=6, nodes=3, tree=False, uniform=True, use=1.0) for _ in range(40)]
    assert any(each.cyclic for each in uniform)
    assert all(can_tell(each) for each in uniform)
