"""Whose a series is, and who may say what: each way of posing as somebody else, against a Prometheus in memory."""

from __future__ import annotations

from typing import ClassVar

import pytest

from ecotone.telemetry import nodes
from ecotone.telemetry.dialects.base import users_at
from ecotone.telemetry.dialects.envoy import Envoy
from ecotone.telemetry.dialects.istio import Istio
from ecotone.telemetry.prometheus import Failure, Trouble
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.usage import average_per_pod, cpu_family
from telemetry.scraped import Scrape
from telemetry.scraped_world import DB, LEDGER, MALLORY, WEB, WINDOW, World, ends, latency


@pytest.fixture
def world() -> World:
    return World()


class TestProbes:
    def test_round_trips_are_those_of_the_probe_on_the_origins_node(self, world: World) -> None:
        world.probes()
        assert latency(world) == pytest.approx(4.0)

    def test_a_tenants_pod_is_no_probe(self, world: World) -> None:
        world.probes()
        world.round_trip(world.mallory, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) == pytest.approx(4.0)

    def test_a_tenants_round_trip_is_nothing_where_nobody_probes(self, world: World) -> None:
        world.round_trip(world.mallory, "edge-1", "edge-2", milliseconds=355.0)
        assert world.nodes() == {}

    def test_a_probe_speaks_for_its_own_node_alone(self, world: World) -> None:
        world.probes()
        world.round_trip(world.prometheus.targets[-1], "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) == pytest.approx(4.0)
        assert world.tally.left_out["not-theirs"] > 0

    def test_coordinates_are_the_probes_too(self, world: World) -> None:
        world.probes()
        for axis in ("0", "height", "error"):
            world.prometheus.exposes(world.mallory, "ecotone_probe_coordinate", 9e4, origin="edge-1", axis=axis)
        assert world.nodes()["edge-1"].coordinates == {}


class TestPosing:
    """Ways to give one's series the labels of another target."""

    def victim(self, world: World) -> dict[str, str]:
        world.probes()
        return next(
            one.labels
            for one in world.prometheus.targets
            if one.discovered.get("__meta_kubernetes_pod_name") == "probe-1"
        )

    def test_relabelled_targets_make_the_series_nobodys(self, world: World) -> None:
        twin = world.target("evil", "mallory", pool="podMonitor/evil/twin", labels=self.victim(world))
        world.round_trip(twin, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) is None
        assert any("several targets" in why for why in world.refused)

    def test_honor_labels_make_every_series_nobodys_and_are_told(self, world: World) -> None:
        labels = self.victim(world)
        liar = world.target("evil", "mallory", pool="podMonitor/evil/liar", honor_labels=True)
        world.prometheus.exposes(
            liar, "ecotone_probe_rtt_seconds_sum", 0.355, origin="edge-1", target="edge-2", **labels
        )
        world.prometheus.exposes(
            liar, "ecotone_probe_rtt_seconds_count", 1.0, origin="edge-1", target="edge-2", **labels
        )
        assert latency(world) is None
        assert any("podMonitor/evil/liar" in why and "honorLabels" in why for why in world.refused)

    def test_relabelling_of_metrics_does_as_well(self, world: World) -> None:
        labels = self.victim(world)
        rules = [{"target_label": name, "replacement": value} for name, value in labels.items()]
        liar = world.target("evil", "mallory", pool="podMonitor/evil/liar", metric_relabel_configs=rules)
        world.round_trip(liar, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) is None

    def test_where_the_operator_enforces_the_namespace_they_change_nothing(self, world: World) -> None:
        labels = self.victim(world)
        rules = [{"target_label": name, "replacement": value} for name, value in labels.items()]
        enforced = {"target_label": "namespace", "replacement": "evil"}
        liar = world.target(
            "evil", "mallory", pool="podMonitor/evil/liar", honor_labels=True, metric_relabel_configs=[*rules, enforced]
        )
        world.round_trip(liar, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) == pytest.approx(4.0)
        assert world.refused.keys() <= {"no target is known that is a node-exporter that --reporter names"}

    def test_a_posers_samples_stay_in_the_window_and_so_does_the_refusal(self, world: World) -> None:
        twin = world.target("evil", "mallory", pool="podMonitor/evil/twin", labels=self.victim(world))
        assert latency(world) is None
        world.prometheus.targets.remove(twin)
        world.now += WINDOW / 2
        assert latency(world) is None
        world.now += WINDOW
        assert latency(world) == pytest.approx(4.0)

    def test_what_is_scraped_counts_not_what_was_discovered(self, world: World) -> None:
        self.victim(world)
        away = world.target("kube-system", "probe-1", pool="podMonitor/evil/away", url="http://10.1.0.66:9000/metrics")
        away.labels["job"] = "away"
        world.round_trip(away, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) == pytest.approx(4.0)

    def test_what_a_proxy_answers_is_nobodys(self, world: World) -> None:
        proxied = world.target(
            "kube-system",
            "probe-1",
            pool="podMonitor/evil/proxied",
            proxy_url="http://mallory.evil",
            labels={"job": "x"},
        )
        world.round_trip(proxied, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) is None

    def test_static_targets_are_nobodys(self, world: World) -> None:
        world.prometheus.pools["static"] = {}
        static = Scrape("static", "http://10.1.0.11:9000/metrics", {"job": "static", "instance": "10.1.0.11:9000"})
        world.prometheus.targets.append(static)
        world.round_trip(static, "edge-1", "edge-2", milliseconds=355.0)
        assert latency(world) is None

    def test_a_pool_whose_configuration_is_not_shown_may_write_anything(self, world: World) -> None:
        self.victim(world)
        del world.prometheus.pools["podMonitor/evil/all"]
        assert latency(world) is None
        assert any("not shown" in why for why in world.refused)

    def test_recording_rules_under_a_name_that_is_read_are_refused(self, world: World) -> None:
        self.victim(world)
        world.prometheus.recordings.append({"name": "ecotone_probe_rtt_seconds_sum", "query": "vector(1)"})
        assert latency(world) is None
        assert any("recording rule" in why for why in world.refused)

    def test_a_rule_that_is_kept_to_its_namespace_changes_nothing(self, world: World) -> None:
        self.victim(world)
        rule = {"name": "ecotone_probe_rtt_seconds_sum", "query": "vector(1)", "labels": {"namespace": "evil"}}
        world.prometheus.recordings.append(rule)
        assert latency(world) == pytest.approx(4.0)

    def test_an_open_receiver_lets_anybody_write(self, world: World) -> None:
        self.victim(world)
        world.prometheus.flags["web.enable-remote-write-receiver"] = "true"
        assert latency(world) is None

    @pytest.mark.parametrize("page", ["targets", "status/config", "rules", "status/flags"])
    def test_a_store_that_does_not_tell_is_refused_unless_it_is_trusted(self, world: World, page: str) -> None:
        self.victim(world)
        world.prometheus.missing.add(page)
        found = world.read(sums=nodes.RTT_SUM)
        assert (
            isinstance(found, Failure) and found.trouble is Trouble.UNTRUSTED and "--trust-prometheus" in found.message
        )
        trusting = World(everything=True)
        trusting.prometheus = world.prometheus
        trusting.reader.source = world.prometheus
        assert latency(trusting) == pytest.approx(4.0)


class TestNodes:
    def test_a_node_is_the_one_its_exporter_runs_on_whatever_labels_say(self, world: World) -> None:
        world.exporters()
        world.prometheus.exposes(world.mallory, "node_cpu_seconds_total", 0.01, mode="idle", cpu="0", node="edge-1")
        exporter = world.prometheus.targets[-1]
        world.prometheus.exposes(exporter, "node_memory_MemAvailable_bytes", 1.0, node="edge-1", device="x")
        figures = world.nodes()
        assert figures["edge-1"].cpu is not None and figures["edge-1"].cpu.value == pytest.approx(1.5)
        assert figures["edge-1"].memory is not None and figures["edge-1"].memory.value == 1000.0

    def test_another_port_of_the_nodes_address_is_somebody_elses(self, world: World) -> None:
        port = world.prometheus.pod("monitoring", "exporter-1", "10.0.0.1", 31234, pool="podMonitor/evil/port")
        world.prometheus.exposes(port, "node_cpu_seconds_total", 0.01, mode="idle", cpu="0")
        assert world.nodes() == {}

    @pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0])
    def test_one_impossible_value_takes_nobody_elses_figure_away(self, world: World, wrong: float) -> None:
        world.exporters()
        world.prometheus.exposes(world.prometheus.targets[-1], "node_cpu_seconds_total", wrong, mode="idle", cpu="1")
        figures = world.nodes()
        assert [figures[name].cpu.value for name in ("edge-1", "edge-2")] == [1.5, 1.5]
        assert world.tally.broken["node_cpu_seconds_total"] == 1


