"""How service meshes and tracers count: one module per dialect, chosen by name or by what a Prometheus has."""

from __future__ import annotations

from ecotone.model.errors import InputError, did_you_mean
from ecotone.telemetry.dialects.base import Dialect, Directory
from ecotone.telemetry.dialects.envoy import Envoy
from ecotone.telemetry.dialects.istio import Istio
from ecotone.telemetry.dialects.opentelemetry import OpenTelemetry
from ecotone.telemetry.prometheus import Failure
from ecotone.telemetry.sources.reader import Reader

AUTO = "auto"
NAMES = ("istio", "envoy", "opentelemetry")


def dialect(name: str, *, namespace: str) -> Dialect:
    match name:
        case "istio":
            return Istio()
        case "envoy":
            return Envoy()
        case "opentelemetry":
            return OpenTelemetry(namespace)
    raise InputError(f"unknown dialect {name!r}", hint=did_you_mean(name, NAMES) or "one of " + ", ".join(NAMES))


async def detect(reader: Reader, directory: Directory, *, namespace: str, at: float) -> str | Failure | None:
    """The first dialect that this namespace has series of, the most telling first; None if there is none."""
    for name in NAMES:
        for family in dialect(name, namespace=namespace).presence(namespace, directory):
            there = await reader.present(family, at=at, asker=namespace)
            if isinstance(there, Failure):
                return there
            if there:
                return name
    return None
