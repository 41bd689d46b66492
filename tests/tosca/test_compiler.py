"""Compiled manifests carry the keys that decisions read and say the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.tosca import (
    application_graph,
    application_objects,
    compile_application,
    emit,
    graph_of,
    load_application,
    parse_application,
)

HERE = Path(__file__).parent
EXAMPLES = sorted((HERE.parent.parent / "examples" / "tosca").glob("*.yaml"))
CONTRACT = HERE / "valid" / "contract.yaml"
HEAD = "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [{file: ecotone/profile.yaml}]\n"


def find(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [item for item in objects if item["kind"] == kind and item["metadata"]["name"] == name]
    return found


def test_the_contracts_example_compiles_as_the_contract_says() -> None:
    objects = application_objects(CONTRACT)
    assert [f"{item['kind']}/{item['metadata']['name']}" for item in objects] == [
        f"{kind}/{name}"
        for name in ("front-end", "catalogue", "sensors", "catalogue-db")
        for kind in ("Deployment", "Service")
    ]
    front = find(objects, "Deployment", "front-end")
    template = front["spec"]["template"]
    assert front["metadata"]["labels"] == {"app": "front-end", "app-group": "contract", "team": "shop"}
    assert front["spec"]["replicas"] == 2
    assert template["metadata"]["labels"] == {
        "app": "front-end", "app-group": "contract", "ecotone.dev/index": "0", "team": "shop",
    }  # fmt: skip
    assert json.loads(template["metadata"]["annotations"]["ecotone.dev/affinity"]) == {"catalogue": 100, "sensors": 60}
    assert template["spec"]["schedulerName"] == "ecotone"
    (container,) = template["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "100m", "memory": "300Mi"}}
    (port,) = find(objects, "Service", "front-end")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, 8079)


def test_an_external_service_becomes_an_output_proxy() -> None:
    objects = application_objects(CONTRACT)
    proxy = find(objects, "Deployment", "catalogue-db")
    container = proxy["spec"]["template"]["spec"]["containers"][0]
    configuration = json.loads(container["args"][1])
    (cluster,) = configuration["static_resources"]["clusters"]
    endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]
    assert endpoint == {"address": "db.example", "port_value": 3306}
    (port,) = find(objects, "Service", "catalogue-db")["spec"]["ports"]
    assert port["port"] == 3306
    assert port["targetPort"] == container["ports"][0]["containerPort"]
    affinity = proxy["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"]["matchExpressions"] == [
        {"key": "ecotone.dev/tier", "operator": "In", "values": ["cloud"]}
    ]


def test_a_proxy_is_pinned_near_its_service_when_told_where() -> None:
    path = next(path for path in EXAMPLES if path.name.startswith("sock-shop"))
    proxy = find(application_objects(path), "Deployment", "orders-db")
    terms = proxy["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert terms["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "ecotone.dev/tier", "operator": "In", "values": ["cloud"]}]}
    ]


def test_a_privileged_port_is_moved_for_the_proxy() -> None:
    application = parse_application(
        HEAD + "topology_template: {node_templates: {s: {type: ExternalService, capabilities: "
        "{endpoint: {properties: {host: h, port: 443}}}}}}"
    )
    deployment, service = compile_application(application)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] == 10443
    assert service["spec"]["ports"][0] == {"port": 443, "targetPort": 10443, "protocol": "TCP"}


def test_several_channels_to_one_peer_add_up() -> None:
    objects = application_objects(HERE / "valid" / "several-channels.yaml")
    annotations = find(objects, "Deployment", "a")["spec"]["template"]["metadata"]["annotations"]
    assert json.loads(annotations["ecotone.dev/affinity"]) == {"b": 130}


def test_deadlines_are_carried_and_the_tightest_wins() -> None:
    application = parse_application(
        HEAD
        + """topology_template:
  node_templates:
    a:
      type: Service
      capabilities: {deployment: {properties: {image: x}}}
      requirements:
      - route: {node: q, relationship: {type: AMQPRoute, properties: {deadline: 1 s}}}
      - route: {node: q, relationship: {type: HTTPRoute, properties: {deadline: 50 ms}}}
    q: {type: Service, capabilities: {deployment: {properties: {image: x, role: message-queue}}}}
