"""Values that may be believed, and those that may not."""

from __future__ import annotations

import asyncio

from ecotone.telemetry.families import Answers, Family, Kind, combine
from ecotone.telemetry.prometheus import Failure, Trouble
from telemetry.fake_prometheus import FakeSource, believing, sample

FAMILY = Family("metric", by=("node",), selectors=('a="b"', 'c="d"'))


def test_the_four_questions_are_put_as_promql() -> None:
    one, other = 'rate(metric{a="b"}[120s])', 'rate(metric{c="d"}[120s])'
    sound = f"({one} >= 0 <= 1e+15) or ({other} >= 0 <= 1e+15)"
    assert FAMILY.value(120) == f"sum by (node) ({sound})"
    assert FAMILY.impossible(120) == f"count by (node) (({one} or {other}) unless ({sound}))"
    assert FAMILY.count(120) == (
        'max by (node) (count_over_time(metric{a="b"}[120s]) or count_over_time(metric{c="d"}[120s]))'
    )
    assert FAMILY.newest() == 'min by (node) (timestamp(metric{a="b"}) or timestamp(metric{c="d"}))'
    gauge = Family("gauge", by=("node",), kind=Kind.AVERAGE)
    assert gauge.sparser(120) == (
        "min by (node) (((timestamp(gauge offset 60s) - timestamp(gauge offset 120s)) / count_over_time(gauge[60s] offset 60s)"
        " / ((timestamp(gauge) - timestamp(gauge offset 60s)) / count_over_time(gauge[60s]))"
        " or 0 * count_over_time(gauge[60s] offset 60s) and gauge offset 120s))"
    )
    assert gauge.value(1.5) == "sum by (node) (((avg_over_time(gauge[1500ms]) and gauge) >= 0 <= 1e+15))"


def answers(**changed: list[object]) -> Answers:
    given = {
        "values": [sample(3.0, node="a")],
        "counts": [sample(8, node="a")],
        "newest": [sample(95.0, node="a")],
        "sparser": [sample(1.0, node="a")],
    } | changed
    return Answers(**given)  # type: ignore[arg-type]


def test_a_value_carries_the_time_of_its_own_sample() -> None:
    found = combine(FAMILY, answers(), window=60, at=100)
    assert [(each.value, each.at) for each in found.values] == [(3.0, 95.0)]
    assert found.samples == 8


def test_a_series_that_does_not_fill_the_window_is_young() -> None:
    found = combine(FAMILY, answers(sparser=[]), window=60, at=100)
    assert found.values == [] and found.young == 1 and found.samples is None


def test_a_window_whose_first_half_was_sampled_less_is_not_filled() -> None:
    assert combine(FAMILY, answers(sparser=[sample(1.2, node="a")]), window=60, at=100).values != []
    assert combine(FAMILY, answers(sparser=[sample(1.25, node="a")]), window=60, at=100).values == []


def test_a_window_whose_end_nobody_sampled_is_not_filled() -> None:
    assert combine(FAMILY, answers(newest=[sample(78.0, node="a")]), window=60, at=100).values != []
    assert combine(FAMILY, answers(newest=[sample(77.0, node="a")]), window=60, at=100).values == []


def test_windows_do_not_grow_because_scrapes_have_stopped() -> None:
    regular = answers(counts=[sample(3, node="a")], newest=[sample(82.0, node="a")])
    assert combine(FAMILY, regular, window=60, at=100).samples == 3
    stopped = answers(counts=[sample(3, node="a")], newest=[sample(70.0, node="a")])
    assert combine(FAMILY, stopped, window=60, at=100).samples is None


def test_three_samples_are_too_few() -> None:
    found = combine(FAMILY, answers(counts=[sample(3, node="a")]), window=60, at=100)
    assert found.values == [] and found.samples == 3


def test_a_series_that_ended_is_not_repeated() -> None:
    assert combine(FAMILY, answers(newest=[]), window=60, at=100).values == []


def test_a_sample_from_the_future_is_of_now() -> None:
    assert combine(FAMILY, answers(newest=[sample(200, node="a")]), window=60, at=100).values[0].at == 100


def test_a_rate_below_zero_is_no_rate_but_a_coordinate_may_be() -> None:
    negative = answers(values=[sample(-1.0, node="a")])
    assert combine(FAMILY, negative, window=60, at=100).values == []
    assert combine(Family("metric", by=("node",), signed=True), negative, window=60, at=100).values[0].value == -1.0


def test_one_failed_question_fails_the_family() -> None:
    failure = Failure(Trouble.FAILING, "no")
    source = FakeSource({FAMILY.sparser(60): failure})
    assert asyncio.run(believing(source).read(FAMILY, window=60, at=5)) == failure
    assert {at for _, at in source.asked} == {5}


def test_series_that_come_and_go_together_are_judged_once() -> None:
    family = Family("place", by=("node", "axis"), together=("node",), kind=Kind.AVERAGE, signed=True)
    assert family.value(60) == "sum by (node,axis) (((avg_over_time(place[60s]) and place) >= -1e+15 <= 1e+15))"
    assert family.count(60) == "max by (node) (count_over_time(place[60s]))"
    assert family.newest() == "min by (node) (timestamp(place))"
    values = [sample(1.0, node=name, axis=axis) for name in ("n", "old") for axis in ("0", "1")]
    alive = [sample(6.0, node="n")]
    given = Answers(values, alive, [sample(99.0, node="n")], [sample(1.0, node="n")])
    found = combine(family, given, window=60, at=100).values
    assert [(each.labels["node"], each.labels["axis"], each.at) for each in found] == [
        ("n", "0", 99.0),
        ("n", "1", 99.0),
    ]
