"""The Helm chart says what `ecotone manifests` prints, and the one in the repository is the one the code makes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from ecotone.services.install import installation
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
}


def key(one: dict[str, Any]) -> tuple[str, str]:
    return one["kind"], one["metadata"]["name"]


def printed() -> dict[tuple[str, str], dict[str, Any]]:
    objects = installation(
        namespace=CHOSEN["Release.Namespace"],
        image=CHOSEN["Values.image"],
        policy=CHOSEN["Values.policy"],
        scheduler_name=CHOSEN["Values.schedulerName"],
        prometheus=CHOSEN["Values.prometheus"],
        reporters=[CHOSEN["Values.reporters"]],
        trust=["--trust-prometheus"],
    )
    return {key(one): one for one in objects}


def test_the_chart_in_the_repository_is_the_one_the_code_makes() -> None:
    stored = {
        str(path.relative_to(CHART)): path.read_text(encoding="utf-8") for path in CHART.rglob("*") if path.is_file()
    }
    assert stored == files(), "run: python -m ecotone.services.install.chart deploy/chart"


def test_filled_in_it_equals_the_printed_manifests() -> None:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, text in files().items():
        if name.startswith(("crds/", "templates/")):
            chosen = UNLESS.sub(lambda match: "" if CHOSEN[match["name"]] == "true" else match["text"], text)
            filled = EXPRESSION.sub(lambda match: match["literal"] or CHOSEN[match["name"]], chosen)
            found |= {key(one): one for one in yaml.safe_load_all(filled)}
    assert found == printed()


def test_helm_itself_makes_the_same_of_it() -> None:
    helm = shutil.which("helm") or shutil.which("helm", path=str(binaries_directory()))
    if helm is None:
        lacking("helm is not installed (scripts/controlplane --nodes builds it)")
    sets = [f"--set={name.removeprefix('Values.')}={value}" for name, value in CHOSEN.items() if "Values" in name]
    command = [
        helm,
        "template",
        "ecotone",
        str(CHART),
        "--include-crds",
        "--kube-version=1.36.3",
        "--namespace",
        CHOSEN["Release.Namespace"],
        *sets,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {key(one): one for one in yaml.safe_load_all(done.stdout) if one is not None}
    assert found == printed()
