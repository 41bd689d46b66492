"""Figures without the names of tenants, for readers who have not shown that they may know them.

What an application is called, and how often its pods move, is its owner's business. A reader without the token therefore gets
the same metrics with the labels that name namespaces, app-groups and custom resources taken off: counts are summed, and of
gauges the largest is told, which is what alerts and dashboards ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

NAMES = frozenset({"namespace", "app_group", "name"})


class Nameless(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            told = Metric(family.name, family.documentation, family.type, family.unit)
            told.samples = folded(family.samples, largest=family.type == "gauge")
            yield told


def folded(samples: Iterable[Sample], *, largest: bool) -> list[Sample]:
    """Samples that differ in nothing but names, as one."""
    together: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for sample in samples:
        kept = tuple((label, value) for label, value in sample.labels.items() if label not in NAMES)
        key = (sample.name, kept)
        if key not in together:
            together[key] = sample.value
        elif sample.name.endswith("_created"):  # a time: since when something was counted
            together[key] = min(together[key], sample.value)
        else:
            together[key] = max(together[key], sample.value) if largest else together[key] + sample.value
    return [Sample(name, dict(labels), value) for (name, labels), value in together.items()]
