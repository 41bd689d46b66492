"""The horizontal pod autoscaler: what pods do in, replicas out.

As Kubernetes computes it: desired = ceil(current x figure / target), nothing within a tolerance of 10 %, pods that are not
ready counted as idle when scaling up and left out when scaling down, at most doubling or four pods more per 15 s, and
scaling down only to the highest recommendation of the last five minutes, or whatever window its `behavior` names. The
figure is CPU as a share of the request, or requests per second (a metric of type Pods).
"""

from __future__ import annotations

from collections import deque
from math import ceil

from ecotone.sim.scenario.schema import Autoscale

PERIOD = 15.0
TOLERANCE = 0.1


class Autoscaler:
    """One Deployment's autoscaler."""

    def __init__(self, settings: Autoscale, *, request: float) -> None:
        self._settings = settings
        by_requests = settings.requests is not None
        self._target = settings.requests or 0.0 if by_requests else request * (settings.cpu or 0.0)
        self._recommended: deque[tuple[float, int]] = deque()

    def replicas(self, now: float, *, current: int, usage: float | None, ready: int) -> int:
        """How many there should be, given what a ready pod does on average: millicores, or requests per second."""
        settings = self._settings
        desired = self._desired(current, usage, ready)
        desired = min(max(desired, settings.least), settings.most)
        self._recommended.append((now, desired))
        while self._recommended[0][0] < now - settings.settle:
            self._recommended.popleft()
        if desired < current:
            desired = min(current, max(count for _, count in self._recommended))
        elif desired > current:
            desired = min(desired, max(2 * current, current + 4))
        return min(max(desired, settings.least), settings.most)

    def _desired(self, current: int, usage: float | None, ready: int) -> int:
        if usage is None or ready == 0 or self._target <= 0 or current == 0:
            return current
        ratio = usage / self._target
        if abs(ratio - 1.0) <= TOLERANCE + 1e-9:
            return current
        if ratio > 1.0 and ready < current:
            ratio = ratio * ready / current  # those not ready yet count as idle
            if ratio <= 1.0 + TOLERANCE:
                return current
            return ceil(ratio * current)
        return ceil(ratio * ready)
