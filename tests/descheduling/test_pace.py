"""How fast moves may follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from builders import cluster, node
from ecotone.descheduling.pace import MEMORY, pace_now
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot


def at(now: float, memory: object = None, moved: Mapping[WorkloadKey, float] | None = None) -> Snapshot:
    state = cluster([node("a")], [])
    return replace(
        state.freeze(), now=now, memory={} if memory is None else {MEMORY: memory}, last_moves=dict(moved or {})
    )


@pytest.mark.parametrize("burst", [1, 3, 8])
def test_in_any_stretch_no_more_than_one_in_so_many_seconds_and_the_burst(burst: int) -> None:
    draw, now = Random(burst), 0.0
    memory: Mapping[str, object] | None = None
    begun: list[float] = []
    for _ in range(400):
        now += draw.choice([0.0, 1.0, 4.0, 15.0, 60.0])
        pace = pace_now(at(now, memory), seconds=15.0, burst=burst)
        moves = min(pace.allowed, draw.randint(0, 5))
        begun += [now] * moves
        memory = pace.after(moves)
    assert len(begun) > 100
    for first, start in enumerate(begun):
        for last in range(first, len(begun)):
            assert last - first + 1 <= burst + (begun[last] - start) / 15.0 + 1e-6


def test_it_is_used_up_and_comes_back() -> None:
    pace = pace_now(at(100.0), seconds=15.0, burst=4)
    assert pace.allowed == 4
    memory = pace.after(4)
    assert pace_now(at(114.9, memory), seconds=15.0, burst=4).allowed == 0
    assert pace_now(at(115.0, memory), seconds=15.0, burst=4).allowed == 1
    assert pace_now(at(9999.0, memory), seconds=15.0, burst=4).allowed == 4
    assert pace_now(at(50.0, memory), seconds=15.0, burst=4).allowed == 0, "a clock that goes back allows nothing"


def test_whoever_remembers_nothing_counts_the_moves_that_are_known() -> None:
    moved = {WorkloadKey("default", "a"): 95.0, WorkloadKey("default", "b"): 10.0}
    assert pace_now(at(100.0, moved=moved), seconds=15.0, burst=4).allowed == 3


@pytest.mark.parametrize("memory", ["x", {"kept": "x", "at": 1}, {"kept": 1}, [1, 2]])
def test_a_memory_that_is_none_is_no_memory(memory: object) -> None:
    assert pace_now(at(100.0, memory), seconds=15.0, burst=2).allowed == 2
