"""Random inputs for the command line: good ones, broken in a few places.

A case is drawn from a seed alone, so a finding is a number. Inputs are broken in two ways: as structures, where a value
becomes something nobody expects there, or as text, where bytes go missing, double or turn into what YAML and terminals take
for their own. The answers of an API server are broken on the wire, too: wrong lengths, wrong status, half a body.
"""

from __future__ import annotations

import copy
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import yaml

from hostile_objects import NUMBERS, TEXTS, hostile_pod

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**18, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", " ", "a",
    "\x1b[31mred\x1b[0m", "a\x00b", "é\u202e", "x" * 5000, "../../etc/passwd", "1s", "-5ms", "10ms", "9e99s", "100%", "-1%",
    "1Gi", "8Ei", "{}", "[]", [], {}, [None], [[]], {"": None}, {"a": {"b": {"c": []}}}, [1, "two", {"three": 3}],
)  # fmt: skip
SPICES = (
    b"\x00", b"\xff\xfe", b"\t", b"- ", b": ", b"&a ", b"*a", b"!!python/object:os.system ", b"%YAML 9\n", b"---\n", b"{",
    b"]", b'"', b"'", b"\x1b[2J", b"<<: *a\n", b"? ", b"|\n", b"\xe2\x80\xae", b"\r", b"0x", b"~", b"#", b"@", b"`",
)  # fmt: skip

