"""The schemas that editors use: everything that ships is valid, and what readers refuse by its name or kind is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from cli.running import Run
from ecotone.cli.schema import SCHEMAS, Kind
from ecotone.manifests.configuration import configuration_document, parse_configuration
from ecotone.manifests.yaml.positions import load_document
from ecotone.model.errors import InputError
from ecotone.scheduling import POLICIES
from ecotone.sim.scenario import builtin_scenarios, grammar, read_scenario
from ecotone.sim.scenario.builtin import read_text
from ecotone.tosca import parse_application

ROOT = Path(__file__).parents[2]
TEMPLATES = [
    *sorted((ROOT / "examples" / "tosca").rglob("*.yaml")),
    *sorted((ROOT / "tests/tosca/valid").glob("*.yaml")),
]
VALIDATORS = {kind: jsonschema_rs.validator_for(made()) for kind, made in SCHEMAS.items()}


def plain(text: str | bytes) -> Any:
    return load_document(text, file="f").plain()


def refused(kind: Kind, document: Any) -> list[str]:
    return [f"{list(each.instance_path)}: {each.message}" for each in VALIDATORS[kind].iter_errors(document)]


@pytest.mark.parametrize("kind", Kind)
def test_the_verb_prints_a_schema_that_is_one(run: Run, kind: Kind) -> None:
    result = run("schema", kind.value)
    assert (result.code, result.err) == (0, "")
    printed = json.loads(result.out)
    assert printed == SCHEMAS[kind]() and printed["$schema"].endswith("2020-12/schema")
    jsonschema_rs.meta.validate(printed)


@pytest.mark.parametrize("name", builtin_scenarios())
def test_every_built_in_scenario_is_valid(name: str) -> None:
    assert refused(Kind.SCENARIO, plain(read_text(name)[0])) == []


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from mappings(each)


SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: all}
spec:
  duration: 60s
  cluster:
    nodes:
    - {name: a, tier: edge, cpu: "1", memory: 4Gi, taints: [{key: k, effect: NoSchedule}], price: 0.5}
    - {name: b, cpu: 2, memory: 4Gi}
    network: {default: {rtt: 10ms, jitter: 0}, links: [{between: [a, b], rtt: 5ms, bandwidth: 100Mbit, loss: 1%}]}
    registry: {bandwidth: 100Mbit}
  application:
    name: shop
    services:
    - name: web
      requests: {cpu: 100m, memory: 64Mi}
      prefer: {tier: edge, weight: 1}
      disruption: {max-unavailable: 1}
      tolerates: [k]
      balance: same-node
      endpoints:
      - {name: get, cpu: {mean: 10ms, distribution: constant}, stages: [[{call: db.q, connection: new, async: true}]]}
    - {name: db, image: 20MB, memory: {use: 1Mi}, endpoints: [{name: q, cpu: 1ms}]}
    traces: {db: [[0s, 1], [30s, 2]]}
    autoscale: {web: {cpu: 60%, min: 1, max: 3}}
  load: [{at: 0s, for: 30s, entry: web.get, from: all, arrivals: {users: 2, every: 1s}}]
  events: [{at: 5s, link: [a, b], rtt: 9ms}, {at: 6s, node: b, state: cordoned}]
  control: {scrape: 5s}
  qos: {latency: {edge: 50ms}, targets: {web: 1.0}}
"""


def test_schema_and_reader_agree_on_a_scenario_and_on_a_misspelt_field_anywhere_in_it() -> None:
    read_scenario(SCENARIO, file="f")
    assert refused(Kind.SCENARIO, plain(SCENARIO)) == []
    free = {"edge"}, {"web"}, {"db"}  # mappings by names of the file's own
    count = len(list(mappings(plain(SCENARIO))))
    for number in range(count):
        document = copy.deepcopy(plain(SCENARIO))
        chosen = list(mappings(document))[number]
        if set(chosen) in free:
            continue
        chosen["nonsense"] = "x"
        with pytest.raises(InputError):
            read_scenario(json.dumps(document), file="f")
        assert refused(Kind.SCENARIO, document), chosen


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("duration: 60s", "duration: 60"),
        ("duration: 60s", "duration: 60 lightyears"),
        ("kind: Scenario", "kind: Scenery"),
        ("balance: same-node", "balance: fair"),
        ("state: cordoned", "state: tired"),
        ("bandwidth: 100Mbit, loss", "bandwidth: 100MB, loss"),
        ("loss: 1%", "loss: 0.01"),
        ("between: [a, b]", "between: [a]"),
        ("async: true", "async: perhaps"),
        ("weight: 1}", "weight: much}"),
        ("[30s, 2]", "[30s]"),
    ],
)
def test_a_wrong_value_is_refused_by_both(old: str, new: str) -> None:
    text = SCENARIO.replace(old, new, 1)
    assert text != SCENARIO
    with pytest.raises(InputError):
        read_scenario(text, file="f")
    assert refused(Kind.SCENARIO, plain(text))


