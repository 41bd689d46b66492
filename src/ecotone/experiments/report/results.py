"""What the page shows, read from what the simulator wrote, with every part allowed to be missing.

The figures are those of `ecotone simulate -o json`; nothing here computes a statistic that the simulator already gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.drawing.numbers import mean, number, pair
from ecotone.drawing.palette import POLICY_SLOTS

Run = Mapping[str, Any]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy's figures over its trials. Times in milliseconds, shares of one."""

    name: str
    slot: int
    runs: Sequence[Run]
    trials: int
    mean: float | None
    p50: float | None
    p95: float | None
    p95_interval: Interval | None
    p99: float | None
    with_failures: float | None
    gain: float | None  # p95 over the baseline's, less one: negative is better
    gain_interval: Interval | None
    requests: float | None
    failed: float | None
    evictions: float | None
    cost: float | None = None  # of the nodes in use, per hour

    @property
    def failed_share(self) -> float | None:
        return self.failed / self.requests if self.requests and self.failed is not None else None

    @property
    def counted(self) -> float | None:
        """Mean latency counted by tier, in scenarios with QoS targets."""
        known = [float(value) for run in self.runs if (value := run.get("edge_latency_ms")) is not None]
        return sum(known) / len(known) if known else None

    @property
    def example(self) -> Run | None:
        """The trial to show where only one can be: the one whose p95 is in the middle."""
        known = [(p95, run.get("trial", 0), run) for run in self.runs if (p95 := response(run, "p95")) is not None]
        if not known:
            return self.runs[0] if self.runs else None
        known.sort(key=lambda each: each[:2])
        return known[(len(known) - 1) // 2][2]


def read_policies(result: Mapping[str, Any]) -> list[Policy]:
    """In the summary's order; the first is the baseline."""
    runs: Sequence[Run] = result.get("runs") or ()
    summary = {entry["policy"]: entry for entry in result.get("summary") or ()}
    names = list(dict.fromkeys([*summary, *(run["policy"] for run in runs)]))
    policies: list[Policy] = []
    for index, name in enumerate(names):
        own = [run for run in runs if run["policy"] == name]
        baseline = policies[0].p95 if policies else None
        policies.append(_policy(name, index, own, summary.get(name, {}), baseline))
    return policies


def _policy(name: str, index: int, runs: Sequence[Run], entry: Mapping[str, Any], baseline: float | None) -> Policy:
    p95 = _first(entry.get("p95_ms"), _over(runs, "p95"))
    computed = (
        p95 / baseline - 1.0 if p95 is not None and baseline else (0.0 if index == 0 and p95 is not None else None)
    )
    requests, failed = (_total(run.get(key) for run in runs) for key in ("requests", "failed"))
    return Policy(
        name=str(name),
        slot=index % POLICY_SLOTS,
        runs=runs,
        trials=int(number(entry.get("trials")) or len(runs)),
        mean=_first(entry.get("mean_ms"), _over(runs, "mean")),
        p50=_first(entry.get("p50_ms"), _over(runs, "p50")),
        p95=p95,
        p95_interval=pair(entry.get("p95_ci95")),
        p99=_first(entry.get("p99_ms"), _over(runs, "p99")),
        with_failures=_first(
            entry.get("p95_with_failures_ms"), average(run.get("p95_with_failures_ms") for run in runs)
        ),
        gain=_first(entry.get("vs_baseline"), computed),
        gain_interval=pair(entry.get("vs_baseline_ci95")),
        requests=requests,
        failed=failed,
        evictions=_first(entry.get("evictions"), average(run.get("evictions") for run in runs)),
        cost=average(run.get("cost_per_hour") for run in runs),
    )


def response(run: Run, figure: str) -> float | None:
    return number((run.get("response_ms") or {}).get(figure))


def average(values: Iterable[object]) -> float | None:
    """The mean of what is there."""
    return mean([known for value in values if (known := number(value)) is not None])


def _over(runs: Sequence[Run], figure: str) -> float | None:
    return average(response(run, figure) for run in runs)


def _total(values: Iterable[object]) -> float | None:
    known = [each for value in values if (each := number(value)) is not None]
    return sum(known) if known else None


def _first(*values: object) -> float | None:
    return next((known for value in values if (known := number(value)) is not None), None)
