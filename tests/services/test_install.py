"""What ``ecotone manifests`` prints."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
import yaml

from ecotone.cli import main
from ecotone.services.install import COMPONENTS, PARTS, extender_configuration
from ecotone.services.install.rbac import EXTENDER_RULES, SCHEDULER_RULES
from examples.transcripts import misunderstood


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
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


PROXIES = ("--front-end", "shop/front-end:8079", "--external", "orders-db=db.example:5432", "-n", "shop")


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in objects
        if one["kind"] in ("Deployment", "DaemonSet")
    }


def test_every_pod_is_restricted_probed_and_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    found = pods([*printed(capsys), *printed(capsys, "extender"), *printed(capsys, *PROXIES)])
    assert len(found) == 7
    for name, spec in found.items():
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not spec.get("hostNetwork")
        # Our classes may be used in our namespace alone; the proxies are in the application's.
        assert ("priorityClassName" in spec) == name.startswith("ecotone-"), name
        for container in spec["containers"]:
            security = container["securityContext"]
            assert security["capabilities"] == {"drop": ["ALL"]} and security["readOnlyRootFilesystem"]
            assert security["allowPrivilegeEscalation"] is False
            assert container["livenessProbe"] and container["readinessProbe"]
            assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]


def test_every_service_of_ours_has_a_network_policy(capsys: pytest.CaptureFixture[str]) -> None:
    objects = [*printed(capsys), *printed(capsys, "extender"), *printed(capsys, *PROXIES)]
    own = [one for one in objects if one["kind"] in ("Deployment", "DaemonSet")]
    selected = [one["spec"]["podSelector"]["matchLabels"] for one in objects if one["kind"] == "NetworkPolicy"]
    for workload in own:
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert any(each.items() <= labels.items() for each in selected), workload["metadata"]["name"]
    services = {one["metadata"]["name"] for one in objects if one["kind"] == "Service"}
    assert services == {"ecotone-extender", "orders-db", "front-end-near"}, "the last one has the shop's own pods"


FILES = (
    "--prometheus", "https://prom.example:9091", "--prometheus-token-secret", "prom-token",
    "--prometheus-ca-config-map", "prom-ca", "--metrics-token-secret", "readers",
)  # fmt: skip


def test_tokens_and_certificates_are_mounted_where_they_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    found = pods(printed(capsys, *FILES))
    folder = "/etc/ecotone"
    held = {
        "prometheus-token": (
            f"--prometheus-token-file={folder}/prometheus-token/token",
            {"secret": {"secretName": "prom-token"}},
        ),
        "prometheus-ca": (f"--prometheus-ca={folder}/prometheus-ca/ca.crt", {"configMap": {"name": "prom-ca"}}),
        "metrics-token": (f"--metrics-token-file={folder}/metrics-token/token", {"secret": {"secretName": "readers"}}),
    }
    for program, read in {"ecotone-monitor": list(held), "ecotone-descheduler": ["metrics-token"]}.items():
        spec = found[program]
        (main,) = spec["containers"]
        assert spec["volumes"] == [{"name": name, **held[name][1]} for name in read]
        assert [argument for argument in main["args"] if folder in argument] == [held[name][0] for name in read]
        assert main["volumeMounts"] == [
            {"name": name, "mountPath": f"{folder}/{name}", "readOnly": True} for name in read
        ]
    assert not {"ecotone-scheduler", "ecotone-probe"} & {name for name, spec in found.items() if "volumes" in spec}


def test_programs_take_the_arguments_that_they_are_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_NAME", "edge-1")
    for spec in pods(printed(capsys, *FILES)).values():
        assert misunderstood(shlex.join(["ecotone", *spec["containers"][0]["args"]])) is None


def test_without_files_nothing_is_mounted(capsys: pytest.CaptureFixture[str]) -> None:
    assert not any("volumes" in spec for spec in pods(printed(capsys)).values())


def test_a_program_is_reached_by_its_own_kind_and_by_those_who_are_labelled(capsys: pytest.CaptureFixture[str]) -> None:
    objects = [*printed(capsys), *printed(capsys, "extender")]
    policies = {one["metadata"]["name"]: one["spec"]["ingress"] for one in objects if one["kind"] == "NetworkPolicy"}
    assert set(policies) == {*COMPONENTS.values(), "ecotone-extender"}
    reaches = {"matchLabels": {"ecotone.dev/reaches": "true"}}
    for first, *others in policies.values():
        assert first["from"] == [
            {"podSelector": {"matchLabels": {"app.kubernetes.io/part-of": "ecotone"}}},
            {"podSelector": reaches},
            {"namespaceSelector": reaches},
        ]
        assert {} not in [source.get("podSelector") for rule in others for source in rule["from"]]


def test_a_proxy_is_reached_by_the_application_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    policies = [one["spec"] for one in printed(capsys, *PROXIES) if one["kind"] == "NetworkPolicy"]
    assert len(policies) == 2 and all({"podSelector": {}} in one["ingress"][0]["from"] for one in policies)


def test_only_the_chosen_components_get_rights_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    for chosen, account in COMPONENTS.items():
        objects = printed(capsys, "--component", chosen)
        kinds = ("ServiceAccount", "Role", "ClusterRole", "Deployment", "DaemonSet", "NetworkPolicy")
        assert {one["metadata"]["name"] for one in objects if one["kind"] in kinds} == {account}
        policies = {one["metadata"]["name"] for one in objects if one["kind"] == "ValidatingAdmissionPolicy"}
        moves = {f"ecotone-descheduler{part}" for part in ("", "-pods", "-scale", "-evictions")}
        expected = {
            "scheduler": {"ecotone-figures", "ecotone-reservations"},
            "monitor": {"ecotone-figures", "ecotone-monitor"},
            "descheduler": {"ecotone-figures", "ecotone-reservations", *moves},
        }
        assert policies == {"ecotone-priorities", *expected.get(chosen, set())}


def test_rights_to_move_are_given_in_the_named_namespaces_alone(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, "rbac", "descheduler", "--move-only-in", "shop", "--move-only-in", "market")
    moving = {"pods/eviction", "deployments/scale", "reservations"}
    places = {
        one["metadata"].get("namespace", "")
        for one in objects
        if one["kind"] in ("Role", "ClusterRole")
        for rule in one["rules"]
        if moving & set(rule["resources"])
        and {"create", "update"} & set(rule["verbs"])
        and one["metadata"]["name"] == "ecotone-descheduler"
    }
    assert places == {"shop", "market"}
    (program,) = [one for one in objects if one["kind"] == "Deployment"]
    arguments = program["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {"--only-namespace=shop", "--only-namespace=market"} <= set(arguments)


def test_no_role_reads_secrets_or_contains_a_wildcard(capsys: pytest.CaptureFixture[str]) -> None:
    roles = [one for one in printed(capsys, *PARTS) if one["kind"] in ("Role", "ClusterRole")]
    assert len(roles) == 8
    for rule in (rule for role in roles for rule in role["rules"]):
        for values in rule.values():
            assert "*" not in values and "secrets" not in values


def test_the_probe_pings_without_privileges_on_the_pod_network(capsys: pytest.CaptureFixture[str]) -> None:
    spec = pods(printed(capsys, "probe"))["ecotone-probe"]
    group = spec["securityContext"]["runAsGroup"]
    assert spec["securityContext"]["sysctls"] == [{"name": "net.ipv4.ping_group_range", "value": f"{group} {group}"}]
    assert spec["tolerations"] == [{"operator": "Exists"}] and "hostNetwork" not in spec


def test_the_input_proxy_receives_on_each_node_and_forwards_near_first(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, *PROXIES)
    service = next(one for one in objects if one["kind"] == "Service" and one["metadata"]["name"] == "front-end-near")
    assert service["spec"]["trafficDistribution"] == "PreferSameNode"
    assert service["spec"]["selector"] == {"app": "front-end"}
    proxy = next(one for one in objects if one["kind"] == "DaemonSet")
    assert proxy["spec"]["template"]["metadata"]["labels"]["ecotone.dev/role"] == "input-proxy"
    (envoy,) = proxy["spec"]["template"]["spec"]["containers"]
    assert envoy["ports"][0]["hostPort"] == 8080
    configuration = json.loads(envoy["args"][1])["static_resources"]
    assert [one["name"] for one in configuration["clusters"]] == ["front-end", "admin"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--front-end", "front-end"), ("--front-end", "a/b:0"), ("--external", "db"), ("--external", "db=host"),
        ("--prometheus-token-secret", "a"), ("--metrics-token-secret", "No Name"),
        ("--component", "monitr"), ("--policy", "nope"), ("-n", "Bad NS"),
        ("--exclude-namespace", "A b"), ("--move-only-in", "-x"),
    ],
)  # fmt: skip
def test_what_cannot_be_installed_is_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert main(["manifests", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") <= 2 and "Traceback" not in captured.err
