"""Drafting templates from compose files, manifests and observed traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.model.errors import InputError
from ecotone.tosca import application_objects, compile_application, emit, load_application, parse_application
from ecotone.tosca.importers import Draft, import_compose, import_manifests, import_observed

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples" / "tosca").glob("*.yaml"))
VALID = sorted((Path(__file__).parent / "valid").glob("*.yaml"))

COMPOSE = """
name: Sock Shop
x-env: &common {ZIPKIN: zipkin, TZ: "${ZONE:-UTC}"}
services:
  front_end:
    image: weaveworksdemos/front-end:0.3.12
    ports: ["8079:80"]
    depends_on: [catalogue]
    environment:
      <<: *common
      ORDERS_URL: http://orders:80/orders
  catalogue:
    build: ./catalogue
    expose: [80]
    command: /app -port=80
    links: ["db:catalogue-db"]
    deploy: {replicas: 2, resources: {limits: {cpus: "0.50", memory: 100M}, reservations: {cpus: 0.25}}}
  orders:
    image: weaveworksdemos/orders
    environment: [AMQP=amqp://user:secret@rabbitmq:5672, "DB_HOST=db"]
    mem_limit: 512m
  rabbitmq: {image: "rabbitmq:3", ports: [{target: 5672, published: 5672}]}
  db: {image: "mysql:8", expose: ["3306"], volumes: ["data:/var/lib/mysql"]}
"""


def routes(draft: Draft) -> set[tuple[str, str, str]]:
    return {(channel.source, channel.target, channel.type) for channel in draft.channels}


def test_a_compose_file_becomes_a_template() -> None:
    draft = import_compose(COMPOSE, file="compose.yaml")
    assert draft.name == "sock-shop"
    assert list(draft.services) == ["front-end", "catalogue", "orders", "rabbitmq", "db"]
    assert routes(draft) == {
        ("front-end", "orders", "HTTPRoute"),
        ("front-end", "catalogue", "HTTPRoute"),
        ("catalogue", "db", "TCPRoute"),
        ("orders", "rabbitmq", "AMQPRoute"),
        ("orders", "db", "TCPRoute"),
    }
    application = parse_application(draft.as_template())
    services = {service.name: service for service in application.services}
    assert services["catalogue"].settings == {
        "replicas": 2, "image": "catalogue:latest", "args": ["/app", "-port=80"],
        "cpu": "250m", "cpuLimit": "500m", "memoryLimit": "100Mi",
    }  # fmt: skip
    assert services["front-end"].settings["env"] == {
        "ORDERS_URL": "http://orders:80/orders", "ZIPKIN": "zipkin", "TZ": "UTC",
    }  # fmt: skip
    assert services["orders"].settings["memoryLimit"] == "512Mi"
    assert services["rabbitmq"].endpoint["port"] == 5672
    text = draft.as_template()
    assert "# called front_end in the compose file" in text
    assert "# has volumes in the compose file: they are not carried over" in text
    assert "# guessed from depends_on" in text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("services: [a]", "f:1:11"),
        ("version: '3'", "f:1:1"),
        ("services: {a: {image: x, depends_on: [b]}}", "f:1:38"),
        ('services: {a: {image: x, command: "sh -c \'x"}}', "f:1:35"),
        ("services: {a: x}", "f:1:15"),
    ],
)
def test_wrong_compose_files_are_refused_with_the_place(text: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        import_compose(text, file="f")
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_survive_the_round_trip_through_manifests(path: Path) -> None:
    objects = application_objects(path)
    draft = import_manifests([("manifests.yaml", emit.documents(objects))])
    assert compile_application(parse_application(draft.as_template())) == objects


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.name)
def test_every_valid_application_survives_the_round_trip(path: Path) -> None:
    application = load_application(path)
    objects = compile_application(application)
    if not objects:
        return
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    draft = import_manifests([("list.json", listing)])
    assert compile_application(parse_application(draft.as_template())) == objects


MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 3
  selector: {matchLabels: {k: web}}
  template:
    metadata: {labels: {k: web}}
    spec:
      containers:
      - name: server
        image: shop/web:1
        env:
        - {name: API, value: "grpc://api-svc.default.svc.cluster.local:50051"}
        - {name: PAY, value: "https://pay:443/v1"}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}
        ports: [{name: http, containerPort: 8080}]
        resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}
      - {name: sidecar, image: side}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {k: web}, ports: [{port: 80, targetPort: http}, {port: 81}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: api.v2}
spec:
  selector: {matchLabels: {k: api}}
  template:
    metadata: {labels: {k: api}}
    spec: {containers: [{name: api, image: "shop/api:2"}]}
---
apiVersion: v1
kind: Service
metadata: {name: api-svc}
spec: {selector: {k: api}, ports: [{port: 50051}]}
---
apiVersion: v1
kind: Service
metadata: {name: pay}
spec: {type: ExternalName, externalName: pay.example.com, ports: [{port: 443}]}
"""


def test_foreign_manifests_become_a_template() -> None:
    draft = import_manifests([("shop.yaml", MANIFESTS)])
    assert draft.name == "shop"
    assert routes(draft) == {("web", "api-v2", "gRPCRoute"), ("web", "pay", "HTTPRoute")}
    services = {service.name: service for service in parse_application(draft.as_template()).services}
    assert services["web"].settings == {
        "replicas": 3, "image": "shop/web:1", "cpu": "100m", "memoryLimit": "1Gi",
        "env": {"API": "grpc://api-svc.default.svc.cluster.local:50051", "PAY": "https://pay:443/v1"},
    }  # fmt: skip
    assert services["web"].endpoint == {"port": 80, "targetPort": 8080, "protocol": "TCP"}
    assert services["web"].labels == {"tier": "front"}
    assert services["pay"].external
    assert services["pay"].endpoint == {"host": "pay.example.com", "port": 443}
    text = draft.as_template()
    assert "# its Service has 2 ports: only the first is carried over" in text
    assert "# called api.v2 in the cluster" in text
    assert "# has more containers: only the first is carried over" in text


def test_objects_without_workloads_are_refused() -> None:
    with pytest.raises(InputError, match="no Deployment"):
        import_manifests([("f", "kind: Service\nmetadata: {name: a}")])
    with pytest.raises(InputError, match="f:1:1: a Kubernetes object must be a mapping"):
        import_manifests([("f", "- a")])
    with pytest.raises(InputError, match="two workloads"):
        import_manifests([("f", MANIFESTS + "---" + MANIFESTS)])


def workload(name: str, traffic: dict[str, Any] | None, group: str = "shop") -> dict[str, Any]:
    annotations = {} if traffic is None else {"ecotone.dev/traffic": json.dumps(traffic)}
    labels = {"app": name, "app-group": group}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": name, "image": f"x/{name}"}]}}},
    }  # fmt: skip


