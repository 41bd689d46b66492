"""The descheduler's metrics."""

from __future__ import annotations

from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge


class DeschedulerMetrics:
    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        labels = ["namespace", "app_group"]
        self.rounds = Counter("ecotone_descheduler_rounds", "Rounds by result.", ["result"], registry=registry)
        self.moves = Counter("ecotone_descheduler_moves", "Pods moved.", labels, registry=registry)
        self.predicted = Counter(
            "ecotone_descheduler_predicted_gain",
            "Gain promised by moves, in the policy's unit.",
            labels,
            registry=registry,
        )
        self.measured = Counter(
            "ecotone_descheduler_measured_gain",
            "Gain found after moves, in the policy's unit.",
            labels,
            registry=registry,
        )
        self.outcomes = Counter("ecotone_descheduler_outcomes", "What became of moves.", ["outcome"], registry=registry)
        self.refusals = Counter(
            "ecotone_descheduler_refusals", "Moves that were decided and not made.", ["reason"], registry=registry
        )
        self.swept = Counter(
            "ecotone_descheduler_reservations_swept", "Reservations removed as orphans.", registry=registry
        )
        self.breaker = Gauge(
            "ecotone_descheduler_breaker_open",
            "1 while an application's breaker is open.",
            ["app_group"],
            registry=registry,
        )
        self.leader = Gauge("ecotone_descheduler_leader", "1 while this replica leads.", registry=registry)
        self._names: dict[str, tuple[str, str]] = {}

    def known_as(self, key: str, *, namespace: str, app_group: str) -> None:
        """Under which labels this AppGroup is counted from now on."""
        if self._names.get(key, (namespace, app_group)) != (namespace, app_group):
            self.forget(key)
        self._names[key] = (namespace, app_group)

    def forget(self, key: str) -> None:
        """Drops the series of an AppGroup that is gone: who creates many must not fill the memory with them."""
        with suppress(KeyError):
            self.breaker.remove(key)
        labels = self._names.pop(key, None)
        if labels is not None:
            for each in (self.moves, self.predicted, self.measured):
                with suppress(KeyError):
                    each.remove(*labels)
