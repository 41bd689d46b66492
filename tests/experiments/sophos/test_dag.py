"""The DAG workflow: `ecotone` beside published policies, from a load that one node serves to one that needs three."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job, execute
from ecotone.experiments.sophos.dag import CONTENDERS, workflow
from ecotone.sim.recorder import FAILURE_SECONDS

OURS = "ecotone"


def ran(latency: float, users: int, policy: str) -> Run:
    return execute(Job(workflow(latency, users), "dag-workflow.yaml", policy, 0, 1))


def mean(run: Run) -> float:
    """Milliseconds, a failure counting as a minute."""
    answered = run.requests - run.failed
    return ((run.response_ms.mean or 0.0) * answered + 1000 * FAILURE_SECONDS * run.failed) / run.requests


def p95(run: Run) -> float:
    assert run.p95_with_failures_ms is not None
    return run.p95_with_failures_ms


@pytest.mark.lasting
def test_branches_that_keep_a_node_busy_part_even_where_the_mean_prediction_is_the_same() -> None:
    """Everything begins on one node, which 75 users overload; in the end neither branch is beside the entrance."""
    end = ran(10.0, 75, OURS).placement[-1][1]
    assert len({next(iter(end[name])) for name in ("m0", "m1", "m2")}) == 3
    assert end["m1"] == end["m4"] == end["db-1"]
    assert end["m2"] == end["db-2"]
    assert end["m0"] == end["m3"] == end["m5"]


@pytest.mark.slow
@pytest.mark.parametrize("users", [10, 50, 75, 100, 150])
@pytest.mark.parametrize("latency", [10.0, 200.0])
def test_no_published_policy_is_ahead(latency: float, users: int) -> None:
    ours = ran(latency, users, OURS)
    published = [ran(latency, users, each.name) for each in CONTENDERS if each.name != OURS]
    assert ours.failed == 0
    assert mean(ours) <= 1.02 * min(map(mean, published))
    assert p95(ours) <= 1.10 * min(map(p95, published))