def test_observed_traffic_becomes_directed_channels_with_priorities() -> None:
    objects = [
        workload("db", {"orders": 250.0}),
        workload("orders", {"db": 260.0, "front": 1000.0}),
        workload("front", {"users@edge-1": 5e6, "orders": 900.0, "ghost": 3.0, "db": "NaN"}),
        workload("other", {"front": 7.0}, group="elsewhere"),
    ]
    draft = import_observed([("f", yaml.safe_dump_all(objects))], app_group="shop")
    assert draft.name == "shop"
    assert [(c.source, c.target, c.priority) for c in draft.channels] == [
        ("orders", "db", 26),
        ("front", "orders", 100),
    ]
    application = parse_application(draft.as_template())
    assert {(c.source, c.target, c.priority) for c in application.channels} == {
        ("orders", "db", 26), ("front", "orders", 100),
    }  # fmt: skip
    assert all("ecotone.dev/traffic" not in service.annotations for service in application.services)


def test_other_dialects_of_traffic_are_read() -> None:
    front = workload("front", None)
    front["metadata"]["annotations"] = {"traffic-orders": "100"}
    draft = import_observed([("f", yaml.safe_dump_all([front, workload("orders", None)]))])
    assert [(c.source, c.target, c.priority) for c in draft.channels] == [("front", "orders", 100)]


def test_without_traffic_there_is_nothing_to_observe() -> None:
    with pytest.raises(InputError, match="no workload carries traffic"):
        import_observed([("f", yaml.safe_dump(workload("a", None)))])


@pytest.mark.parametrize("name", ["token", "concat", "join", "get_input", "get_attribute"])
def test_a_lone_label_or_variable_named_like_a_function_survives(name: str) -> None:
    template = f"""
tosca_definitions_version: tosca_simple_yaml_1_3
imports: [{{file: ecotone/profile.yaml}}]
topology_template:
  inputs:
    map: {{type: map, entry_schema: {{type: string}}, default: {{{name}: shop}}}}
  node_templates:
    a:
      type: Service
      capabilities:
        metadata: {{properties: {{labels: {{get_input: map}}, annotations: {{get_input: map}}}}}}
        deployment: {{properties: {{image: a, env: {{get_input: map}}, nodeSelector: {{get_input: map}}}}}}
"""
    objects = compile_application(parse_application(template))
    assert name in objects[0]["metadata"]["labels"]
    draft = import_manifests([("a.yaml", emit.documents(objects))])
    assert draft.as_template() == draft.as_template()
    assert compile_application(parse_application(draft.as_template())) == objects
