"""The best static placement is really one, and nobody beats it."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.best_static import NAME
from ecotone.experiments.campaign.runs import Job, execute
from experiments.campaign.two_phases import TEXT


def test_each_phase_has_its_own_best_placement() -> None:
    run = execute(Job(TEXT, "two.yaml", "kube-default", 0, 1, bound=True))
    assert run.policy == NAME
    assert (run.requests, run.failed) == (360, 0)
    near, far = run.intervals
    # Beside the users when nothing else matters; beside the database when it is asked twice.
    assert near.p95_ms == pytest.approx(2, rel=0.5)
    assert far.p95_ms == pytest.approx(30 + 2 + 2, rel=0.1)
    assert run.placement[0][1]["web"] == {"edge-1": 1}
    assert run.placement[1][1]["web"] == {"cloud-1": 1}


def test_no_policy_beats_it_in_any_phase() -> None:
    best = execute(Job(TEXT, "two.yaml", "kube-default", 0, 1, bound=True))
    for policy in ("kube-default", "sophos", "ecotone", "random"):
        run = execute(Job(TEXT, "two.yaml", policy, 0, 1))
        for ours, bound in zip(run.intervals, best.intervals, strict=True):
            assert ours.p95_ms is not None and bound.p95_ms is not None
            assert ours.p95_ms >= bound.p95_ms * (1 - 1e-9)


def test_the_bound_puts_nobody_where_a_taint_keeps_pods_away() -> None:
    """The users' own node would be best, and no policy may use it."""
    text = TEXT.replace("{name: edge-1,", "{name: edge-1, taints: [{key: kept-free, effect: NoSchedule}],", 1)
    assert text != TEXT
    run = execute(Job(text, "two.yaml", "kube-default", 0, 1, bound=True))
    assert all("edge-1" not in places for _, placed in run.placement for places in placed.values())
