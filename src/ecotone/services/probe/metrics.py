"""The probe's metrics: few series per pair, gone with the peer.

Seven bounds from 0.05 ms to 2 s and +Inf: wide steps, since averages come from sum and count, and every bound is a
series per pair of nodes.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BOUNDS = (0.00005, 0.0003, 0.002, 0.01, 0.05, 0.3, 2.0)
_PAIR = ["origin", "target"]


class ProbeMetrics:
    def __init__(self, node: str) -> None:
        self._node = node
        registry = CollectorRegistry()
        self.registry = registry
        self._rtt = Histogram(
            "ecotone_probe_rtt_seconds", "Round trips to other nodes.", _PAIR, buckets=BOUNDS, registry=registry
        )
        self._sent = Counter("ecotone_probe_sent", "Probes sent.", _PAIR, registry=registry)
        self._lost = Counter("ecotone_probe_lost", "Probes that were not answered in time.", _PAIR, registry=registry)
        self._jitter = Gauge(
            "ecotone_probe_jitter_seconds",
            "Smoothed difference between consecutive round trips (RFC 3550).",
            _PAIR,
            registry=registry,
        )
        self._bandwidth = Gauge(
            "ecotone_probe_bandwidth_bytes_per_second",
            "What a short transfer from the target reached.",
            _PAIR,
            registry=registry,
        )
        self._bandwidth_failures = Counter(
            "ecotone_probe_bandwidth_failures", "Transfers that failed.", _PAIR, registry=registry
        )
        self._coordinate = Gauge(
            "ecotone_probe_coordinate",
            "Network coordinates of this node in milliseconds; axis 0 to 7, height, and error as a share.",
            ["origin", "axis"],
            registry=registry,
        )
        self._targets = Gauge("ecotone_probe_targets", "Nodes this one probes.", ["origin"], registry=registry)
        self._last: dict[str, float] = {}
        self._smoothed: dict[str, float] = {}

    def sent(self, target: str) -> None:
        self._sent.labels(self._node, target).inc()
        # Both counters exist from the first probe on: a first loss must be an increase, not a new series.
        self._lost.labels(self._node, target)

    def answered(self, target: str, seconds: float) -> None:
        self._rtt.labels(self._node, target).observe(seconds)
        last = self._last.get(target)
        self._last[target] = seconds
        if last is not None:
            before = self._smoothed.get(target, 0.0)
            self._smoothed[target] = before + (abs(seconds - last) - before) / 16
            self._jitter.labels(self._node, target).set(self._smoothed[target])

    def lost(self, target: str) -> None:
        self._lost.labels(self._node, target).inc()

    def bandwidth(self, target: str, bytes_per_second: float) -> None:
        self._bandwidth.labels(self._node, target).set(bytes_per_second)

    def bandwidth_failed(self, target: str) -> None:
        self._bandwidth_failures.labels(self._node, target).inc()
        # What was true before the failure is not repeated as if it still were.
        self._drop(self._bandwidth, target)

    def coordinate(self, values: dict[str, float]) -> None:
        for axis, value in values.items():
            self._coordinate.labels(self._node, axis).set(value)

    def targets(self, count: int) -> None:
        self._targets.labels(self._node).set(count)

    def forget(self, target: str) -> None:
        for metric in (
            self._rtt,
            self._sent,
            self._lost,
            self._jitter,
            self._bandwidth,
            self._bandwidth_failures,
        ):
            self._drop(metric, target)
        self._last.pop(target, None)
        self._smoothed.pop(target, None)

    def _drop(self, metric: Counter | Gauge | Histogram, target: str) -> None:
        try:
            metric.remove(self._node, target)
        except KeyError:
            return
