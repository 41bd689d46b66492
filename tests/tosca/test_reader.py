"""The reader: inheritance, functions, relationships, and what it ignores on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecotone.model.errors import InputError
from ecotone.tosca import TemplateError, parse_template, read_inputs, read_template
from ecotone.tosca.language.topology import NodeTemplate

HEAD = "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [{file: ecotone/profile.yaml}]\n"
VALID = sorted((Path(__file__).parent / "valid").glob("*.yaml"))


def nodes(text: str) -> dict[str, NodeTemplate]:
    return parse_template(HEAD + text).topology.nodes


def refusal(text: str, **options: object) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        parse_template(HEAD + text, **options)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid_templates_are_read_without_complaint(path: Path) -> None:
    assert not read_template(path).problems


def test_default_priorities_are_the_contracts() -> None:
    routes = {
        "PriorityRoute": 10, "SynchronousRoute": 80, "HTTPRoute": 100, "gRPCRoute": 90, "TCPRoute": 85,
        "AsynchronousRoute": 20, "HTTPServerPushRoute": 40, "AMQPRoute": 30,
    }  # fmt: skip
    requirements = ", ".join(f"{{route: {{node: a, relationship: {name}}}}}" for name in routes)
    found = nodes(
        "topology_template: {node_templates: {a: {type: Service, capabilities: {deployment: {properties: {image: x}}},"
        f" requirements: [{requirements}]}}}}}}"
    )
    assert [requirement.properties.get("priority") for requirement in found["a"].requirements] == list(routes.values())


def test_route_is_the_base_of_all_channels_and_those_of_an_application_have_a_priority() -> None:
    types = """relationship_types: {Mine: {derived_from: %s, properties: {priority: {type: integer, default: 7}}}}
topology_template:
  node_templates:
    a:
      type: Service
      capabilities: {deployment: {properties: {image: x}}}
      requirements: [{route: {node: a, relationship: Mine}}]
"""
    assert nodes(types % "PriorityRoute")["a"].requirements[0].properties.get("priority") == 7
    (problem,) = refusal(types % "Route").problems
    assert "`Mine` does not derive from `PriorityRoute`" in problem.message


def test_constraints_survive_redefinition() -> None:
    types = """relationship_types:
  Narrow: {derived_from: HTTPRoute, properties: {priority: {type: integer, default: 5, constraints: [{less_than: 10}]}}}
  Narrower: {derived_from: Narrow, properties: {priority: {type: integer, default: 6}}}
topology_template:
  node_templates:
    a:
      type: Service
      capabilities: {deployment: {properties: {image: x}}}
      requirements: [{route: {node: a, relationship: {type: Narrower, properties: {priority: %d}}}}]
"""
    assert nodes(types % 9)["a"].requirements[0].properties.get("priority") == 9
    for wrong, constraint in ((10, "less_than: 10"), (-1, "greater_or_equal: 0")):
        error = refusal(types % wrong)
        assert [constraint in problem.message for problem in error.problems] == [True]


@pytest.mark.parametrize("written", ["200 ms", "200ms", "0.2 s", "200000 us", '"200 MS"'])
def test_a_time_may_be_written_in_many_ways(written: str) -> None:
    found = nodes(
        "topology_template: {node_templates: {a: {type: Service, capabilities: {deployment: {properties: {image: x}}},"
        f" requirements: [{{route: {{node: a, relationship: {{type: HTTPRoute, properties: {{deadline: {written}}}}}}}}}]}}}}}}"
    )
    assert found["a"].requirements[0].properties.get("deadline").base * 1000 == 200


def test_integers_are_no_strings() -> None:
    error = refusal(
        "topology_template: {node_templates: {a: {type: Service, capabilities: "
        "{deployment: {properties: {image: x, cpu: 1}}}}}}"
    )
    assert error.hint == 'write "1"'
    assert (error.line, error.column) == (3, 113)


def test_inputs_are_given_checked_and_used(tmp_path: Path) -> None:
    text = """topology_template:
  inputs: {size: {type: integer, constraints: [{in_range: [1, 9]}]}, tag: {type: string, default: latest}}
  node_templates:
    a:
      type: Service
      capabilities:
        deployment: {properties: {image: {concat: ["x:", {get_input: tag}]}, replicas: {get_input: size}}}
