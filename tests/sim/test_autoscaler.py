"""The autoscaler's arithmetic, case by case."""

from __future__ import annotations

from ecotone.sim.control.autoscaler import Autoscaler
from ecotone.sim.scenario.schema import Autoscale


def scaler(*, target: float = 0.5, least: int = 1, most: int = 20) -> Autoscaler:
    return Autoscaler(Autoscale(target, least, most), request=100.0)


def test_desired_is_the_ceiling_of_current_times_ratio() -> None:
    assert scaler().replicas(0, current=4, usage=60.0, ready=4) == 5  # 4 x 1.2 = 4.8


def test_within_ten_per_cent_nothing_changes() -> None:
    assert scaler().replicas(0, current=4, usage=55.0, ready=4) == 4
    assert scaler().replicas(0, current=4, usage=45.0, ready=4) == 4


def test_pods_that_are_not_ready_count_as_idle_when_scaling_up() -> None:
    assert scaler().replicas(0, current=4, usage=100.0, ready=2) == 4  # 2 x 100m over 4 pods is the target
    assert scaler().replicas(0, current=4, usage=150.0, ready=2) == 6


def test_scaling_up_is_at_most_doubling_or_four_more() -> None:
    assert scaler().replicas(0, current=1, usage=1000.0, ready=1) == 5
    assert scaler().replicas(0, current=6, usage=1000.0, ready=6) == 12


def test_scaling_down_waits_for_the_highest_of_five_minutes() -> None:
    hpa = scaler()
    assert hpa.replicas(0, current=4, usage=50.0, ready=4) == 4
    assert hpa.replicas(15, current=4, usage=10.0, ready=4) == 4
    assert hpa.replicas(300, current=4, usage=10.0, ready=4) == 4
    assert hpa.replicas(316, current=4, usage=10.0, ready=4) == 1


def test_bounds_hold_and_missing_metrics_change_nothing() -> None:
    assert scaler(most=3).replicas(0, current=3, usage=500.0, ready=3) == 3
    assert scaler(least=2).replicas(0, current=2, usage=0.0, ready=2) == 2
    assert scaler().replicas(0, current=3, usage=None, ready=3) == 3
    assert scaler().replicas(0, current=3, usage=70.0, ready=0) == 3


def test_requests_per_second_and_pod_can_be_the_target() -> None:
    hpa = Autoscaler(Autoscale(requests=5.0), request=100.0)
    assert hpa.replicas(0, current=1, usage=14.9, ready=1) == 3
    assert hpa.replicas(15, current=3, usage=5.0, ready=3) == 3


def test_a_short_window_lets_replicas_go_at_the_next_look() -> None:
    hpa = Autoscaler(Autoscale(requests=5.0, settle=5.0), request=100.0)
    assert hpa.replicas(0, current=6, usage=5.0, ready=6) == 6
    assert hpa.replicas(15, current=6, usage=2.5, ready=6) == 3
