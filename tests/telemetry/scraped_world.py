"""Two tenants, a stranger, probes and exporters, scraped by a Prometheus in memory; and a reader that asks it."""

from __future__ import annotations

import asyncio
from typing import Any

from ecotone.telemetry import nodes
from ecotone.telemetry.dialects.base import Rates
from ecotone.telemetry.dialects.envoy import Envoy
from ecotone.telemetry.dialects.istio import Istio
from ecotone.telemetry.families import Family, Readings
from ecotone.telemetry.nodes import Matcher, NodeFigures, NodeIdentity, node_figures
from ecotone.telemetry.prometheus import Failure
from ecotone.telemetry.refs import Place, Ref
from ecotone.telemetry.sources.reader import Reader, Tally
from ecotone.telemetry.sources.speakers import Inhabitant, Trust
from telemetry.scraped import Scrape, Scraped

PODS = {
    ("shop", "web-1"): (Place(Ref("shop", "web"), "edge-1"), "10.1.0.1"),
    ("shop", "db-0"): (Place(Ref("shop", "db"), "edge-2"), "10.1.0.2"),
    ("bank", "ledger-0"): (Place(Ref("bank", "ledger"), "edge-2"), "10.1.0.3"),
    ("evil", "mallory"): (Place(Ref("evil", "mallory"), "edge-1"), "10.1.0.66"),
    ("kube-system", "probe-1"): (Place(Ref("kube-system", "ecotone-probe"), "edge-1"), "10.1.0.11"),
    ("kube-system", "probe-2"): (Place(Ref("kube-system", "ecotone-probe"), "edge-2"), "10.1.0.12"),
    ("monitoring", "exporter-1"): (Place(Ref("monitoring", "node-exporter"), "edge-1"), "10.0.0.1"),
    ("monitoring", "exporter-2"): (Place(Ref("monitoring", "node-exporter"), "edge-2"), "10.0.0.2"),
    ("mesh", "ztunnel-1"): (Place(Ref("mesh", "ztunnel"), "edge-1"), "10.1.0.21"),
}
REPORTERS = frozenset({Ref("monitoring", "node-exporter"), Ref("mesh", "ztunnel")})
NODES = Matcher([NodeIdentity("edge-1", ("10.0.0.1",), cpu=4.0), NodeIdentity("edge-2", ("10.0.0.2",), cpu=4.0)])
KUBELETS = {"10.0.0.1": "edge-1", "10.0.0.2": "edge-2"}

WEB, DB, LEDGER, MALLORY = Ref("shop", "web"), Ref("shop", "db"), Ref("bank", "ledger"), Ref("evil", "mallory")
WINDOW = 60.0


class Cluster:
    def inhabitant(self, namespace: str, pod: str) -> Inhabitant | None:
        if (namespace, pod) not in PODS:
            return None
        place, address = PODS[namespace, pod]
        on_node = namespace == "monitoring"
        return Inhabitant(place.workload, place.node, (address,), on_node_network=on_node, ports=(9100,))

    def kubelet_at(self, host: str, port: int) -> str | None:
        return KUBELETS.get(host) if port == 10250 else None

    def has_node(self, name: str) -> bool:
        return name in KUBELETS.values()

    def pod(self, namespace: str, name: str) -> Place | None:
        known = PODS.get((namespace, name))
        return None if known is None else known[0]

    def exists(self, workload: Ref) -> bool:
        return any(place.workload == workload for place, _ in PODS.values())

    def lets_users_in(self, workload: Ref) -> bool:
        return workload == MALLORY

    def input_proxies(self) -> list[Ref]:
        return [MALLORY]


class Counted(Tally):
    def __init__(self) -> None:
        self.left_out: dict[str, int] = {}
        self.broken: dict[str, int] = {}

    def refused(self, why: str, count: int) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + count

    def impossible(self, metric: str, count: int) -> None:
        self.broken[metric] = self.broken.get(metric, 0) + count


CLUSTER = Cluster()


class World:
    """A Prometheus with honest targets, and everything that is read from it."""

    def __init__(self, *, everything: bool = False) -> None:
        self.prometheus = Scraped()
        self.tally = Counted()
        self.now = 1000.0
        self.reader = Reader(
            self.prometheus,
            CLUSTER,
            Trust(everything=everything, reporters=REPORTERS),
            place=CLUSTER.pod,
            tally=self.tally,
            clock=lambda: self.now,
        )
        self.refused: dict[str, int] = {}
        self.mallory = self.target("evil", "mallory")

    def target(self, namespace: str, pod: str, **changed: Any) -> Scrape:
        return self.prometheus.pod(namespace, pod, PODS[namespace, pod][1], 9100, **changed)

    def read(self, **families: Family) -> dict[str, Any] | Failure:
        async def main() -> dict[str, Any] | Failure:
            at = await self.reader.moment()
            found = {}
            for name, family in families.items():
                answer = await self.reader.read(family, window=WINDOW, at=at)
                if isinstance(answer, Failure):
                    return answer
                assert isinstance(answer, Readings)
                self.refused |= answer.refused
                found[name] = answer.values
            return found

        return asyncio.run(main())

    def nodes(self) -> dict[str, NodeFigures]:
        found = self.read(
            cpu=nodes.IDLE_CPU,
            memory=nodes.AVAILABLE_MEMORY,
            rtt_sum=nodes.RTT_SUM,
            rtt_count=nodes.RTT_COUNT,
            coordinates=nodes.COORDINATE,
        )
        assert not isinstance(found, Failure), found
        return node_figures(NODES, **found)

    def rates(self, dialect: Istio | Envoy, namespace: str) -> Rates:
        found = self.read(**dialect.families(namespace, CLUSTER))
        assert not isinstance(found, Failure), found
        return dialect.rates(found, CLUSTER)

    def probes(self) -> None:
        for number, other in ((1, 2), (2, 1)):
            target = self.target("kube-system", f"probe-{number}")
            self.round_trip(target, f"edge-{number}", f"edge-{other}", milliseconds=4.0)

    def round_trip(self, target: Scrape, origin: str, to: str, *, milliseconds: float) -> None:
        pair = {"origin": origin, "target": to}
        self.prometheus.exposes(target, "ecotone_probe_rtt_seconds_sum", milliseconds / 1000, **pair)
        self.prometheus.exposes(target, "ecotone_probe_rtt_seconds_count", 1.0, **pair)

    def exporters(self) -> None:
        for number in (1, 2):
            target = self.target("monitoring", f"exporter-{number}")
            self.prometheus.exposes(target, "node_cpu_seconds_total", 1.5, mode="idle", cpu="0")
            self.prometheus.exposes(target, "node_memory_MemAvailable_bytes", 1000.0)


def latency(world: World) -> float | None:
    figure = world.nodes().get("edge-1", NodeFigures()).latencies.get("edge-2")
    return None if figure is None else figure.value


def ends(source: Ref, target: Ref, *, reporter: str, principal: str | None = None) -> dict[str, str]:
    vouched = source.namespace if principal is None else principal
    return {
        "source_workload": source.name,
        "source_workload_namespace": source.namespace,
        "destination_workload": target.name,
        "destination_workload_namespace": target.namespace,
        "reporter": reporter,
        "source_principal": f"spiffe://cluster.local/ns/{vouched}/sa/default" if vouched else "unknown",
    }
