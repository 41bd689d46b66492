"""Policy ``kube-default`` against the real kube-scheduler: the same nodes, the same scores, the same words."""

from __future__ import annotations

import pytest

from control_plane.cluster import Cluster
from control_plane.parity import Arena, differences
from control_plane.parity_cases import Generator

SAMPLE = 24
CAMPAIGN = 320


@pytest.fixture(scope="module")
def arena(shared_cluster: Cluster) -> Arena:
    return Arena(shared_cluster)


def compare(arena: Arena, seeds: range) -> tuple[int, int, list[str]]:
    pods = several = 0
    found: list[str] = []
    for seed in seeds:
        for name, theirs, ours in arena.compare(Generator(seed).case()):
            pods += 1
            several += len(theirs.feasible) > 1
            found += [f"seed {seed} {name}: {text}" for text in differences(theirs, ours)]
    return pods, several, found


def test_a_sample_of_random_cases_is_decided_alike(arena: Arena) -> None:
    pods, several, found = compare(arena, range(1000, 1000 + SAMPLE))
    assert not found, "\n".join(found)
    assert several >= pods // 3, "most cases must leave a choice, or the scores are not compared"


@pytest.mark.slow
def test_the_whole_campaign_is_decided_alike(arena: Arena) -> None:
    _, several, found = compare(arena, range(CAMPAIGN))
    assert not found, "\n".join(found[:50])
    assert several >= 250
