"""Hostile templates: refused quickly, with an error and without a crash."""

from __future__ import annotations

import time

import pytest

from ecotone.model.errors import InputError
from ecotone.tosca import parse_application, parse_template
from ecotone.tosca.language.patterns import PatternError, compile_pattern

HEAD = "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [{file: ecotone/profile.yaml}]\n"


def seconds_to_refuse(text: str, *, match: str = "") -> float:
    begin = time.process_time()
    with pytest.raises(InputError, match=match):
        parse_application(text)
    return time.process_time() - begin


def test_yaml_bombs_are_refused_quickly() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    bomb = HEAD + "dsl_definitions:\n" + "".join(f"  {level}\n" for level in levels)
    assert seconds_to_refuse(bomb, match="expands to more than") < 1


def test_deep_nesting_is_refused_quickly() -> None:
    assert seconds_to_refuse(HEAD + "topology_template: " + "[" * 100_000, match="nested deeper") < 1
    assert seconds_to_refuse(HEAD + "topology_template: " + "{a: " * 100_000, match="nested deeper") < 1


def test_doubling_concatenations_are_refused() -> None:
    lines = [HEAD, "topology_template:\n  node_templates:\n"]
    for i in range(60):
        call = f"{{concat: [{{get_property: [s{i + 1}, deployment, image]}}, {{get_property: [s{i + 1}, deployment, image]}}]}}"
        lines.append(f"    s{i}: {{type: Service, capabilities: {{deployment: {{properties: {{image: {call}}}}}}}}}\n")
    lines.append("    s60: {type: Service, capabilities: {deployment: {properties: {image: xx}}}}\n")
    assert seconds_to_refuse("".join(lines), match="too large") < 2


def test_long_chains_of_references_are_refused() -> None:
    lines = [HEAD, "topology_template:\n  node_templates:\n"]
    for i in range(2000):
        call = f"{{get_property: [s{i + 1}, deployment, image]}}"
        lines.append(f"    s{i}: {{type: Service, capabilities: {{deployment: {{properties: {{image: {call}}}}}}}}}\n")
    lines.append("    s2000: {type: Service, capabilities: {deployment: {properties: {image: xx}}}}\n")
    assert seconds_to_refuse("".join(lines), match="more than 64 steps") < 10


def test_long_chains_of_types_are_read() -> None:
    chain = "".join(f"  T{i}: {{derived_from: T{i - 1}}}\n" for i in range(1, 3000))
    template = parse_template(
        HEAD + "node_types:\n  T0: {derived_from: Service}\n" + chain + "topology_template: {node_templates: {a: "
        "{type: T2999, capabilities: {deployment: {properties: {image: x}}}}}}"
    )
    assert sum(1 for _ in template.topology.nodes["a"].type.lineage()) == 3003


def test_data_types_nested_into_each_other_without_end_are_refused() -> None:
    text = (
        HEAD + "data_types: {D: {properties: {d: {type: D, default: {}}}}}\n"
        "node_types: {N: {derived_from: tosca.nodes.Root, properties: {d: {type: D}}}}\n"
        "topology_template: {node_templates: {a: {type: N, properties: {d: {}}}}}"
    )
    assert seconds_to_refuse(text, match="too deeply") < 2


def test_a_file_full_of_unknown_names_does_not_take_forever() -> None:
    routes = "".join(f"      - route: nosuch{i}\n" for i in range(3000))
    body = "".join(
        f"    s{i}: {{type: Service, capabilities: {{deployment: {{properties: {{image: x}}}}}}}}\n"
        for i in range(1000)
    )
    text = (
        HEAD + "topology_template:\n  node_templates:\n" + body
        + "    last:\n      type: Service\n      capabilities: {deployment: {properties: {image: x}}}\n      requirements:\n"
        + routes
    )  # fmt: skip
    assert seconds_to_refuse(text, match="nosuch0") < 15


def test_patterns_run_in_linear_time() -> None:
    begin = time.process_time()
    assert not compile_pattern("(a+)+$").matches("a" * 5000 + "b")
    assert not compile_pattern("(a|aa)*c").matches("a" * 5000)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("[a-z]+", "abc", True),
        ("[a-z]+", "aBc", False),
        ("a{2,3}", "aa", True),
        ("a{2,3}", "aaaa", False),
        (r"\d+\.\d*", "12.", True),
        ("(foo|bar)?baz", "barbaz", True),
        ("^x$", "x", True),
        ("[^/]*/.+", "a/b", True),
        ("", "", True),
        (r"[\w.-]+", "a_b-c.d", True),
        ("a*?b", "aab", True),
        ("a$b", "ab", False),
    ],
)
def test_patterns_match_whole_texts(pattern: str, text: str, expected: bool) -> None:
    assert compile_pattern(pattern).matches(text) is expected


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "a{99999}", "x" * 600, "(?i)a"])
def test_patterns_that_cannot_run_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "text", ["(){4294967294}", "(){0,4294967294}", "((){1000}){1000}", "(|){99999999}", "(^){9999999}"]
)
def test_repetitions_of_nothing_are_charged_like_any_other(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(PatternError, match="too large"):
        compile_pattern(text)
    assert time.process_time() - begin < 0.5


def test_repetitions_within_the_budget_still_match() -> None:
    assert compile_pattern("(a|){50}b{2,3}").matches("aaabb")
    assert not compile_pattern("(a|){2}b{2,3}").matches("aaabb")
