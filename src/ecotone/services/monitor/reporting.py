"""Conditions and Events: what a person sees of a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecotone.kube.resources import Resource
from ecotone.kube.writing.events import EventRecorder, Regarding
from ecotone.services.monitor.conditions import OVERLAPPING, Condition, changed, merged, turned
from ecotone.services.monitor.watched import AppGroup, Cluster
from ecotone.services.monitor.writer import Writer


class Reporter:
    def __init__(self, writer: Writer, recorder: EventRecorder) -> None:
        self._writer = writer
        self._recorder = recorder

    async def report(
        self,
        resource: Resource,
        subject: Cluster | AppGroup,
        found: Sequence[Condition],
        *,
        now: float,
        figures: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Writes the status if it says anything new, and an Event for each condition that turned.

        ``figures`` is what stands in for annotations in a large group. They are part of every write, since what an apply
        leaves out is removed.
        """
        meta, written = subject.metadata, subject.status
        wanted = merged(written.conditions, found, generation=meta.generation, now=now)
        for each in turned(written.conditions, wanted):
            bad = (each["status"] != "True") != (each["type"] == OVERLAPPING)
            self._recorder.event(
                Regarding(resource.kind, meta.namespace, meta.name, meta.uid, resource.api_version),
                reason=str(each["type"]) if each["status"] == "True" else f"Not{each['type']}",
                action="Monitor",
                note=f"{each['reason']}: {each['message']}" if each["message"] else str(each["reason"]),
                warning=bad,
            )
        stale = written.observed_generation != meta.generation
        if stale or changed(written.conditions, wanted) or (figures or {}) != written.workloads:
            status: dict[str, Any] = {"observedGeneration": meta.generation, "conditions": wanted}
            if figures:
                status["workloads"] = figures
            await self._writer.status(resource, meta, status)
