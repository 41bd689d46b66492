"""What ``ecotone manifests`` prints."""

from __future__ import annotations

import pytest
import yaml

from ecotone.cli import main
from ecotone.services.install import PARTS, extender_configuration
from ecotone.services.install.rbac import EXTENDER_RULES, SCHEDULER_RULES


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert main(["manifests", *arguments]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_everything_has_a_place_and_a_name_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, *PARTS)
    names = [(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in objects]
    assert len(names) == len(set(names))
    assert {one["kind"] for one in objects} >= {"CustomResourceDefinition", "ClusterRole", "Deployment", "Service"}


def test_roles_touch_no_secrets_and_no_wildcards() -> None:
    for rule in (*SCHEDULER_RULES, *EXTENDER_RULES):
        for values in rule.values():
            assert "*" not in values
            assert "secrets" not in values


def test_the_printed_extender_configuration_is_the_one_that_is_tested(capsys: pytest.CaptureFixture[str]) -> None:
    (config,) = [one for one in printed(capsys, "extender") if one["kind"] == "ConfigMap"]
    pasted = yaml.safe_load(config["data"]["config.yaml"])
    assert pasted == extender_configuration(pasted["extenders"][0]["urlPrefix"])
    assert pasted["extenders"][0]["nodeCacheCapable"]
    assert pasted["extenders"][0]["ignorable"]


def test_an_unknown_part_is_an_error_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "schedular"]) == 2
    assert "did you mean 'scheduler'?" in capsys.readouterr().err
