"""Queries of one's own, given in an AppGroup instead of a dialect's.

A query must answer an instant vector with the labels that say whose value it is. It is checked before use: its name, its
length, and, by one evaluation, whether this Prometheus takes it and what labels it answers with. `$window` and
`$namespace` stand for the window and the (quoted) namespace.
"""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.model.errors import InputError, did_you_mean
from ecotone.telemetry.dialects.base import Directory, Pair, Pairs, collected, users_at
from ecotone.telemetry.families import Reading, Readings
from ecotone.telemetry.prometheus import Failure, Source
from ecotone.telemetry.promql import quoted
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.samples import Sample
from ecotone.telemetry.window import promql_duration

LABELS = {
    "cpu": ("namespace", "pod"),
    "memory": ("namespace", "pod"),
    "bytes": ("source", "destination"),
    "requests": ("source", "destination"),
}
LENGTH = 4_096


def check_queries(queries: Mapping[str, str]) -> None:
    """InputError for an unknown name, or a text that is empty or too long."""
    for name, text in queries.items():
        if name not in LABELS:
            hint = did_you_mean(name, LABELS) or "one of " + ", ".join(LABELS)
            raise InputError(f"queries: unknown name {name!r}", hint=hint)
        if not text.strip() or len(text) > LENGTH:
            raise InputError(f"queries.{name}: between 1 and {LENGTH} characters are expected")


def filled_in(text: str, *, window: float, namespace: str) -> str:
    return text.replace("$window", promql_duration(window)).replace("$namespace", quoted(namespace))


async def read_own(
    source: Source, name: str, text: str, *, window: float, at: float, namespace: str
) -> Readings | Failure | InputError:
    """The answer now, of those groups that a window ago had an answer too."""
    promql = filled_in(text, window=window, namespace=namespace)
    now = await source.query(promql, at=at, asker=namespace)
    before = now if isinstance(now, Failure) else await source.query(promql, at=at - window, asker=namespace)
    if isinstance(now, Failure) or isinstance(before, Failure):
        failure = now if isinstance(now, Failure) else before
        assert isinstance(failure, Failure)
        return InputError(f"queries.{name}: {failure.message}") if failure.ours else failure
    missing = _missing(name, now)
    if missing:
        return InputError(f"queries.{name}: its answer lacks the label {missing!r}", hint="group by it")
    known = {_key(each) for each in before}
    values = [Reading(each.labels, each.value, at) for each in now if _key(each) in known and each.value >= 0]
    return Readings(values, young=len(now) - len(values))


def _missing(name: str, samples: list[Sample]) -> str | None:
    return next((label for each in samples for label in LABELS[name] if not each.labels.get(label)), None)


def _key(sample: Sample) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(sample.labels.items()))


def own_pairs(readings: list[Reading], *, namespace: str, directory: Directory) -> Pairs:
    """Rates per pair: labels `source`, `destination`, optionally their `..._namespace`, and `node` for users."""

    def pair(reading: Reading) -> Pair | None:
        labels = reading.labels
        source = Ref(labels.get("source_namespace") or namespace, labels.get("source", ""))
        target = Ref(labels.get("destination_namespace") or namespace, labels.get("destination", ""))
        if not directory.exists(target):
            return None
        if source.name == "users" and labels.get("node"):
            return users_at(labels["node"]), target
        return (source, target) if directory.exists(source) else None

    return collected((pair(each), each) for each in readings)