class TestContainers:
    READY: ClassVar = {("shop", "web-1"): WEB}

    def usage(self, world: World) -> float | None:
        found = world.read(cpu=cpu_family("shop"))
        assert not isinstance(found, Failure)
        figure = average_per_pod(found["cpu"], self.READY).get(WEB)
        return None if figure is None else figure.value

    def kubelet(self, world: World, url: str, value: float) -> None:
        world.prometheus.pools["kubelets"] = {"honor_labels": True}
        target = Scrape("kubelets", url, {"job": "kubelet", "instance": "10.0.0.1:10250"})
        world.prometheus.targets.append(target)
        usage = {"namespace": "shop", "pod": "web-1", "container": "main"}
        world.prometheus.exposes(target, "container_cpu_usage_seconds_total", value, **usage)

    @pytest.mark.parametrize(
        "url",
        [
            "https://10.0.0.1:10250/metrics/cadvisor",
            "https://kubernetes.default.svc:443/api/v1/nodes/edge-1/proxy/metrics/cadvisor",
        ],
    )
    def test_containers_are_told_by_kubelets(self, world: World, url: str) -> None:
        self.kubelet(world, url, 0.25)
        usage = {"namespace": "shop", "pod": "web-1", "container": "more"}
        world.prometheus.exposes(world.mallory, "container_cpu_usage_seconds_total", 7.0, **usage)
        assert self.usage(world) == pytest.approx(0.25)

    @pytest.mark.parametrize(
        "url",
        [
            "https://10.0.0.1:10250/containerLogs/evil/mallory/main",
            "https://kubernetes.default.svc/api/v1/nodes/http:edge-1:31234/proxy/metrics/cadvisor",
            "https://10.0.0.1:31234/metrics/cadvisor",
        ],
    )
    def test_what_else_a_node_serves_is_not_its_kubelets_metrics(self, world: World, url: str) -> None:
        self.kubelet(world, url, 7.0)
        assert self.usage(world) is None


