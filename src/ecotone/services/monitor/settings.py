"""What a monitor is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field

from ecotone.kube.lease import LeaseTimes
from ecotone.services.monitor.annotations import Rules
from ecotone.telemetry.prometheus import PrometheusSettings
from ecotone.telemetry.sources.speakers import Trust
from ecotone.telemetry.window import DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    prometheus: PrometheusSettings
    identity: str
    cluster: bool = True
    applications: bool = True
    window: float = DEFAULT_WINDOW
    rules: Rules = field(default_factory=Rules)
    workload_writes_per_second: float = 5.0
    node_writes_at_once: int = 16
    leader_elect: bool = False
    lease: LeaseTimes = field(default_factory=LeaseTimes)
    lease_namespace: str = "kube-system"
    lease_name: str = "ecotone-monitor"
    silence: float = 150.0
    trust: Trust = field(default_factory=Trust)
    """Who is believed about what."""
    metrics_token: str | None = None
    """Of those who read metrics with the names of what is measured."""
