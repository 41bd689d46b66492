"""Whatever happens on the way, a plan evicts no more than it said, nobody that it brought, and it ends."""

from __future__ import annotations

import os

import pytest

from descheduling.disturbed import Disturbed
from ecotone.model import Evict

SEQUENCES = int(os.environ.get("ECOTONE_PLAN_SEQUENCES", "100000"))
PART = 10_000


def played(seed: int) -> Disturbed:
    """A plan and what disturbs it, until it is over."""
    cluster = Disturbed(seed)
    draw = cluster.draw
    first = cluster.state.now
    while True:
        moves = cluster.round()
        if not cluster.under_way:
            return cluster
        if draw.random() < 0.2:
            again = cluster.round()
            assert plain(again) == plain(moves), "asking twice gives the same answer"
        for move in moves:
            cluster.evict(move)
        cluster.disturb()
        cluster.passes(draw.choice((0.0, 1.0, 5.0, 20.0)) + 0.5)
        assert cluster.state.now <= cluster.plan.deadline + 25.0 or cluster.state.now < first, "it does not end"


def plain(moves: list[Evict]) -> list[tuple[str, str]]:
    return [(move.pod, move.target) for move in moves if not move.surge]


@pytest.mark.parametrize("part", range(4))
def test_a_disturbed_plan_evicts_no_more_than_it_said_and_ends(part: int) -> None:
    for seed in range(part * 150, part * 150 + 150):
        try:
            played(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.slow
@pytest.mark.parametrize("part", range(0, SEQUENCES, PART))
def test_a_campaign_of_disturbed_plans(part: int) -> None:
    for seed in range(part, min(SEQUENCES, part + PART)):
        try:
            played(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
