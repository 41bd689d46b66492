"""Counters, gauges and histograms that are only numbers until somebody reads them.

prometheus_client takes longer to load than a hundred pods take to be bound, and nobody reads metrics before the first pod
is. So what is counted is kept here, with the client's own words (`labels`, `inc`, `set`, `observe`), and the client is
loaded by the first reader: it asks for every figure and writes them in the format that was asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Figure = TypeVar("Figure")


class Number:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        self.value += amount

    def set(self, value: float) -> None:
        self.value = float(value)


class Distribution:
    """How many observations were at most each bound, and their sum; the last count is of those beyond every bound."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        found, so_far = [], 0
        for bound, count in zip([*map(str, map(float, self._bounds)), "+Inf"], self.counts, strict=True):
            so_far += count
            found.append((bound, float(so_far)))
        return found


class Family(Generic[Figure]):
    """One name, and a figure for each combination of label values that was met."""

    def __init__(self, name: str, help_: str, labels: Sequence[str], make: Callable[[], Figure]) -> None:
        self.name = name
        self.help = help_
        self.label_names = tuple(labels)
        self._make = make
        self._figures: dict[tuple[str, ...], Figure] = {}

    def labels(self, *values: str) -> Figure:
        found = self._figures.get(values)
        if found is None:
            found = self._figures[values] = self._make()
        return found

    def figures(self) -> list[tuple[tuple[str, ...], Figure]]:
        return list(self._figures.items())


class Instruments:
    """The figures of one program, and the registry that a reader gets them from."""

    def __init__(self) -> None:
        self._numbers: list[tuple[bool, Family[Number]]] = []
        self._distributions: list[Family[Distribution]] = []
        self._registry: CollectorRegistry | None = None

    def counters(self, name: str, help_: str, labels: Sequence[str] = ()) -> Family[Number]:
        return self._family(True, Family(name, help_, labels, Number))

    def counter(self, name: str, help_: str) -> Number:
        return self.counters(name, help_).labels()

    def gauges(self, name: str, help_: str, labels: Sequence[str] = ()) -> Family[Number]:
        return self._family(False, Family(name, help_, labels, Number))

    def gauge(self, name: str, help_: str) -> Number:
        return self.gauges(name, help_).labels()

    def _family(self, counts: bool, family: Family[Number]) -> Family[Number]:
        self._numbers.append((counts, family))
        return family

    def histograms(
        self, name: str, help_: str, labels: Sequence[str] = (), *, buckets: Sequence[float]
    ) -> Family[Distribution]:
        bounds = tuple(map(float, buckets))
        family = Family(name, help_, labels, lambda: Distribution(bounds))
        self._distributions.append(family)
        return family

    def histogram(self, name: str, help_: str, *, buckets: Sequence[float]) -> Distribution:
        return self.histograms(name, help_, buckets=buckets).labels()

    @property
    def registry(self) -> CollectorRegistry:
        """For whoever reads; this loads the client."""
        if self._registry is None:
            from prometheus_client import CollectorRegistry
            from prometheus_client.registry import Collector

            class Reader(Collector):
                def __init__(self, collect: Callable[[], Iterator[Any]]) -> None:
                    self._collect = collect

                def collect(self) -> Iterator[Any]:
                    return self._collect()

            self._registry = CollectorRegistry()
            self._registry.register(Reader(self._collect))
        return self._registry

    def _collect(self) -> Iterator[Any]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for counts, family in self._numbers:
            shape = CounterMetricFamily if counts else GaugeMetricFamily
            shown = shape(family.name, family.help, labels=family.label_names)
            for values, number in family.figures():
                shown.add_metric(values, number.value)
            yield shown
        for told in self._distributions:
            spread = HistogramMetricFamily(told.name, told.help, labels=told.label_names)
            for values, distribution in told.figures():
                spread.add_metric(values, buckets=distribution.buckets(), sum_value=distribution.total)
            yield spread
