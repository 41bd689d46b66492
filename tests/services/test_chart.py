"""The Helm chart says what `ecotone manifests` prints, and the one in the repository is the one the code makes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.services.install import Files, installation
from ecotone.services.install.chart import files
from ecotone.testbed.requirements import binaries_directory
from missing import lacking

CHART = Path(__file__).resolve().parents[2] / "deploy" / "chart"
EXPRESSION = re.compile(r'\{\{ (?:\.(?P<name>[\w.]+)|"(?P<literal>[{}]+)") \}\}')
UNLESS = re.compile(r"\{\{ if not \.(?P<name>[\w.]+) \}\}(?P<text>[^{]*)\{\{ end \}\}")
CHOSEN = {
    "Release.Namespace": "ecotone-system",
    "Values.image": "registry.example/ecotone:1",
    "Values.policy": "sophos",
    "Values.schedulerName": "mine",
    "Values.prometheus": "http://prom.example:9090",
    "Values.reporters": "watch/exporter",
    "Values.trustPrometheus": "true",
    "Values.imageDigest": "sha256:" + "5a" * 32,
    "Values.prometheusTokenSecret": "prom-token",
    "Values.prometheusCaConfigMap": "prom-ca",
    "Values.metricsTokenSecret": "readers",
}
OPTIONAL = ("imageDigest", "prometheusTokenSecret", "prometheusCaConfigMap", "metricsTokenSecret")
SUBSETS = [(), *((name,) for name in OPTIONAL), OPTIONAL[1:3], OPTIONAL[2:], OPTIONAL]
WITH = re.compile(r"\{\{ with \.(?P<name>[\w.]+) \}\}@\{\{ \. \}\}\{\{ end \}\}")


def key(one: dict[str, Any]) -> tuple[str, str]:
    return one["kind"], one["metadata"]["name"]


def chosen(optional: Sequence[str]) -> dict[str, str]:
    return {
        name: "" if name.removeprefix("Values.") in set(OPTIONAL) - set(optional) else value
        for name, value in CHOSEN.items()
    }


def printed(values: dict[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    digest = values["Values.imageDigest"]
    objects = installation(
        namespace=values["Release.Namespace"],
        image=values["Values.image"] + (f"@{digest}" if digest else ""),
        policy=values["Values.policy"],
        scheduler_name=values["Values.schedulerName"],
        prometheus=values["Values.prometheus"],
        reporters=[values["Values.reporters"]],
        trust=["--trust-prometheus"],
        files=Files(
            prometheus_token=values["Values.prometheusTokenSecret"],
            prometheus_ca=values["Values.prometheusCaConfigMap"],
            metrics_token=values["Values.metricsTokenSecret"],
        ),
    )
    return {key(one): one for one in objects}


def filled(text: str, values: dict[str, str]) -> str:
    """What Helm makes of the few expressions that the chart has."""
    text = UNLESS.sub(lambda match: "" if values[match["name"]] == "true" else match["text"], text)
    text = WITH.sub(lambda match: f"@{values[match['name']]}" if values[match["name"]] else "", text)
    kept, holds = [], [True]
    for line in text.splitlines(keepends=True):
        if condition := re.fullmatch(r"\{\{- if (?:or )?(.+) \}\}\n", line):
            holds.append(holds[-1] and any(values[name.removeprefix(".")] for name in condition[1].split()))
        elif line == "{{- end }}\n":
            holds.pop()
        elif holds[-1]:
            kept.append(line)
    return EXPRESSION.sub(lambda match: match["literal"] or values[match["name"]], "".join(kept))


def test_the_chart_in_the_repository_is_the_one_the_code_makes() -> None:
    stored = {
        str(path.relative_to(CHART)): path.read_text(encoding="utf-8") for path in CHART.rglob("*") if path.is_file()
    }
    assert stored == files(), "run: python -m ecotone.services.install.chart deploy/chart"


@pytest.mark.parametrize("optional", SUBSETS, ids=" ".join)
def test_filled_in_it_equals_the_printed_manifests(optional: Sequence[str]) -> None:
    values = chosen(optional)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, text in files().items():
        if name.startswith(("crds/", "templates/")):
            found |= {key(one): one for one in yaml.safe_load_all(filled(text, values))}
    assert found == printed(values)


@pytest.mark.parametrize("optional", [(), OPTIONAL], ids=["without", "with"])
def test_helm_itself_makes_the_same_of_it(optional: Sequence[str]) -> None:
    helm = shutil.which("helm") or shutil.which("helm", path=str(binaries_directory()))
    if helm is None:
        lacking("helm is not installed (scripts/controlplane --nodes builds it)")
    values = chosen(optional)
    sets = [f"--set={name.removeprefix('Values.')}={value}" for name, value in values.items() if "Values" in name]
    command = [
        helm,
        "template",
        "ecotone",
        str(CHART),
        "--include-crds",
        "--kube-version=1.36.3",
        "--namespace",
        values["Release.Namespace"],
        *sets,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {key(one): one for one in yaml.safe_load_all(done.stdout) if one is not None}
    assert found == printed(values)
