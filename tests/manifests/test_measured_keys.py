"""One list of measured keys, and whether what a cluster has is the policy that keeps them for the monitor."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from ecotone.manifests import figures_policy, keys, measured_keys
from ecotone.services.monitor.annotations import NODE_KEYS, WORKLOAD_KEYS

DECLARED = (
    keys.AFFINITY, keys.MAX_LATENCY, keys.EDGE_SHARE, keys.TARGET_LATENCY, keys.INDEX, keys.TIER, keys.PRICE, keys.ROLE,
    keys.DEADLINES, keys.EXTERNAL, "index", "saff-db", "app-group", "cpu-usage-limit", "daff-", "my/traffic-db",
)  # fmt: skip


def test_the_pattern_and_the_code_mean_the_same_keys() -> None:
    matching = re.compile(measured_keys.pattern())
    measured = [*measured_keys.OURS, *measured_keys.THEIRS, *(f"{prefix}x" for prefix in measured_keys.PREFIXES)]
    for key in measured:
        assert measured_keys.is_measured(key) and matching.match(key), key
    for key in DECLARED:
        assert not measured_keys.is_measured(key) or key == "daff-", key
        assert not matching.match(key), key


def test_all_that_the_monitor_writes_is_in_the_list() -> None:
    assert {*NODE_KEYS, *WORKLOAD_KEYS, keys.MEASURED_AT} <= set(measured_keys.OURS)


def test_what_the_owner_declares_is_left() -> None:
    notes = {keys.CPU_USAGE: "1", keys.AFFINITY: "{}", "daff-db": "1", "team": "red"}
    assert measured_keys.without_measured(notes) == {keys.AFFINITY: "{}", "team": "red"}
    plain = {"team": "red"}
    assert measured_keys.without_measured(plain) is plain


Change = Callable[[dict[str, Any], dict[str, Any]], None]
WEAKER: dict[str, Change] = {
    "nothing is refused if it cannot be judged": lambda found, _: found["spec"].update(failurePolicy="Ignore"),
    "a check is gone": lambda found, _: found["spec"]["validations"].pop(0),
    "everybody is a controller": lambda found, _: found["spec"]["matchConditions"][0].update(expression="false"),
    "one more condition": lambda found, _: found["spec"]["matchConditions"].append(
        {"name": "a", "expression": "false"}
    ),
    "another meaning of a variable": lambda found, _: found["spec"]["variables"][-1].update(expression="true"),
    "pods are left out": lambda found, _: found["spec"]["matchConstraints"]["resourceRules"].pop(0),
    "creation is left out": lambda found, _: found["spec"]["matchConstraints"]["resourceRules"][0].update(
        operations=["UPDATE"]
    ),
    "an exception": lambda found, _: found["spec"]["matchConstraints"].update(
        excludeResourceRules=[{"resources": ["pods"]}]
    ),
    "some namespaces": lambda found, _: found["spec"]["matchConstraints"].update(
        namespaceSelector={"matchLabels": {"a": "b"}}
    ),
    "names": lambda found, _: found["spec"]["matchConstraints"]["resourceRules"][0].update(resourceNames=["one"]),
    "only the very version": lambda found, _: found["spec"]["matchConstraints"].update(matchPolicy="Exact"),
    "it warns": lambda _, bound: bound["spec"].update(validationActions=["Warn"]),
    "another policy is bound": lambda _, bound: bound["spec"].update(policyName="other"),
    "bound to some": lambda _, bound: bound["spec"].update(
        matchResources={"objectSelector": {"matchLabels": {"a": "b"}}}
    ),
}


def test_the_policy_is_recognised_as_an_api_server_gives_it_back() -> None:
    found, bound = copy.deepcopy(figures_policy.policy()), copy.deepcopy(figures_policy.binding())
    constraints = found["spec"]["matchConstraints"]
    constraints |= {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    for rule in constraints["resourceRules"]:
        rule["scope"] = "*"
    found["metadata"]["uid"] = "1"
    found["spec"]["validations"][0]["message"] = "another text"
    bound["spec"]["matchResources"] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    assert figures_policy.why_not(found, bound) is None


@pytest.mark.parametrize("name", WEAKER)
def test_a_weaker_policy_is_none(name: str) -> None:
    found, bound = copy.deepcopy(figures_policy.policy()), copy.deepcopy(figures_policy.binding())
    WEAKER[name](found, bound)
    assert figures_policy.why_not(found, bound)


@pytest.mark.parametrize("found", [None, {}, {"spec": None}, {"spec": []}, {"spec": {"validations": 5}}])
def test_what_is_no_policy_at_all_is_none(found: dict[str, Any] | None) -> None:
    assert figures_policy.why_not(found, figures_policy.binding())
    assert figures_policy.why_not(figures_policy.policy(), found)
