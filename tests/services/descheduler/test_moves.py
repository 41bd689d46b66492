"""What is remembered of moves, and when the breaker trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model.objects import Pod, PodKind, WorkloadKey
from ecotone.services.descheduler.moves import (
    FIRST_BREAK_SECONDS,
    Breaker,
    History,
    Move,
    Outcome,
    as_status,
    from_status,
)
from ecotone.services.descheduler.surge import LIMIT_SECONDS, Record, next_step

WORKLOAD = WorkloadKey("shop", "front", "Deployment")


def move(at: float, *, outcome: Outcome = Outcome.DONE, measured: float | None = 1.0, uid: str = "u") -> Move:
    return Move(at, "shop/front-1", uid, WORKLOAD, "far", "near", 5.0, "ms", 9.0, outcome, "near", measured)


@given(
    at=st.integers(1, 2_000_000_000),
    outcome=st.sampled_from(Outcome),
    measured=st.none() | st.floats(-1e6, 1e6).map(lambda value: round(value, 6)),
    surge=st.booleans(),
)
def test_a_move_written_and_read_back_is_the_same(
    at: int, outcome: Outcome, measured: float | None, surge: bool
) -> None:
    one = Move(
        float(at), "shop/a", "u", WORKLOAD, "far", "near", 1.5, "ms", 2.5, outcome, "near", measured, surge, "why"
    )
    assert from_status(as_status(one), namespace="shop") == one


@pytest.mark.parametrize("told", [None, 3, {}, {"at": "yesterday"}, [], {"at": "2026-01-01T00:00:00Z", "pod": "p"}])
def test_a_status_that_somebody_else_wrote_is_no_history(told: object) -> None:
    assert from_status(told, namespace="shop") is None
    assert History.of(told, namespace="shop").moves == []
    assert History.of({"moves": [told], "breaker": {"trips": "many"}}, namespace="shop").breaker == Breaker()


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"measured": -1.0}, "the measured cost rose"),
        ({"outcome": Outcome.NOT_READY, "measured": None}, "did not become ready"),
    ],
)
def test_three_disappointments_in_a_row_trip_the_breaker(bad: dict[str, object], why: str) -> None:
    moves = [move(1.0), *(move(2.0 + number, **bad) for number in range(3))]  # type: ignore[arg-type]
    assert not Breaker().judge(moves[:3], 10.0).open(10.0)
    tripped = Breaker().judge(moves, 10.0)
    assert tripped.open(10.0)
    assert tripped.open(10.0 + FIRST_BREAK_SECONDS - 1)
    assert not tripped.open(10.0 + FIRST_BREAK_SECONDS)
    assert why in tripped.why
    assert tripped.judge(moves, 11.0) == tripped, "the same moves are not counted twice"


def test_every_trip_waits_longer_and_success_forgives() -> None:
    bad = [move(float(number), measured=-1.0) for number in range(1, 4)]
    first = Breaker().judge(bad, 10.0)
    again = first.judge([move(20.0 + number, measured=-1.0) for number in range(3)], 30.0)
    assert again.until - 30.0 == 2 * (first.until - 10.0)
    assert again.judge([move(40.0 + number) for number in range(3)], 50.0).trips == 0


def pod(uid: str, *, ready: bool = True) -> Pod:
    return Pod(uid, uid, PodKind("shop", WORKLOAD), node="n", ready=ready)


@pytest.mark.parametrize(
    ("replicas", "pods", "late", "step"),
    [
        (1, [pod("old")], False, "grow"),
        (1, [pod("old")], True, "undo"),
        (1, [pod("old"), pod("new")], False, "wait"),
        (1, [pod("old"), pod("new", ready=False)], False, "wait"),
        (1, [pod("old"), pod("new")], True, "undo"),
        (2, [pod("old")], False, "wait"),
        (2, [pod("old"), pod("new", ready=False)], False, "wait"),
        (2, [pod("old"), pod("new", ready=False)], True, "shrink"),
        (2, [pod("old"), pod("new")], False, "shrink"),
        (2, [pod("new")], False, "shrink"),
        (1, [pod("new")], False, "done"),
        (5, [pod("old"), pod("new")], False, "done"),
    ],
)
def test_a_surge_goes_on_from_wherever_it_was(replicas: int, pods: list[Pod], late: bool, step: str) -> None:
    record = Record(replicas=1, uid="old", pod="old", target="near", since=100.0)
    assert next_step(record, replicas, pods, now=100.0 + (LIMIT_SECONDS + 1 if late else 1)) == step