class TestMeshes:
    def requests(self, world: World, namespace: str = "shop") -> dict[tuple[Ref, Ref], float]:
        pairs = world.rates(Istio(), namespace).requests or {}
        return {pair: figure.value for pair, figure in pairs.items()}

    def says(self, world: World, target: Scrape, value: float, labels: dict[str, str]) -> None:
        world.prometheus.exposes(target, "istio_requests_total", value, **labels)

    def test_the_destination_speaks_for_itself_and_the_source_fills_in(self, world: World) -> None:
        web, db = world.target("shop", "web-1"), world.target("shop", "db-0")
        self.says(world, db, 2.0, ends(WEB, DB, reporter="destination"))
        self.says(world, web, 99.0, ends(WEB, DB, reporter="source"))
        self.says(world, web, 7.0, ends(WEB, LEDGER, reporter="source"))
        assert self.requests(world) == {(WEB, DB): 2.0, (WEB, LEDGER): 7.0}

    @pytest.mark.parametrize("reporter", ["destination", "source", "waypoint"])
    def test_a_tenant_invents_nothing_between_others(self, world: World, reporter: str) -> None:
        db = world.target("shop", "db-0")
        self.says(world, db, 0.5, ends(WEB, DB, reporter="destination"))
        self.says(world, world.mallory, 5000.0, ends(WEB, DB, reporter=reporter))
        assert self.requests(world) == {(WEB, DB): 0.5}

    def test_a_tenant_invents_no_calls_to_or_from_others(self, world: World) -> None:
        world.target("shop", "web-1")
        for reporter in ("destination", "source"):
            self.says(world, world.mallory, 5000.0, ends(WEB, MALLORY, reporter=reporter))
            self.says(world, world.mallory, 5000.0, ends(MALLORY, WEB, reporter=reporter))
        assert self.requests(world) == {}

    @pytest.mark.parametrize("principal", ["evil", ""])
    def test_who_calls_is_whom_the_mesh_vouches_for(self, world: World, principal: str) -> None:
        db = world.target("shop", "db-0")
        self.says(world, db, 5000.0, ends(WEB, DB, reporter="destination", principal=principal))
        assert self.requests(world) == {}

    def test_a_listed_reporter_speaks_for_others(self, world: World) -> None:
        tunnel = world.target("mesh", "ztunnel-1")
        self.says(world, tunnel, 3.0, ends(WEB, DB, reporter="destination"))
        assert self.requests(world) == {(WEB, DB): 3.0}

    def test_a_tenants_input_proxy_brings_no_users_to_others(self, world: World) -> None:
        world.target("shop", "web-1")
        self.says(world, world.mallory, 5000.0, ends(MALLORY, WEB, reporter="source"))
        assert self.requests(world) == {}
        own = self.requests(world, "evil")
        assert (users_at("edge-1"), WEB) not in own

    def test_a_sidecars_calls_count_in_its_own_namespace(self, world: World) -> None:
        web = world.target("shop", "web-1")
        world.prometheus.exposes(web, "envoy_cluster_upstream_rq_total", 4.0, envoy_cluster_name="db")
        lies = {"envoy_cluster_name": "shop/db", "workload": "web"}
        world.prometheus.exposes(world.mallory, "envoy_cluster_upstream_rq_total", 5000.0, **lies)
        pairs = world.rates(Envoy(), "shop").requests or {}
        assert {pair: figure.value for pair, figure in pairs.items()} == {(WEB, DB): 4.0}

    def test_series_of_others_are_not_asked_for_however_many_there_are(self, world: World) -> None:
        db = world.target("shop", "db-0")
        self.says(world, db, 2.0, ends(WEB, DB, reporter="destination"))
        for number in range(200):
            self.says(world, world.mallory, 1.0, ends(Ref("evil", f"w{number}"), DB, reporter="source"))
        assert self.requests(world) == {(WEB, DB): 2.0}
        touched = [world.prometheus._selected(one) for one in world.prometheus.asked if "istio_requests_total" in one]
        assert max(len(series) for series in touched) == 1
