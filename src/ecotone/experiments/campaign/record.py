"""What one simulated run has to say, as a typed record and as the JSON of `simulate -o json`.

Records are kept between sweeps, so a file that is not a whole record of this version must not pass for one: decoding checks
every field. Numbers are whole where they are whole, so that a run taken from a file gives the same bytes as a fresh one.
"""

from __future__ import annotations

from typing import Any

import msgspec

Number = int | float
Breakdown = dict[str, Number | None]  # part of the response time -> mean milliseconds


class ResponseTimes(msgspec.Struct, frozen=True):
    """Of the answered requests, in milliseconds."""

    mean: Number | None
    p50: Number | None
    p95: Number | None
    p99: Number | None


class Phase(msgspec.Struct, frozen=True, rename={"sources": "from"}):
    """One entry of the scenario's load: which API was called, from where, and how it went."""

    at: Number | None
    entry: str
    sources: list[str]
    requests: int
    failed: int
    mean_ms: Number | None
    p95_ms: Number | None
    breakdown_ms: Breakdown


class Move(msgspec.Struct, frozen=True, rename={"origin": "from", "target": "to"}):
    """One eviction and where the replacement went."""

    at: Number | None
    pod: str
    service: str
    origin: str
    target: str
    why: str


class Placed(msgspec.Struct, frozen=True):
    """One bind: which pod went where, and why."""

    at: Number | None
    pod: str
    service: str
    node: str
    why: str


class Talk(msgspec.Struct, frozen=True, rename={"origin": "from", "target": "to"}):
    """What went from one node to another in the whole run."""

    origin: str
    target: str
    calls: int
    bytes: Number | None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One policy in one trial."""

    policy: str
    trial: int
    requests: int
    failed: int
    response_ms: ResponseTimes
    p95_with_failures_ms: Number | None
    breakdown_ms: Breakdown
    p95_breakdown_ms: Breakdown
    breakdown_with_failures_ms: Breakdown
    failures: dict[str, int]
    series: list[tuple[Number | None, Number | None]]
    intervals: list[Phase]
    evictions: int
    preemptions: int
    lost_to_evictions: int
    failures_series: list[tuple[Number | None, dict[str, int]]]
    """Failures by cause in each 15 s in which there were any, by when the requests were sent."""
    quantiles_ms: list[tuple[Number | None, Number | None]]
    """The distribution of the response times: share of the requests, and the time they took at most."""
    moves: list[Move]
    binds: list[Placed]
    talk: list[Talk]
    cost_per_hour: Number | None
    """Of the nodes that hold pods, the mean over time; null where nodes have no price."""
    unplaced: list[str]
    placement: list[tuple[Number | None, dict[str, dict[str, int]]]]
    utilisation: dict[str, Number | None]
    phases: list[tuple[Number | None, dict[str, int]]] = []
    """Beside the placement, where some pods were not ready: how many were pending, pulling, starting or unreachable."""
    settled_mean_ms: Number | None = None
    """Mean response time without the first two minutes of each phase, in which nobody can know yet."""
    edge_latency_ms: Number | msgspec.UnsetType | None = msgspec.UNSET
    """Only where the scenario has QoS targets."""

    def renamed(self, policy: str) -> Run:
        """The same run under another name, where two of one name are compared."""
        return msgspec.structs.replace(self, policy=policy)

    def plain(self) -> dict[str, Any]:
        """As `simulate -o json` prints it."""
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return document
