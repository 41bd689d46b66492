"""Rules and dashboards: promtool accepts them, and they ask only for metrics that the programs have."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from ecotone.services.descheduler.metrics import DeschedulerMetrics
from ecotone.services.install.alerts import ALERTS, RECORDED, rule_file, rules
from ecotone.services.install.dashboards import PAGES, dashboards, page
from ecotone.services.scheduler.metrics import SchedulerMetrics
from real_programs import tool

METRIC = re.compile(r"\becotone[_:][a-z0-9_:]+")


def installed(program: str) -> bool:
    return find_spec(f"ecotone.services.{program}") is not None


def known() -> set[str]:
    registries = [SchedulerMetrics().registry, DeschedulerMetrics().registry]
    registries += [_registry(module) for module in ("monitor", "probe") if installed(module)]
    names = set(RECORDED)
    for registry in registries:
        for family in registry.collect():
            names |= {family.name, *(f"{family.name}_{end}" for end in ("total", "bucket", "sum", "count"))}
    return names


def _registry(program: str) -> CollectorRegistry:
    metrics: Any = getattr(import_module(f"ecotone.services.{program}.metrics"), f"{program.capitalize()}Metrics")
    registry: CollectorRegistry = (metrics("node") if program == "probe" else metrics()).registry
    return registry


def expressions() -> dict[str, str]:
    asked = dict(RECORDED)
    asked |= {name: expression for name, expression, *_ in ALERTS}
    for name in PAGES:
        for panel in page(name)["panels"]:
            asked |= {f"{name}: {panel['title']} {one['refId']}": one["expr"] for one in panel["targets"]}
    return asked


def present(name: str) -> bool:
    program = re.match(r"ecotone[_:](\w+?)_", name)
    return program is None or installed(program[1])


def test_every_question_is_about_a_metric_that_exists() -> None:
    have = known()
    missing = {
        (where, name)
        for where, expression in expressions().items()
        for name in METRIC.findall(expression)
        if name not in have and present(name)
    }
    assert not missing


def test_dashboards_are_json_with_panels_that_do_not_overlap() -> None:
    for one in dashboards():
        ((_, text),) = one["data"].items()
        found = json.loads(text)
        places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in found["panels"]}
        assert len(places) == len(found["panels"]) >= 4
        assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"])


def test_the_config_map_holds_the_rule_file() -> None:
    (one,) = rules()
    assert yaml.safe_load(one["data"]["ecotone.rules.yaml"]) == rule_file()


@pytest.fixture
def promtool(tmp_path: Path) -> Any:
    program = tool("promtool")
    (tmp_path / "ecotone.rules.yaml").write_text(rules()[0]["data"]["ecotone.rules.yaml"])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_promtool_accepts_the_rules(promtool: Any) -> None:
    done = promtool("check", "rules", "ecotone.rules.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS) + len(RECORDED)} rules found" in done.stdout


def test_alerts_fire_when_they_should_and_only_then(promtool: Any, tmp_path: Path) -> None:
    def alerts(name: str, at: str, **labels: str) -> dict[str, Any]:
        return {"eval_time": at, "alertname": name, "exp_alerts": [{"exp_labels": labels}] if labels else []}

    series = [
        {"series": 'ecotone_scheduler_leader{pod="a"}', "values": "1x10 0x20"},
        {"series": 'ecotone_scheduler_leader{pod="b"}', "values": "0x30"},
        {"series": 'ecotone_descheduler_breaker_open{app_group="shop"}', "values": "0x10 1x20"},
        {"series": 'ecotone_probe_sent_total{origin="e1",target="e2"}', "values": "0+60x30"},
        {"series": 'ecotone_probe_lost_total{origin="e1",target="e2"}', "values": "0+6x30"},
    ]
    test = {
        "rule_files": ["ecotone.rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "alert_rule_test": [
                    alerts("EcotoneSchedulerHasNoLeader", "9m"),
                    alerts("EcotoneSchedulerHasNoLeader", "20m", severity="critical"),
                    alerts("EcotoneDeschedulerStopped", "9m"),
                    alerts("EcotoneDeschedulerStopped", "20m", severity="warning"),
                    alerts("EcotoneLinkLosesPackets", "25m", severity="info", origin="e1", target="e2"),
                    alerts("EcotoneProbeIsSilent", "25m"),
                ],
                "promql_expr_test": [
                    {
                        "expr": "ecotone:probe_loss:ratio5m",
                        "eval_time": "20m",
                        "exp_samples": [
                            {"labels": 'ecotone:probe_loss:ratio5m{origin="e1", target="e2"}', "value": 0.1}
                        ],
                    }
                ],
            }
        ],
    }
    for one in test["tests"][0]["alert_rule_test"]:  # type: ignore[index]
        said = next(rule for rule in rule_file()["groups"][1]["rules"] if rule["alert"] == one["alertname"])
        for expected in one["exp_alerts"]:
            values = {"origin": "e1", "target": "e2"}
            texts = dict(said["annotations"])
            texts["summary"] = texts["summary"].replace("{{ $value | humanizePercentage }}", "10%")
            for name, value in values.items():
                texts["summary"] = texts["summary"].replace("{{ $labels." + name + " }}", value)
            expected["exp_annotations"] = texts
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    done = promtool("test", "rules", "test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
