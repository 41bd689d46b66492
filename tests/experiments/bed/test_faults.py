"""When a cluster counts as healed after a fault."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ecotone.experiments.bed import faults


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_statuses_from_before_a_fault_do_not_count_as_converged() -> None:
    time = Time()

    def look() -> list[str]:
        """A cut that nobody noticed: for four seconds the API server still shows what was there before."""
        return ["pod api"] if 4 <= time.now < 20 else []

    converged, waited_for = faults.settling(look, clock=time.clock, sleep=time.sleep)
    assert converged == 20
    assert waited_for == ["pod api"]


def test_a_cluster_that_was_never_disturbed_has_converged_at_once() -> None:
    time = Time()
    assert faults.settling(list, clock=time.clock, sleep=time.sleep) == (0.0, [])


def test_a_cluster_that_stays_unsettled_never_converges() -> None:
    time = Time()
    assert faults.settling(lambda: ["node edge"], clock=time.clock, sleep=time.sleep) == (None, ["node edge"])
    assert time.now >= faults.CONVERGED_SECONDS


def test_a_kubelet_that_has_not_renewed_its_lease_since_is_silent() -> None:
    healed = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
    leases = [
        {"metadata": {"name": name}, "spec": {"renewTime": (healed + timedelta(seconds=late)).isoformat()}}
        for name, late in (("edge", -1), ("cloud", 1))
    ]
    assert faults.silent(leases, healed) == ["kubelet of edge"]
    kubernetes = [{"metadata": {"name": "fog"}, "spec": {"renewTime": "2030-01-01T12:00:00.123456Z"}}]
    assert faults.silent(kubernetes, healed) == []
