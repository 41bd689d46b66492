"""Rules and dashboards: promtool accepts them, and they ask only for metrics that the programs have."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
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
    names = set(RECORDED)
    for registry in registries():
        for family in registry.collect():
            names |= {family.name, *(f"{family.name}_{end}" for end in ("total", "bucket", "sum", "count"))}
    return names


def registries() -> list[CollectorRegistry]:
    told = [SchedulerMetrics().registry, DeschedulerMetrics().registry]
    return told + [_registry(module) for module in ("monitor", "probe") if installed(module)]


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


def test_what_counts_up_is_a_counter() -> None:
    """A rate of a gauge is nonsense to whoever reads the type; and by its name nobody would know."""
    told = [family for registry in registries() for family in registry.collect()]
    assert [family.name for family in told if family.name.endswith("_total") or family.type == "unknown"] == []
    assert {"ecotone_scheduler_lists", "ecotone_scheduler_objects_left_out"} <= {
        family.name for family in told if family.type == "counter"
    }


@dataclass(frozen=True)
class Case:
    """Series by which an alert fires after so many minutes, with its labels and value, and series by which it does not."""

    firing: dict[str, str]
    quiet: dict[str, str]
    at: int = 30
    labels: dict[str, str] = field(default_factory=dict)
    value: str = ""


CASES = {
    "EcotoneSchedulerHasNoLeader": Case(
        {'ecotone_scheduler_leader{pod="a"}': "0x60", 'ecotone_scheduler_leader{pod="b"}': "0x60"},
        {'ecotone_scheduler_leader{pod="a"}': "0x60", 'ecotone_scheduler_leader{pod="b"}': "1x60"},
    ),
    "EcotonePodsPending": Case(
        {'ecotone_scheduler_pending_pods{queue="unschedulable"}': "3x60"},
        {
            'ecotone_scheduler_pending_pods{queue="unschedulable"}': "3x10 0x50",
            'ecotone_scheduler_pending_pods{queue="active"}': "9x60",
        },
        value="3",
    ),
    "EcotoneBindingsFail": Case(
        {
            'ecotone_scheduler_bindings_total{outcome="bound"}': "0+80x60",
            'ecotone_scheduler_bindings_total{outcome="error"}': "0+20x60",
        },
        {
            'ecotone_scheduler_bindings_total{outcome="bound"}': "0+95x60",
            'ecotone_scheduler_bindings_total{outcome="error"}': "0+5x60",
        },
    ),
    "EcotoneNodesOvercommitted": Case(
        {"ecotone_scheduler_overcommitted_nodes": "2x60"}, {"ecotone_scheduler_overcommitted_nodes": "0x60"}, value="2"
    ),
    "EcotoneObjectsLeftOut": Case(
        {'ecotone_scheduler_objects_left_out_total{type="pods"}': "0x20 1x40"},
        {'ecotone_scheduler_objects_left_out_total{type="pods"}': "7x60"},
        labels={"type": "pods"},
    ),
    "EcotoneMeasurementsAreOld": Case(
        {'ecotone_monitor_oldest_sample_age_seconds{part="cluster"}': "600x60"},
        {'ecotone_monitor_oldest_sample_age_seconds{part="cluster"}': "90x60"},
        value="10m 0s",
    ),
    "EcotoneQueriesFail": Case(
        {
            'ecotone_monitor_queries_total{result="answered"}': "0+1x60",
            'ecotone_monitor_queries_total{result="unreachable"}': "0+9x60",
        },
        {
            'ecotone_monitor_queries_total{result="answered"}': "0+9x60",
            'ecotone_monitor_queries_total{result="unreachable"}': "0+1x60",
        },
    ),
    "EcotoneDeschedulerStopped": Case(
        {'ecotone_descheduler_breaker_open{app_group="shop"}': "0x10 1x50"},
        {'ecotone_descheduler_breaker_open{app_group="shop"}': "1x10 0x50"},
    ),
    "EcotoneProbeIsSilent": Case(
        {'ecotone_probe_sent_total{origin="e1",target="e2"}': "60x60"},
        {'ecotone_probe_sent_total{origin="e1",target="e2"}': "0+60x60"},
        labels={"origin": "e1"},
    ),
    "EcotoneLinkLosesPackets": Case(
        {
            'ecotone_probe_sent_total{origin="e1",target="e2"}': "0+60x60",
            'ecotone_probe_lost_total{origin="e1",target="e2"}': "0+6x60",
        },
        {
            'ecotone_probe_sent_total{origin="e1",target="e2"}': "0+60x60",
            'ecotone_probe_lost_total{origin="e1",target="e2"}': "0+2x60",
        },
        labels={"origin": "e1", "target": "e2"},
        value="10%",
    ),
}


def test_every_alert_is_tried() -> None:
    assert set(CASES) == {name for name, *_ in ALERTS}


@pytest.mark.parametrize("name", CASES)
def test_an_alert_fires_when_it_should_and_only_then(name: str, promtool: Any, tmp_path: Path) -> None:
    case = CASES[name]
    rule = next(rule for rule in rule_file()["groups"][1]["rules"] if rule["alert"] == name)
    expected = {"exp_labels": {**rule["labels"], **case.labels}, "exp_annotations": _filled(rule["annotations"], case)}
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": one, "values": values} for one, values in series.items()],
            "alert_rule_test": [{"eval_time": f"{case.at}m", "alertname": name, "exp_alerts": alerts}],
        }
        for series, alerts in ((case.firing, [expected]), (case.quiet, []))
    ]
    written = {"rule_files": ["ecotone.rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(written))
    done = promtool("test", "rules", "test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def _filled(texts: dict[str, str], case: Case) -> dict[str, str]:
    """The texts as they are sent: with the labels and the value of the alert in place of what stands for them."""
    summary = re.sub(r"\{\{ \$value( \| \w+)? \}\}", case.value, texts["summary"])
    return texts | {"summary": re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: case.labels[found[1]], summary)}


def test_the_share_of_lost_probes_is_recorded(promtool: Any, tmp_path: Path) -> None:
    sample = {"labels": 'ecotone:probe_loss:ratio5m{origin="e1", target="e2"}', "value": 0.1}
    firing = CASES["EcotoneLinkLosesPackets"].firing
    test = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in firing.items()],
        "promql_expr_test": [{"expr": "ecotone:probe_loss:ratio5m", "eval_time": "20m", "exp_samples": [sample]}],
    }
    written = {"rule_files": ["ecotone.rules.yaml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(written))
    done = promtool("test", "rules", "test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
