"""The monitor's metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ecotone.telemetry.sources.reader import Tally


class MonitorMetrics:
    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self.cycles = Histogram(
            "ecotone_monitor_cycle_duration_seconds",
            "Time of a cycle, questions and writes included.",
            ["part"],
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
            registry=registry,
        )
        self.queries = Counter(
            "ecotone_monitor_queries", "Questions to Prometheus, by result.", ["result"], registry=registry
        )
        self.writes = Counter(
            "ecotone_monitor_writes",
            "Writes to the API server, by object and result.",
            ["object", "result"],
            registry=registry,
        )
        self.skipped = Counter(
            "ecotone_monitor_unchanged",
            "Objects that needed no write: within the dead band and fresh.",
            ["object"],
            registry=registry,
        )
        self.refused = Counter(
            "ecotone_monitor_refused_series",
            "Groups of series left out: unknown or ambiguous source, or what is said is not the speaker's to say.",
            ["why"],
            registry=registry,
        )
        self.impossible = Counter(
            "ecotone_monitor_impossible_series",
            "Series left out since their value is not finite, below zero, or beyond all measure.",
            ["metric"],
            registry=registry,
        )
        self.age = Gauge(
            "ecotone_monitor_oldest_sample_age_seconds",
            "Age of the oldest sample used in the last cycle.",
            ["part", "name"],
            registry=registry,
        )
        self.leader = Gauge("ecotone_monitor_leader", "1 while this replica leads.", registry=registry)


class SeriesTally(Tally):
    """What a reader leaves out, counted."""

    def __init__(self, metrics: MonitorMetrics) -> None:
        self._metrics = metrics

    def refused(self, why: str, count: int) -> None:
        self._metrics.refused.labels(why).inc(count)

    def impossible(self, metric: str, count: int) -> None:
        self._metrics.impossible.labels(metric).inc(count)
