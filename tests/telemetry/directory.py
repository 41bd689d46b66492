"""A cluster small enough to write down, as dialects see it."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.telemetry.refs import Place, Ref
from ecotone.telemetry.sources.speakers import Inhabitant

PODS = {
    ("shop", "web-1"): Place(Ref("shop", "web"), "edge-1"),
    ("shop", "db-0"): Place(Ref("shop", "db"), "cloud-1"),
    ("ecotone", "entry-a"): Place(Ref("ecotone", "entry"), "edge-1"),
    ("ecotone", "entry-b"): Place(Ref("ecotone", "entry"), "edge-2"),
    ("bank", "ledger-0"): Place(Ref("bank", "ledger"), "cloud-1"),
}
KUBELETS = {"10.0.0.1": "edge-1", "10.0.0.2": "edge-2", "10.0.0.3": "cloud-1"}
PROXY = Ref("ecotone", "entry")


ADDRESSES = {name: f"10.1.0.{number}" for number, name in enumerate(PODS, start=1)}


class Town:
    def inhabitant(self, namespace: str, pod: str) -> Inhabitant | None:
        place = PODS.get((namespace, pod))
        return place and Inhabitant(place.workload, place.node, (ADDRESSES[namespace, pod],))

    def kubelet_at(self, host: str, port: int) -> str | None:
        return KUBELETS.get(host) if port == 10250 else None

    def has_node(self, name: str) -> bool:
        return name in KUBELETS.values()

    def pod(self, namespace: str, name: str) -> Place | None:
        return PODS.get((namespace, name))

    def exists(self, workload: Ref) -> bool:
        return any(place.workload == workload for place in PODS.values())

    def lets_users_in(self, workload: Ref) -> bool:
        return workload == PROXY

    def input_proxies(self) -> Sequence[Ref]:
        return [PROXY]
