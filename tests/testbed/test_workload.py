"""A scenario's application as objects that play it."""

from __future__ import annotations

import json

from ecotone.manifests import keys
from ecotone.sim.scenario import load_scenario
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
