"""Messages of a scenario and the broker that they go through."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ecotone.model.errors import InputError
from ecotone.sim.scenario import Scenario, load_scenario
from ecotone.sim.scenario.schema import Call
from ecotone.testbed.application.messaging import brokers, brokers_of, routes
from ecotone.testbed.application.workload import application_objects
from ecotone.testbed.images.broker import AMQP_PORT, BROKER_IMAGE

MESSAGING, TAXI, SHOP, HOTEL = (
    load_scenario(name) for name in ("messaging", "pogonip-1", "sock-shop-100ms", "hotel-reservation")
)


def objects(scenario: Scenario, kind: str) -> dict[str, dict[str, Any]]:
    made = application_objects(scenario, namespace="x", scheduler="ecotone")
    return {each["metadata"]["name"]: each for each in made if each["kind"] == kind}


def test_the_broker_is_the_one_that_says_so_or_the_one_that_publishers_send_to() -> None:
    assert set(brokers(TAXI.application)) == {"rabbitmq"}
    assert set(brokers(MESSAGING.application)) == {"rabbitmq"}
    assert set(brokers(SHOP.application)) == {"rabbitmq"}
    assert brokers(HOTEL.application) == {}


def test_publishers_and_consumers_are_connected_with_their_broker_and_nobody_else() -> None:
    found = brokers(MESSAGING.application)
    connected = {
        each.name: brokers_of(each, found) for each in MESSAGING.application.services if each.name not in found
    }
    assert {name for name, each in connected.items() if each == ["rabbitmq"]} == {
        "message-publisher", "message-reader", "message-notifier",
    }  # fmt: skip
    assert connected["api-gateway"] == connected["mongodb"] == []


def test_every_endpoint_of_a_broker_is_an_exchange_with_the_queues_of_those_it_calls() -> None:
    found = routes(brokers(MESSAGING.application)["rabbitmq"])
    queues = {name: [f"{each['service']}.{each['endpoint']}" for each in queues] for name, queues in found.items()}
    assert queues == {"publish": ["message-reader.store", "message-notifier.notify"]}
    assert all(each["detached"] for each in found["publish"])


def test_the_broker_is_rabbitmq_and_its_clients_reach_it_through_their_sidecars_as_a_stream_of_bytes() -> None:
    deployments, services, configs = (objects(TAXI, kind) for kind in ("Deployment", "Service", "ConfigMap"))
    (container,) = deployments["rabbitmq"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == BROKER_IMAGE
    assert services["rabbitmq"]["spec"]["ports"] == [{"port": AMQP_PORT, "targetPort": AMQP_PORT}]
    assert "rabbitmq" not in configs
    data = configs["taxi-edge-bronx"]["data"]
    role, envoy = json.loads(data["role.json"]), json.loads(data["envoy.json"])["static_resources"]
    (listener,) = [each for each in envoy["listeners"] if each["name"] == "rabbitmq"]
    (passed,) = listener["filter_chains"][0]["filters"]
    assert passed["name"] == "envoy.filters.network.tcp_proxy"
    port = listener["address"]["socket_address"]["port_value"]
    assert role["brokers"]["rabbitmq"]["address"] == f"127.0.0.1:{port}"
    assert role["peers"] == {}
    (cluster,) = [each for each in envoy["clusters"] if each["name"] == "rabbitmq"]
    (endpoint,) = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
    assert endpoint["endpoint"]["address"]["socket_address"]["port_value"] == AMQP_PORT


def changed(caller: str, **qualities: Any) -> Scenario:
    """The messaging scenario in which the first call of a service is another one."""
    services = []
    for each in MESSAGING.application.services:
        if each.name == caller:
            name, endpoint = next(iter(each.endpoints.items()))
            (first, *others), *stages = endpoint.stages
            call: Call = replace(first, **qualities)
            each = replace(
                each, endpoints={**each.endpoints, name: replace(endpoint, stages=((call, *others), *stages))}
            )
        services.append(each)
    return replace(MESSAGING, application=replace(MESSAGING.application, services=tuple(services)))


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (changed("rabbitmq", protocol="HTTP"), "rabbitmq calls message-reader over HTTP"),
        (changed("rabbitmq", probability=0.5), "passes every message on once"),
        (changed("api-gateway", service="rabbitmq"), "api-gateway calls rabbitmq over HTTP"),
    ],
)
def test_what_a_broker_cannot_do_is_told(scenario: Scenario, why: str) -> None:
    with pytest.raises(InputError, match=why):
        brokers(scenario.application)
