"""Names of workloads and pods, as every part of telemetry uses them."""

from __future__ import annotations

from typing import NamedTuple


class Ref(NamedTuple):
    """A workload; users who enter at a node are the workload ``users@NODE`` without a namespace."""

    namespace: str
    name: str


class Place(NamedTuple):
    """A pod's workload and node."""

    workload: Ref
    node: str