CLUSTER: list[Any] = list(
    yaml.safe_load_all("""
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {ecotone.dev/tier: edge, kubernetes.io/hostname: n1}
  annotations: {ecotone.dev/latencies: '{"n1": 5, "n2": 7}', ecotone.dev/available-cpu: '2'}
spec:
  taints: []
status:
  allocatable: {cpu: '4', memory: 8Gi, pods: '110'}
  conditions:
  - {type: Ready, status: 'True'}
---
apiVersion: v1
kind: Node
metadata:
  name: n2
  labels: {ecotone.dev/tier: edge, kubernetes.io/hostname: n2}
  annotations: {ecotone.dev/latencies: '{"n1": 5, "n2": 7}', ecotone.dev/available-cpu: '2'}
spec:
  taints:
  - {key: k, effect: NoSchedule}
status:
  allocatable: {cpu: '4', memory: 8Gi, pods: '110'}
  conditions:
  - {type: Ready, status: 'True'}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app-group: shop}
  annotations: {ecotone.dev/traffic: '{"db": 100, "users@n1": 5}', ecotone.dev/requests: '{"db": 3}'}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web, app-group: shop}
      annotations: {ecotone.dev/affinity: '{"db": 9}'}
    spec:
      containers:
      - name: c
        resources:
          requests: {cpu: 100m}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  labels: {app: web, app-group: shop}
spec:
  nodeName: n1
  containers:
  - name: c
    resources:
      requests: {cpu: 100m, memory: 64Mi}
status:
  phase: Running
  conditions:
  - {type: Ready, status: 'True'}
---
apiVersion: v1
kind: Pod
metadata:
  name: db-0
  namespace: shop
  labels: {app: db}
spec:
  containers:
  - name: c
    resources:
      requests: {cpu: '1'}
  tolerations:
  - {operator: Exists}
---
apiVersion: ecotone.dev/v1alpha1
kind: AppGroup
metadata: {name: shop, namespace: shop}
spec:
  name: shop
  runPeriod: 30
  descheduler: {policy: ecotone, maxMovesPerRun: 1}
---
apiVersion: ecotone.dev/v1alpha1
kind: NetworkMap
metadata: {name: m}
spec:
  topologyKey: ecotone.dev/tier
  rtt:
    edge: {cloud: 40}
""")
)
SCENARIO: dict[str, Any] = yaml.safe_load("""
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small, description: of two nodes}
spec:
  duration: 40s
  warmup: 5s
  cluster:
    nodes:
    - {name: a, tier: cloud, cpu: '2', memory: 4Gi, price: 0.1}
    - name: b
      tier: edge
      cpu: '2'
      memory: 4Gi
      labels: {x: y}
      taints: []
    network:
      default: {rtt: 10ms}
      links:
      - between: [a, b]
        rtt: 20ms
        loss: 1%
        jitter: 1ms
  application:
    name: shop
    services:
    - name: web
      replicas: 2
      requests: {cpu: 100m}
      startup: 1s
      endpoints:
      - name: get
        cpu: 2ms
        stages:
        - - {call: db.read, count: 2, request: 1kB}
    - name: db
      prefer: {tier: cloud}
      endpoints:
      - name: read
        cpu: {mean: 1ms, distribution: constant}
    autoscale:
      web: {cpu: 60%, min: 1, max: 3}
    traces:
      db:
      - [0s, 1]
      - [20s, 2]
  load:
  - at: 0s
    for: 40s
    entry: web.get
    from: [a]
    arrivals: {poisson: 4}
  - at: 5s
    for: 30s
    entry: web.get
    from: all
    arrivals: {users: 3, every: 1s}
  events:
  - at: 10s
    link: [a, b]
    rtt: 50ms
  - {at: 20s, node: b, state: down}
  control: {scrape: 5s, monitor: 10s, deschedule: 10s}
  qos:
    latency: {edge: 50ms}
    targets: {web: 0.5}
""")
PROFILE: dict[str, Any] = yaml.safe_load("""
apiVersion: ecotone.dev/v1alpha1
kind: SchedulerConfiguration
profiles:
- name: mine
  schedulerName: mine
  policy: sophos
  plugins:
    score:
      enabled:
      - {name: FirstFit, weight: 2}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: LeastAllocated}
  descheduler: {rule: thesis}
""")
KUBECONFIG: dict[str, Any] = yaml.safe_load("""
apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {server: 'http://127.0.0.1:1'}
users:
- name: u
  user: {token: sesame}
contexts:
- name: x
  context: {cluster: c, user: u, namespace: shop}
current-context: x
""")
TEMPLATE: dict[str, Any] = yaml.safe_load("""
tosca_definitions_version: tosca_simple_yaml_1_3
imports:
- {file: ecotone/profile.yaml}
relationship_types:
  Fast:
    derived_from: HTTPRoute
    properties:
      priority: {type: integer, default: 7}
topology_template:
  node_templates:
    web:
      type: Service
      capabilities:
        deployment:
          properties: {image: shop/web, replicas: 2, cpu: 100m}
        service:
          properties: {port: 80}
      requirements:
      - route:
          node: db
          relationship:
            type: Fast
            properties: {deadline: 200 ms}
    db:
      type: ExternalService
      capabilities:
        endpoint:
          properties: {host: db.example, port: 3306}
""")
COMPOSE: dict[str, Any] = yaml.safe_load("""
include: [more.yaml]
services:
  web:
    image: shop/web
    extends: {service: db}
    env_file: [web.env]
    healthcheck: {test: [CMD, curl]}
    secrets: [token]
    network_mode: host
    ports: ['80:8080']
    depends_on: [db]
    environment: {DB: 'http://db:5432'}
  db:
    image: postgres
    expose: ['5432']
    deploy:
      resources:
        limits: {cpus: '0.5', memory: 64M}
""")
RESULT: dict[str, Any] = json.loads((Path(__file__).parent / "result.json").read_text(encoding="utf-8"))
VERBS = (
    "policies",
    "explain",
    "plan",
    "snapshot",
    "scenarios",
    "simulate",
    "experiment",
    "tosca",
    "manifests",
    "compare",
    "schema",
    "man",
    "nope",
)
OPTIONS = (
    "-o",
    "-f",
    "-n",
    "-A",
    "--policy",
    "--config",
    "--now",
    "--seed",
    "--trials",
    "--strict",
    "--help",
    "--max-age",
    "--",
    "-",
    "-h",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One command line, with its files already written."""

    words: list[str]
    answers: Callable[[str], bytes] | None = None  # what the API server says to a path


def structure(luck: Random, good: Any) -> Any:
    """The same, with a few values replaced, dropped, doubled or renamed."""
    document = copy.deepcopy(good)
    for _ in range(luck.choice((1, 1, 1, 2, 4))):
        places = list(_places(document))
        if not places:
            return luck.choice(VALUES)
        holder, key = luck.choice(places)
        match luck.randrange(6):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, dict) and isinstance(key, str):
                holder[key[:-1] or "x"] = holder.pop(key)
            case 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 3:
                other, place = luck.choice(places)
                holder[key] = copy.deepcopy(other[place])
            case _:
                holder[key] = copy.deepcopy(luck.choice((*VALUES, luck.choice(NUMBERS), luck.choice(TEXTS))))
    return document


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [document]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in keys:
            yield here, key
            waiting.append(here[key])


def text(luck: Random, content: bytes) -> bytes:
    """The same, with a few bytes changed."""
    for _ in range(luck.choice((1, 1, 2, 5))):
        at = luck.randrange(len(content) + 1)
        match luck.randrange(4):
            case 0:
                content = content[:at]
            case 1:
                content = content[:at] + content[at + luck.randrange(1, 9) :]
            case 2:
                content = content[:at] + content[max(0, at - luck.randrange(1, 40)) :]
            case _:
                content = content[:at] + luck.choice(SPICES) + content[at:]
    return content


def written(luck: Random, good: Any, *, many: bool = False) -> bytes:
    """A file that may be anything from good to hopeless."""
    broken = (
        [structure(luck, each) if luck.random() < 0.4 else each for each in good] if many else structure(luck, good)
    )
    if many and luck.random() < 0.4:
        broken.append(hostile_pod(luck, "guest"))
    if luck.random() < 0.3:
        content = json.dumps({"apiVersion": "v1", "kind": "List", "items": broken} if many else broken).encode(
            "utf-8", "replace"
        )
    else:
        dump = yaml.safe_dump_all(broken, allow_unicode=True) if many else yaml.safe_dump(broken, allow_unicode=True)
        content = dump.encode("utf-8", "replace")
    return text(luck, content) if luck.random() < 0.4 else content


def draw(luck: Random, folder: Path) -> Case:
    """One case; its files are written into the folder."""

    def put(name: str, content: bytes) -> str:
        path = folder / name
        path.write_bytes(content)
        return str(path)

    def cluster() -> str:
        return put("cluster.yaml", written(luck, CLUSTER, many=True))

    policy = luck.choice(("ecotone", "sophos", "kube-default", "communication-aware", "kubedsm", "pogonip", "nas"))
    output = luck.choice(("table", "wide", "json", "yaml", "name", "csv"))
    match luck.randrange(12):
        case 0:
            return Case(
                [
                    "plan",
                    "-f",
                    cluster(),
                    "-p",
                    policy,
                    "-o",
                    output,
                    *luck.choice(((), ("--deschedule",), ("--strict",))),
                ]
            )
        case 1:
            pod = luck.choice(("web-0", "db-0", "shop/web-0", "deploy/web", "guest", "\x1b[31m"))
            return Case(["explain", "-f", cluster(), pod, "-n", "shop", "-p", policy, "-o", output])
        case 2:
            return Case(["snapshot", "-f", cluster(), "-o", luck.choice(("json", "yaml"))])
        case 3 | 4:
            scenario = put("scenario.yaml", written(luck, SCENARIO))
            return Case(
                ["simulate", scenario, "-p", luck.choice(("first-fit", "ecotone")), "--workers", "1", "-o", output]
            )
        case 5:
            good = put("good.yaml", yaml.safe_dump_all(CLUSTER).encode())
            return Case(["plan", "-f", good, "--config", put("profile.yaml", written(luck, PROFILE)), "-o", output])
        case 6:
            config_document: dict[str, Any] = copy.deepcopy(KUBECONFIG)
            users: tuple[dict[str, Any], ...] = (
                {"token": "sesame"},
                {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "false",
                        "args": ["a"],
                        "env": [{"name": "A", "value": "b"}],
                    }
                },
                {"client-certificate-data": "bm8=", "client-key-data": "bm8="},
            )
            config_document["users"][0]["user"] = luck.choice(users)
            config_document["clusters"][0]["cluster"].update(
                luck.choice(({}, {"server": "https://127.0.0.1:1", "certificate-authority-data": "bm8="}))
            )
            config = put("config", written(luck, config_document))
            return Case(["plan", "--kubeconfig", config, "--request-timeout", "1s"])
        case 7:
            config = put("config", yaml.safe_dump(KUBECONFIG).encode())
            verb = luck.choice(
                (["plan", "-p", policy], ["explain", "web-0", "-n", "shop"], ["status"], ["moves"], ["snapshot"])
            )
            return Case([*verb, "--kubeconfig", config, "--request-timeout", "1s"], answers=_answers(luck))
        case 8:
            verb = luck.choice(
                (["validate"], ["compile"], ["graph", "-o", luck.choice(("json", "text", "dot", "svg"))])
            )
            return Case(["tosca", *verb, put("app.tosca.yaml", written(luck, TEMPLATE))])
        case 9:
            importer = luck.choice(("compose", "kubernetes"))
            content = written(luck, COMPOSE) if importer == "compose" else written(luck, CLUSTER, many=True)
            return Case(["tosca", "import", importer, put("there.yaml", content)])
        case 10:
            result = put("result.json", written(luck, RESULT))
            report = luck.choice(((), ("--report", str(folder / "page"))))
            return Case(["compare", result, put("good.json", json.dumps(RESULT).encode()), "-o", output, *report])
        case _:
            others = (*OPTIONS, "1", "-1", "x", "", "messaging-not", str(folder), "\x1b]0;t\x07")
            return Case([luck.choice(VERBS), *(luck.choice(others) for _ in range(luck.randrange(4)))])


def _answers(luck: Random) -> Callable[[str], bytes]:
    """By the end of the path: lists of what is in the cluster, some of them broken on the way."""
    broken = [structure(luck, each) if luck.random() < 0.5 else each for each in CLUSTER]

    def answer(path: str) -> bytes:
        wanted = path.partition("?")[0].rpartition("/")[2]
        items = [each for each in broken if isinstance(each, dict) and f"{each.get('kind')}s".lower() == wanted]
        whole = {"kind": f"{wanted}List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items}
        body = json.dumps(structure(luck, whole) if luck.random() < 0.3 else whole).encode("utf-8", "replace")
        body = text(luck, body) if luck.random() < 0.2 else body
        status = luck.choice(
            (b"200 OK",) * 12 + (b"500 Oops", b"403 Forbidden", b"404 Not Found", b"429 Slow", b"302 Found", b"999 ?")
        )
        length = len(body) + luck.choice((0,) * 12 + (5, -5))
        head = b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\nConnection: close\r\n"
        whole_answer = head + f"Content-Length: {max(0, length)}\r\n\r\n".encode() + body
        return text(luck, whole_answer) if luck.random() < 0.1 else whole_answer

    return answer


@contextmanager
def api_server(answers: Callable[[str], bytes]) -> Iterator[int]:
    """Answers one request per connection, on this machine alone; the port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.settimeout(2.0)
                    asked = connection.recv(65536).decode("latin-1").split(" ")
                    connection.sendall(answers(asked[1] if len(asked) > 1 else "/"))
                except OSError:
                    continue

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(timeout=5.0)