"""
    )
    objects = compile_application(application)
    first, second = (item["spec"]["template"]["metadata"] for item in objects)
    assert json.loads(first["annotations"]["ecotone.dev/deadlines"]) == {"q": 50}
    assert first["annotations"]["ecotone.dev/max-latency"] == "50ms"
    assert second["annotations"] == {"ecotone.dev/affinity": '{"a":130}', "ecotone.dev/max-latency": "50ms"}
    assert second["labels"]["ecotone.dev/role"] == "message-queue"


def test_soft_deadlines_have_a_key_of_their_own_and_bound_no_queue() -> None:
    application = parse_application(
        HEAD
        + """topology_template:
  node_templates:
    a:
      type: Service
      capabilities: {deployment: {properties: {image: x}}}
      requirements:
      - route: {node: q, relationship: {type: AMQPRoute, properties: {deadline: 50 ms, soft: true}}}
      - route: {node: b, relationship: {type: HTTPRoute, properties: {deadline: 20 ms}}}
    b: {type: Service, capabilities: {deployment: {properties: {image: x}}}}
    q: {type: Service, capabilities: {deployment: {properties: {image: x, role: message-queue}}}}
"""
    )
    annotations = compile_application(application)[0]["spec"]["template"]["metadata"]["annotations"]
    assert json.loads(annotations["ecotone.dev/soft-deadlines"]) == {"q": 50}
    assert json.loads(annotations["ecotone.dev/deadlines"]) == {"b": 20}
    assert "ecotone.dev/max-latency" not in annotations
    shown = {channel["target"]: channel.get("soft", False) for channel in graph_of(application).as_dict()["channels"]}
    assert shown == {"b": False, "q": True}


def test_autoscaling_leaves_the_replicas_to_the_autoscaler() -> None:
    objects = application_objects(HERE / "valid" / "autoscale-and-disruption.yaml")
    assert "replicas" not in find(objects, "Deployment", "a")["spec"]
    scaler = find(objects, "HorizontalPodAutoscaler", "b")["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 4)
    assert scaler["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}
    assert find(objects, "PodDisruptionBudget", "a")["spec"]["minAvailable"] == 1


def test_index_may_be_fixed() -> None:
    application = parse_application(
        HEAD
        + """topology_template:
  node_templates:
    a: {type: Service, capabilities: {deployment: {properties: {image: x, index: 7}}}, requirements: [{route: b}]}
    b: {type: Service, capabilities: {deployment: {properties: {image: x}}}}
"""
    )
    assert graph_of(application).index() == {"a": 7, "b": 1}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_print_as_yaml_that_means_the_objects(path: Path) -> None:
    objects = application_objects(path)
    text = emit.documents(objects)
    assert list(yaml.safe_load_all(text)) == objects
    assert emit.documents(application_objects(path)) == text


def test_published_graphs() -> None:
    graphs = {path.name.split(".")[0]: application_graph(path) for path in EXAMPLES}
    shop = graphs["sock-shop"]
    assert len(shop.services) == 14
    assert {service.name for service in shop.services if service.external} == {
        "catalogue-db", "carts-db", "user-db", "orders-db",
    }  # fmt: skip
    assert shop.index()["front-end"] == 0
    assert shop.index()["queue-master"] == 4
    assert {c.target for c in shop.channels if c.source == "orders"} == {
        "user",
        "carts",
        "payment",
        "shipping",
        "orders-db",
    }
    assert graphs["messaging"].affinity()["api-gateway"] == {
        "message-publisher": 100, "message-reader": 100, "message-notifier": 40,
    }  # fmt: skip
    boutique = graphs["online-boutique"]
    assert boutique.index()["redis-cart"] == 3
    assert boutique.deadlines() == {"frontend": {"adservice": 100}}
    assert all(graph.broken == () for graph in graphs.values())


def test_graph_json_has_the_contracts_shape() -> None:
    data = json.loads(application_graph(CONTRACT).as_json())
    assert set(data) == {"name", "services", "channels"}
    assert {"name": "front-end", "external": False, "index": 0}.items() <= data["services"][0].items()
    assert {
        "source": "front-end", "target": "sensors", "type": "MQTTRoute", "priority": 60, "deadline_ms": 200,
    }.items() <= data["channels"][1].items()  # fmt: skip
    assert data["channels"][0]["deadline_ms"] is None


def test_options_set_namespace_scheduler_and_name() -> None:
    application = load_application(CONTRACT, name="other")
    objects = compile_application(application, namespace="shop", scheduler_name="ours")
    assert {item["metadata"]["namespace"] for item in objects} == {"shop"}
    schedulers = {
        item["metadata"]["name"]: item["spec"]["template"]["spec"].get("schedulerName")
        for item in objects
        if item["kind"] == "Deployment"
    }
    assert schedulers == {"front-end": "ecotone", "catalogue": "ours", "sensors": "ours", "catalogue-db": "ours"}
    assert objects[0]["metadata"]["labels"]["app-group"] == "other"
