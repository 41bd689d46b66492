"""What a probe is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ecotone.services.probe.choosing import ALL, SAMPLE


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    node: str
    listen: str
    peer_port: int
    targets: Path | None = None
    namespace: str = ""
    selector: str = "app.kubernetes.io/name=ecotone-probe"
    interval: float = 5.0
    """Seconds in which every target is probed ``count`` times."""
    count: int = 5
    rate: float = 200.0
    """Probes a second at most, over all targets."""
    timeout: float = 2.0
    icmp: bool = True
    bandwidth_interval: float = 600.0
    """Seconds between two transfers; each goes to the next target in turn. 0 switches them off."""
    bandwidth_bytes: int = 1 << 20
    most: int = ALL
    sample: int = SAMPLE