"""
    found = parse_template(HEAD + text, inputs=read_inputs(["size=3"], [])).topology.nodes["a"]
    assert found.capabilities["deployment"].properties.values() == {"replicas": 3, "image": "x:latest"}
    file = tmp_path / "inputs.yaml"
    file.write_text("size: 4\ntag: '7'\n")
    found = parse_template(HEAD + text, inputs=read_inputs(["size=5"], [file])).topology.nodes["a"]
    assert found.capabilities["deployment"].properties.values() == {"replicas": 5, "image": "x:7"}
    wrong = refusal(text, inputs=read_inputs(["size=12", "sze=1"], []))
    assert [problem.file for problem in wrong.problems] == ["--input size", "--input sze"]
    assert wrong.problems[1].hint == "did you mean `size`?"
    with pytest.raises(InputError, match="NAME=VALUE"):
        read_inputs(["size"], [])


def test_outputs_are_ignored_with_a_note() -> None:
    template = parse_template(HEAD + "topology_template: {outputs: {x: {value: 1}}, node_templates: {}}", name="f.yaml")
    assert template.notes == ["f.yaml:3:21: `outputs` is read and ignored: it has no meaning before deployment"]


def test_relative_imports_are_found_beside_the_importing_file(tmp_path: Path) -> None:
    (tmp_path / "types").mkdir()
    (tmp_path / "types" / "a.yaml").write_text(HEAD.replace("]", ", b.yaml]"))
    (tmp_path / "types" / "b.yaml").write_text(HEAD + "node_types: {Web: {derived_from: Service}}\n")
    (tmp_path / "app.yaml").write_text(
        HEAD.replace("]", ", types/a.yaml]")
        + "topology_template: {node_templates: {w: {type: Web, capabilities: {deployment: {properties: {image: x}}}}}}"
    )
    assert read_template(tmp_path / "app.yaml").topology.nodes["w"].type.name == "Web"


def test_errors_in_imported_files_carry_their_name(tmp_path: Path) -> None:
    (tmp_path / "types.yaml").write_text(HEAD + "node_types:\n  Web: {derived_from: Servise}\n")
    (tmp_path / "app.yaml").write_text(HEAD.replace("]", ", types.yaml]") + "topology_templat: {}\n")
    with pytest.raises(TemplateError) as caught:
        read_template(tmp_path / "app.yaml")
    places = [(Path(p.file or "").name, p.line, p.column) for p in caught.value.problems]
    assert places == [("app.yaml", 3, 1), ("types.yaml", 4, 23)]


def test_a_missing_template_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the template: No such file"):
        read_template(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot read the template"):
        read_template(tmp_path)


def test_get_property_reaches_requirements_and_hosts() -> None:
    found = nodes(
        """topology_template:
  node_templates:
    server: {type: tosca.nodes.Compute, capabilities: {host: {properties: {name: big}}}}
    web:
      type: tosca.nodes.SoftwareComponent
      properties: {component_version: {get_property: [HOST, os, version]}}
      requirements: [{host: server}]
    other:
      type: tosca.nodes.DBMS
      properties: {root_password: {get_property: [SELF, host, name]}}
      capabilities: {host: {properties: {name: own}}}
      requirements: [{host: server}]
""".replace(
            "{host: {properties: {name: big}}}", "{host: {properties: {name: big}}, os: {properties: {version: 1.2.3}}}"
        )
    )
    assert str(found["web"].properties.get("component_version").major) == "1"
    assert found["other"].properties.get("root_password") == "own"


def test_relationship_properties_see_both_ends() -> None:
    found = nodes("""relationship_types: {Tagged: {derived_from: HTTPRoute, properties: {tag: {type: string}}}}
topology_template:
  node_templates:
    a:
      type: Service
      capabilities: {deployment: {properties: {image: from}}}
      requirements:
      - route:
          node: b
          relationship:
            type: Tagged
            properties:
              tag:
                concat:
                - {get_property: [SOURCE, deployment, image]}
                - "-"
                - {get_property: [TARGET, deployment, image]}
    b: {type: Service, capabilities: {deployment: {properties: {image: to}}}}
""")
    assert found["a"].requirements[0].properties.get("tag") == "from-to"
