"""What is measured: response times, failures, where pods were.

Response times are kept exactly up to half a million for each phase of load; beyond that they are folded into bins one
ten-thousandth wide, so that a simulated day takes no more memory than an hour. What grows with the length of a run is what
is written down of it: a point of the series and a sample of the placement every 15 s.
"""

from __future__ import annotations

from array import array
from math import exp, floor, log

import numpy as np

from ecotone.sim.parts import CAUSES, UNANSWERED, Spectrum

FAILURE_SECONDS = 60.0
SERIES_SECONDS = 15.0
_EXACT = 1 << 19
_BIN = 1e-4
_PIECE = 1 << 15


class Samples:
    """A set of durations with its mean and quantiles."""

    __slots__ = ("_bins", "_exact", "_values", "count", "total")

    def __init__(self, exact: int = _EXACT) -> None:
        self._values = array("d")
        self._bins: dict[int, int] = {}
        self._exact = exact
        self.count = 0
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self._values.append(seconds)
        if len(self._values) >= self._exact:
            self._fold()

    def _fold(self) -> None:
        bins = self._bins
        for start in range(0, len(self._values), _PIECE):  # in pieces, or folding would take more memory than it frees
            for code, number in _binned(self._values[start : start + _PIECE]):
                bins[code] = bins.get(code, 0) + number
        self._values = array("d")

    def __len__(self) -> int:
        """How many are kept exactly."""
        return len(self._values)

    def take_over(self, other: Samples) -> None:
        """Add another set's values to this one's."""
        self.count += other.count
        self.total += other.total
        self._values.extend(other._values)
        for code, number in other._bins.items():
            self._bins[code] = self._bins.get(code, 0) + number
        if len(self._values) >= self._exact:
            self._fold()

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def quantile(self, share: float, *, failures: int = 0) -> float | None:
        """The quantile of the values, with so many failures counted as a minute each."""
        total = self.count + failures
        if total == 0:
            return None
        if not self._bins:
            values = np.concatenate((np.frombuffer(self._values), np.full(failures, FAILURE_SECONDS)))
            return float(np.quantile(values, share))
        counts = dict(self._bins)
        for code, number in _binned(self._values):
            counts[code] = counts.get(code, 0) + number
        if failures:
            code = floor(log(FAILURE_SECONDS) / _BIN)
            counts[code] = counts.get(code, 0) + failures
        place, seen = share * (total - 1), 0
        for code in sorted(counts):
            seen += counts[code]
            if seen > place:
                return exp((code + 0.5) * _BIN)
        return None


def _binned(values: array[float]) -> list[tuple[int, int]]:
    codes = np.floor(np.log(np.maximum(np.frombuffer(values), 1e-12)) / _BIN).astype(np.int64)
    found, numbers = np.unique(codes, return_counts=True)
    return list(zip(found.tolist(), numbers.tolist(), strict=True))


class Interval:
    """The figures of one phase of load."""

    __slots__ = ("failed", "samples", "sent", "spectrum")

    def __init__(self) -> None:
        self.samples = Samples()
        self.spectrum = Spectrum()
        self.sent = 0
        self.failed = 0


class Recorder:
    """Collects what counts: requests sent at or after the warm-up."""

    def __init__(self, *, warmup: float, intervals: int) -> None:
        self._warmup = warmup
        self.intervals = [Interval() for _ in range(intervals)]
        self.sent = 0
        self.failed = 0
        self.causes = dict.fromkeys(CAUSES, 0)  # of the failures
        self.outstanding = 0
        self.series: list[tuple[float, float | None]] = []
        self.totals: list[tuple[float, int, float]] = []  # of the same windows: requests, and seconds they took
        self.failures: dict[int, dict[str, int]] = {}  # by window of sending, then by cause
        self._windows: dict[int, array[float]] = {}
        self._flushed = 0

    def begin(self, sent: float, tag: int) -> None:
        if sent >= self._warmup:
            self.outstanding += 1
            self.sent += 1
            self.intervals[tag].sent += 1

    def fail(self, *, sent: float, tag: int, cause: str) -> None:
        if sent < self._warmup:
            return
        self.outstanding -= 1
        self.failed += 1
        self.intervals[tag].failed += 1
        self.causes[cause] += 1
        self._note_failures(int(sent // SERIES_SECONDS), cause, 1)

    def _note_failures(self, window: int, cause: str, number: int) -> None:
        causes = self.failures.setdefault(window, {})
        causes[cause] = causes.get(cause, 0) + number

    def answer(
        self, *, sent: float, now: float, tag: int, network: float, work: float, waiting: float, disruption: float
    ) -> None:
        """A request has its answer; the parts say what the time from `sent` to `now` went into."""
        if sent < self._warmup:
            return
        self.outstanding -= 1
        interval = self.intervals[tag]
        seconds = now - sent
        interval.samples.add(seconds)
        interval.spectrum.add(seconds, network, work, waiting, disruption)
        window = int(sent // SERIES_SECONDS)
        values = self._windows.get(window)
        if values is None:
            if window < self._flushed:
                return
            values = self._windows[window] = array("d")
        values.append(seconds)

    def flush(self, before: float) -> None:
        """Turn the windows that ended before this time into points of the series."""
        last = int(before // SERIES_SECONDS)
        for window in sorted(each for each in self._windows if each < last):
            values = np.frombuffer(self._windows.pop(window))
            self.series.append((window * SERIES_SECONDS, float(np.quantile(values, 0.95))))
            self.totals.append((window * SERIES_SECONDS, len(values), float(values.sum())))
        self._flushed = max(self._flushed, last)

    @property
    def samples(self) -> Samples:
        """All phases' response times: as exact as theirs."""
        joined = Samples(exact=sum(len(interval.samples) for interval in self.intervals) + 1)
        for interval in self.intervals:
            joined.take_over(interval.samples)
        return joined

    @property
    def spectrum(self) -> Spectrum:
        """What all phases' response times consist of."""
        joined = Spectrum()
        for interval in self.intervals:
            joined.take_over(interval.spectrum)
        return joined

    def close(self) -> None:
        """Whatever is still unanswered has failed."""
        self.failed += self.outstanding
        self.causes[UNANSWERED] += self.outstanding
        if self.outstanding:  # when they were sent is not kept; they are seen at the end
            self._note_failures(max([self._flushed, *self._windows, *self.failures]), UNANSWERED, self.outstanding)
        for interval in self.intervals:
            interval.failed += interval.sent - interval.failed - interval.samples.count
        self.outstanding = 0
        self.flush(float("1e18"))
