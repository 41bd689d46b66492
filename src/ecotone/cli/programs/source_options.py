"""Options of the programs that ask a Prometheus: whose series are believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ecotone.model.errors import InputError

if TYPE_CHECKING:
    from ecotone.telemetry.refs import Ref
    from ecotone.telemetry.sources.speakers import Trust

TrustPrometheus = Annotated[
    bool,
    typer.Option(
        "--trust-prometheus/--no-trust-prometheus",
        help="Believe every series: no tenant can add targets or rules to this Prometheus.",
    ),
]
Reporter = Annotated[
    list[str] | None,
    typer.Option(
        "--reporter",
        metavar="NAMESPACE/WORKLOAD",
        help="A workload that reports for others: node-exporter, ztunnel, a waypoint, a collector. Repeat, or part by commas.",
    ),
]
Probe = Annotated[
    str,
    typer.Option(
        "--probe", metavar="NAMESPACE/WORKLOAD", help="The probe's DaemonSet; its series alone are round trips."
    ),
]
PROBE = "kube-system/ecotone-probe"


def trust(everything: bool, reporters: Sequence[str] | None, probe: str = PROBE) -> Trust:
    from ecotone.telemetry.sources.speakers import Trust

    several = [part for each in reporters or () for part in each.split(",") if part]
    listed = frozenset(_workload("--reporter", each) for each in several)
    return Trust(everything=everything, reporters=listed, probe=_workload("--probe", probe))


def _workload(option: str, text: str) -> Ref:
    from ecotone.telemetry.refs import Ref

    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise InputError(
            f"{option} {text!r}: a workload is expected", hint="NAMESPACE/WORKLOAD, such as monitoring/node-exporter"
        )
    return Ref(namespace, name)
