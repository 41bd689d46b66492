"""A scenario's application as objects that play it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ecotone.manifests import keys
from ecotone.manifests.files import read_paths
from ecotone.model.objects import Workload
from ecotone.scheduling import resolve
from ecotone.sim.control.engine import Engine
from ecotone.sim.control.observation import NAMESPACE
from ecotone.sim.scenario import load_scenario, read_scenario
from ecotone.sim.scenario.schema import Scenario
from ecotone.sim.simulation import Simulation
from ecotone.testbed.application.envoy import STATS_PORT, sidecar
from ecotone.testbed.application.workload import application_objects, peers_of

SCENARIO = load_scenario("sock-shop-100ms")
BROKER = "rabbitmq"


def of_kind(kind: str) -> dict[str, dict]:  # type: ignore[type-arg]
    objects = application_objects(SCENARIO, namespace="shop", scheduler="ecotone")
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def test_every_service_has_a_deployment_a_service_and_a_configuration() -> None:
    names = {service.name for service in SCENARIO.application.services}
    assert set(of_kind("Deployment")) == set(of_kind("Service")) == names
    assert set(of_kind("ConfigMap")) == names - {BROKER}


def test_calls_reach_their_peer_through_the_sidecar() -> None:
    for service in SCENARIO.application.services:
        if service.name == BROKER:
            continue
        data = of_kind("ConfigMap")[service.name]["data"]
        role = json.loads(data["role.json"])
        peers = role["peers"] | {name: each["address"] for name, each in role["brokers"].items()}
        listeners = json.loads(data["envoy.json"])["static_resources"]["listeners"]
        ports = {each["name"]: each["address"]["socket_address"]["port_value"] for each in listeners}
        assert peers == {peer: f"127.0.0.1:{ports[peer]}" for peer in peers}
        assert set(peers_of(service)) <= set(peers)


def test_only_statistics_are_reachable_from_outside_the_pod() -> None:
    found = sidecar({"db": "db.shop.svc.cluster.local:80"})
    open_ports = [
        each["address"]["socket_address"]["port_value"]
        for each in found["static_resources"]["listeners"]
        if each["address"]["socket_address"]["address"] != "127.0.0.1"
    ]
    assert open_ports == [STATS_PORT]
    assert found["admin"]["address"]["socket_address"]["address"] == "127.0.0.1"


def test_channels_and_bounds_are_written_where_policies_read_them() -> None:
    def notes(objects: dict[str, dict], name: str) -> dict[str, str]:  # type: ignore[type-arg]
        found: dict[str, str] = objects[name]["spec"]["template"]["metadata"]["annotations"]
        return found

    shop = of_kind("Deployment")
    assert keys.MAX_LATENCY not in notes(shop, "carts")
    affinity = {name: json.loads(notes(shop, name)[keys.AFFINITY]) for name in ("front-end", "carts")}
    assert affinity["front-end"]["carts"] == affinity["carts"]["front-end"] == 100
    made = application_objects(load_scenario("pogonip-1"), namespace="x", scheduler="ecotone")
    taxi = {each["metadata"]["name"]: each for each in made if each["kind"] == "Deployment"}
    assert {notes(taxi, name)[keys.MAX_LATENCY] for name in taxi} == {"50ms"}
    assert taxi["rabbitmq"]["spec"]["template"]["metadata"]["labels"][keys.ROLE] == "message-queue"


def declared(workload: Workload) -> tuple[object, ...]:
    channels = (workload.affinity, workload.synchronous, workload.deadlines, workload.soft_deadlines)
    return (workload.app_group, workload.index, *channels, workload.edge_share)


DEADLINES_AND_BALANCE = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: odd}
spec:
  duration: 10s
  cluster: {nodes: [{name: a, cpu: "1", memory: 1Gi}]}
  application:
    name: odd.one
    services:
      - name: front-end
        endpoints:
          - name: look
            cpu: 1ms
            stages:
              - - {call: back.answer, protocol: gRPC, deadline: 20ms}
                - {call: log.write, async: true, deadline: 0.1s, soft: true}
      - name: back
        index: 3
        balance: same-node
        endpoints: [{name: answer, cpu: 1ms, stages: [[{call: log.write, protocol: TCP}]]}]
      - {name: log, balance: same-zone, endpoints: [{name: write, cpu: 1ms}]}
  load: [{at: 0s, for: 10s, entry: front-end.look, from: [a], arrivals: {users: 1, every: 1s}}]
"""


@pytest.mark.parametrize(
    "name", ["sock-shop-100ms", "sock-shop-full-100ms", "replicas-2-moving-near", "messaging", "pogonip-1", "festival"]
)
def test_policies_are_told_what_the_simulator_tells_them(name: str, tmp_path: Path) -> None:
    same_on_both_sides(load_scenario(name), tmp_path)


def same_on_both_sides(scenario: Scenario, folder: Path) -> None:
    objects = application_objects(scenario, namespace=NAMESPACE, scheduler="ecotone")
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    real = read_paths([file])
    simulated = Simulation(scenario, Engine(resolve("ecotone")), seed=1).observer.snapshot(0.0, [])
    workloads = {key.name: declared(each) for key, each in real.workloads.items()}
    assert workloads == {key.name: declared(each) for key, each in simulated.workloads.items()}
    balance = {each.name: each.traffic_distribution for each in real.services}
    assert balance == {each.name: each.traffic_distribution for each in simulated.services}


def test_deadlines_and_nearest_first_services_are_told_too(tmp_path: Path) -> None:
    scenario = read_scenario(DEADLINES_AND_BALANCE, file="odd.yaml")
    same_on_both_sides(scenario, tmp_path)
    made = application_objects(scenario, namespace="x", scheduler="ecotone")
    services = {each["metadata"]["name"]: each["spec"] for each in made if each["kind"] == "Service"}
    assert services["back"]["trafficDistribution"] == "PreferSameNode"
    assert "trafficDistribution" not in services["front-end"]


def test_sidecars_end_after_the_service_that_calls_through_them() -> None:
    for name, each in of_kind("Deployment").items():
        pod = each["spec"]["template"]["spec"]
        assert [one["name"] for one in pod["containers"]] == ["broker" if name == BROKER else "service"]
        beside = [(one["name"], one["restartPolicy"]) for one in pod.get("initContainers", [])]
        assert beside == ([] if name == BROKER else [("envoy", "Always")])


def test_replicas_scheduler_and_requests_carry_over() -> None:
    for service in SCENARIO.application.services:
        spec = of_kind("Deployment")[service.name]["spec"]
        assert spec["replicas"] == service.replicas
        assert spec["template"]["spec"]["schedulerName"] == "ecotone"
        asked = spec["template"]["spec"]["containers"][0]["resources"]["requests"]
        assert asked["cpu"] == f"{service.cpu_request or 0}m"
