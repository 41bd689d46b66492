"""A cluster small enough to write down, as dialects see it."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.telemetry.dialects.base import Place, Ref

PODS = {
    ("shop", "web-1"): Place(Ref("shop", "web"), "edge-1"),
    ("shop", "db-0"): Place(Ref("shop", "db"), "cloud-1"),
    ("ecotone", "entry-a"): Place(Ref("ecotone", "entry"), "edge-1"),
    ("ecotone", "entry-b"): Place(Ref("ecotone", "entry"), "edge-2"),
    ("bank", "ledger-0"): Place(Ref("bank", "ledger"), "cloud-1"),
}
PROXY = Ref("ecotone", "entry")


class Town:
    def pod(self, namespace: str, name: str) -> Place | None:
        return PODS.get((namespace, name))

    def exists(self, workload: Ref) -> bool:
        return any(place.workload == workload for place in PODS.values())

    def lets_users_in(self, workload: Ref) -> bool:
        return workload == PROXY

    def input_proxies(self) -> Sequence[Ref]:
        return [PROXY]
