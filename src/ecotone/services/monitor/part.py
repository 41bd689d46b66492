"""What both parts of the monitor are made of: where figures come from, where they go, and what was learnt of the series.

The windows are kept from cycle to cycle, since a series that is too young for its window now will not be later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from ecotone.services.monitor.annotations import Rules
from ecotone.services.monitor.metrics import MonitorMetrics
from ecotone.services.monitor.reading import Windows
from ecotone.services.monitor.reporting import Reporter
from ecotone.services.monitor.watched import Watched
from ecotone.services.monitor.writer import Writer
from ecotone.telemetry.sources.reader import Reader


class Part:
    def __init__(
        self,
        reader: Reader,
        watched: Watched,
        writer: Writer,
        reporter: Reporter,
        metrics: MonitorMetrics,
        *,
        window: float,
        rules: Rules,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._reader = reader
        self._watched = watched
        self._writer = writer
        self._reporter = reporter
        self._metrics = metrics
        self._window = window
        self._rules = rules
        self._clock = clock
        self._windows: dict[str, Windows] = {}

    def forget(self, names: Iterable[str]) -> None:
        """Drops what was learnt for resources that are gone; ``names`` are those that are there."""
        for gone in set(self._windows) - set(names):
            del self._windows[gone]
