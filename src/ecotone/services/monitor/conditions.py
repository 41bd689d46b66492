"""Conditions of a Cluster's or AppGroup's status. Pure.

A condition's time changes only with its status, and a status that says the same as the one that is written is not
written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.manifests.times import show_time

PROMETHEUS_REACHABLE = "PrometheusReachable"
DATA_FRESH = "DataFresh"
READY = "Ready"
QUERIES_VALID = "QueriesValid"
OVERLAPPING = "Overlapping"
SOURCES_KNOWN = "SourcesKnown"
"""False while series are left out since nobody can tell who exposed them."""
OURS = (READY, PROMETHEUS_REACHABLE, SOURCES_KNOWN, DATA_FRESH, QUERIES_VALID, OVERLAPPING)
FILLING = "Filling"
"""The reason while series are too young for their window."""
MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: bool | None
    """None is Unknown."""
    reason: str
    message: str = ""

    @property
    def text(self) -> str:
        return {True: "True", False: "False", None: "Unknown"}[self.status]


def merged(
    written: Sequence[Mapping[str, Any]], found: Sequence[Condition], *, generation: int, now: float
) -> list[dict[str, Any]]:
    """The conditions to write, with the time of the last change kept where nothing changed."""
    before = {str(each.get("type")): each for each in written}
    result = []
    for each in found:
        old = before.get(each.type, {})
        same = old.get("status") == each.text
        result.append(
            {
                "type": each.type,
                "status": each.text,
                "reason": each.reason,
                "message": each.message[:MESSAGE_LIMIT],
                "observedGeneration": generation,
                "lastTransitionTime": old["lastTransitionTime"]
                if same and old.get("lastTransitionTime")
                else show_time(int(now)),
            }
        )
    return result


def changed(written: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the conditions that say something else than what is written; others' conditions do not count."""
    before = {str(each.get("type")): each for each in written}
    return [str(each["type"]) for each in wanted if before.get(str(each["type"])) != each]


def turned(written: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The conditions whose status is another one now: worth an Event. A first True is not."""
    before = {str(each.get("type")): each.get("status") for each in written}
    return [
        each
        for each in wanted
        if before.get(str(each["type"])) != each["status"] and (str(each["type"]) in before or each["status"] != "True")
    ]
