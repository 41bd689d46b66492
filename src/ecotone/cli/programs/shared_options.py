"""Options that several long-running programs have, in the words that the scheduler's fields give them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from ecotone.cli.programs.scheduler_options import SchedulerOptions

_FIELDS = {each.name: each for each in fields(SchedulerOptions)}


def _told(name: str) -> Any:
    """The option of this field; where it is left out, the program's own default holds."""
    told = _FIELDS[name].metadata
    return typer.Option(*told["names"], help=told["help"], min=told["min"])


Kubeconfig = Annotated[str | None, _told("kubeconfig")]
Context = Annotated[str | None, _told("context")]
Listen = Annotated[str | None, _told("listen")]
Verbose = Annotated[bool, _told("verbose")]
LeaderElect = Annotated[bool, _told("leader_elect")]
LeaseDuration = Annotated[float, _told("lease_duration")]
LeaseRenewDeadline = Annotated[float, _told("lease_renew_deadline")]
LeaseRetryPeriod = Annotated[float, _told("lease_retry_period")]
WatchSilence = Annotated[float, _told("watch_silence")]
TrustAnnotations = Annotated[
    bool,
    typer.Option(
        "--trust-annotations",
        help="Believe measured keys without the admission policy that keeps them for the monitor.",
    ),
]
AllowHost = Annotated[list[str] | None, _told("allow_host")]
MetricsTokenFile = Annotated[
    Path | None,
    typer.Option(
        "--metrics-token-file",
        help="Token of those who read /metrics with the names of applications; others get sums without names.",
    ),
]


def metrics_token(path: Path | None) -> str | None:
    from ecotone.services.http.tokens import read_token

    return None if path is None else read_token(path, option="--metrics-token-file")
