"""The AppGroups of the cluster, as their watch tells them: whose applications are corrected, and what they say of it."""

from __future__ import annotations

from collections.abc import KeysView
from typing import Any

import msgspec

from ecotone.manifests import wire
from ecotone.manifests.times import parse_time
from ecotone.model.errors import InputError
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.services.monitor.conditions import DATA_FRESH, FILLING


class LiveMetadata(wire.Metadata):
    generation: int = 0


class LiveAppGroup(wire.AppGroup, kw_only=True):
    """With the status, in which the descheduler remembers."""

    metadata: LiveMetadata
    status: dict[str, Any] = msgspec.field(default_factory=dict)


class Groups:
    """A mirror's sink; ``scheduler_names``: pods of these schedulers alone are moved."""

    def __init__(self, scheduler_names: frozenset[str]) -> None:
        self._names = scheduler_names
        self._known: dict[str, LiveAppGroup] = {}
        self._percentiles: dict[str, float] = {}

    def upsert(self, item: LiveAppGroup) -> None:
        self._known[f"{item.metadata.namespace}/{item.metadata.name}"] = item

    def remove(self, key: str, uid: str) -> None:
        del uid
        self._known.pop(key, None)
        self._percentiles.pop(key, None)

    def synced(self) -> None:
        return

    def all(self) -> list[tuple[str, LiveAppGroup]]:
        return sorted(self._known.items())

    def keys(self) -> KeysView[str]:
        return self._known.keys()

    def status(self, key: str) -> dict[str, Any]:
        known = self._known.get(key)
        return {} if known is None else known.status

    def conditions(self, key: str) -> list[dict[str, Any]]:
        """Those of the status; whatever else somebody wrote there is none."""
        written = self.status(key).get("conditions")
        return [one for one in written if isinstance(one, dict)] if isinstance(written, list) else []

    def filling_since(self, key: str) -> float | None:
        """Since when the monitor has been waiting for the first figures to fill their window; None if it does not."""
        told = next((one for one in self.conditions(key) if one.get("type") == DATA_FRESH), {})
        if told.get("status") != "False" or told.get("reason") != FILLING:
            return None
        try:
            return parse_time(str(told.get("lastTransitionTime")))
        except InputError:
            return None

    def differs(self, key: str, status: dict[str, Any]) -> bool:
        """True if the status says anything new; other writers' fields are theirs."""
        known = self.status(key)
        told = {str(one.get("type")): one for one in self.conditions(key)}
        if any(told.get(one["type"]) != one for one in status["conditions"]):
            return True
        return any(known.get(name) != value for name, value in status.items() if name != "conditions")

    def scheduler_names(self, settings: DeschedulerSettings) -> frozenset[str]:
        """Only a scheduler of ours honours reservations; a profile may name fewer."""
        return self._names if settings.scheduler_names is None else settings.scheduler_names & self._names

    def measured(self, key: str, percentile_ms: float | None) -> None:
        """What users of that application see now; None if it is not known."""
        if percentile_ms is None:
            self._percentiles.pop(key, None)
        else:
            self._percentiles[key] = percentile_ms

    def slo_met(self, group: wire.AppGroup) -> bool | None:
        """None if it cannot be told."""
        seen = self._percentiles.get(f"{group.metadata.namespace}/{group.metadata.name}")
        if seen is None or group.spec.slo is None:
            return None
        return seen <= group.spec.slo.milliseconds