def test_every_field_of_the_grammar_is_in_the_schema() -> None:
    listed = {frozenset(each["properties"]) for each in mappings(SCHEMAS[Kind.SCENARIO]()) if "properties" in each}
    assert {frozenset(block.fields) for block in grammar.BLOCKS} <= listed


@pytest.mark.parametrize("name", POLICIES)
def test_every_built_in_policy_is_valid_as_a_profile(name: str) -> None:
    printed = json.loads(json.dumps(configuration_document([POLICIES[name]])))
    assert refused(Kind.PROFILE, printed) == []


@pytest.mark.parametrize(
    "profile",
    [
        {"polcy": "sophos"},
        {"policy": "sofos"},
        {"policy": "sophos", "plugins": {"scores": {}}},
        {"policy": "sophos", "plugins": {"score": {"enabled": [{"name": "NetworkAwar"}]}}},
        {"policy": "sophos", "plugins": {"score": {"enabled": [{"name": "NetworkAware", "weight": 0}]}}},
        {"policy": "sophos", "descheduler": {"minGian": 1}},
        {"policy": "sophos", "descheduler": {"rule": "worst-gain"}},
        {"policy": "sophos", "descheduler": {"singleReplicas": "sometimes"}},
        {"policy": "sophos", "tieDraw": "yes"},
    ],
)
def test_a_wrong_profile_is_refused_by_both(profile: dict[str, Any]) -> None:
    document = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "SchedulerConfiguration", "profiles": [profile]}
    with pytest.raises(InputError):
        parse_configuration(json.dumps(document), file="f")
    assert refused(Kind.PROFILE, document)


def test_a_plugin_of_ones_own_may_be_named_by_its_file() -> None:
    profile = {"policy": "sophos", "plugins": {"score": {"enabled": [{"name": "./mine.py:Mine", "weight": 2}]}}}
    assert refused(Kind.PROFILE, {"kind": "SchedulerConfiguration", "profiles": [profile]}) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_template_that_ships_is_valid(path: Path) -> None:
    assert refused(Kind.TOSCA, plain(path.read_bytes())) == []


TEMPLATE = """
tosca_definitions_version: tosca_simple_yaml_1_3
imports: [{file: ecotone/profile.yaml}]
topology_template:
  node_templates:
    web:
      type: Service
      capabilities: {deployment: {properties: {image: web, replicas: 2, cpu: 100m}}, service: {properties: {port: 80}}}
      requirements: [{route: {node: db, relationship: TCPRoute}}]
    db: {type: ExternalService, capabilities: {endpoint: {properties: {host: db.example, port: 3306}}}}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replicas: 2", "replcias: 2"),
        ("replicas: 2", "replicas: two"),
        ("replicas: 2", "replicas: -1"),
        ("port: 80}", "port: 80000}"),
        ("cpu: 100m", "cpu: 1"),
        ("topology_template:", "topology:"),
        ("relationship: TCPRoute", "relation: TCPRoute"),
        ("type: Service\n      capabilities", "type: Service\n      capability"),
        ("endpoint: {prop", "end: {prop"),
        ("simple_yaml_1_3", "simple_yaml_9"),
    ],
)
def test_a_wrong_template_is_refused_by_both(old: str, new: str) -> None:
    parse_application(TEMPLATE)
    assert refused(Kind.TOSCA, plain(TEMPLATE)) == []
    text = TEMPLATE.replace(old, new, 1)
    assert text != TEMPLATE
    with pytest.raises(InputError):
        parse_application(text)
    assert refused(Kind.TOSCA, plain(text))
