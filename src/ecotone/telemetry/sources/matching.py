"""Label matchers that name targets, so that a question touches the series of these and of few others."""

from __future__ import annotations

from collections.abc import Iterable

from ecotone.telemetry.promql import any_of, quoted
from ecotone.telemetry.sources.ledger import Writer

INSTANCES = 300
"""Above so many targets of one job they are not named one by one; who is who is told by the answer."""


def matchers(writers: Iterable[Writer]) -> list[str]:
    """One for the targets of each job and namespace label."""
    jobs: dict[tuple[str, str | None], set[str]] = {}
    for writer in writers:
        labels = writer.fixed.labels
        if "job" in labels and "instance" in labels:
            namespace = None if writer.fixed.may_drop else labels.get("namespace")
            jobs.setdefault((labels["job"], namespace), set()).add(labels["instance"])
    return [_matcher(job, namespace, instances) for (job, namespace), instances in sorted(jobs.items(), key=str)]


def _matcher(job: str, namespace: str | None, instances: set[str]) -> str:
    parts = [f"job={quoted(job)}"]
    if namespace is not None:
        parts.append(f"namespace={quoted(namespace)}")
    if len(instances) <= INSTANCES:
        parts.append(f"instance=~{any_of(sorted(instances))}")
    return ",".join(parts)
