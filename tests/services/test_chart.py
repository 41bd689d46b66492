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
TAG = re.compile(r'(\s*)\{\{(-?) (?:"(?P<literal>[{}]+)"|(?P<words>[^{}]+)) \}\}')
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
LISTS: list[dict[str, list[str]]] = [
    {"Values.excludeNamespaces": [], "Values.moveOnlyIn": []},
    {"Values.excludeNamespaces": ["payroll", "vault"], "Values.moveOnlyIn": ["shop", "market"]},
]
Key = tuple[str, str, str]


def key(one: dict[str, Any]) -> Key:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def chosen(optional: Sequence[str]) -> dict[str, str]:
    return {
        name: "" if name.removeprefix("Values.") in set(OPTIONAL) - set(optional) else value
        for name, value in CHOSEN.items()
    }


def rendered(text: str, values: dict[str, Any]) -> str:
    """As much of Helm's language as the chart uses: values, `range`, `with`, `if`, and trimming on the left."""
    parts: list[Any] = []
    end = 0
    for tag in TAG.finditer(text):
        parts.append(text[end : tag.start()] + ("" if tag[2] else tag[1]))
        parts.append((tag["literal"], (tag["words"] or "").split()))
        end = tag.end()
    parts.append(text[end:])
    return _run(parts, 0, values, "")[0]


def _asked(words: list[str], values: dict[str, Any]) -> list[Any]:
    """The values on which a condition depends."""
    if words[0] == "ne":
        name, other = words[1:]
        return ["true" if values[name.lstrip("$.")] != other.strip('"') else "false"]
    return [values[word.lstrip("$.")] for word in words if word not in ("not", "or")]


def _run(parts: list[Any], start: int, values: dict[str, Any], dot: str) -> tuple[str, int]:
    """The text up to `else` or `end`, and where that stands."""
    said, at = "", start
    while at < len(parts):
        part = parts[at]
        at += 1
        if isinstance(part, str):
            said += part
            continue
        literal, words = part
        if literal:
            said += literal
        elif words[0] in ("end", "else"):
            return said, at - 1
        elif words[0] == "range":
            chosen = values[words[1].lstrip("$.")]
            for element in chosen:
                said += _run(parts, at, values, element)[0]
            at = _run(parts, at, values, "")[1] + 1
        elif words[0] in ("if", "with"):
            asked = _asked(words[1:], values)
            yes, at = _run(parts, at, values, asked[0] if words[0] == "with" else dot)
            no = ""
            if parts[at][1] == ["else"]:
                no, at = _run(parts, at + 1, values, dot)
            holds = any(value not in ("false", "", []) for value in asked)
            said += yes if holds is not ("not" in words) else no
            at += 1
        else:
            said += dot if words == ["."] else values[words[0].lstrip("$.")]
    return said, at


def printed(values: dict[str, str], lists: dict[str, list[str]]) -> dict[Key, dict[str, Any]]:
    digest = values["Values.imageDigest"]
    objects = installation(
        namespace=values["Release.Namespace"],
        image=values["Values.image"] + (f"@{digest}" if digest else ""),
        policy=values["Values.policy"],
        scheduler_name=values["Values.schedulerName"],
        prometheus=values["Values.prometheus"],
        excluded=lists["Values.excludeNamespaces"],
        move_only_in=lists["Values.moveOnlyIn"],
        reporters=[values["Values.reporters"]],
        trust=["--trust-prometheus"],
        files=Files(
            prometheus_token=values["Values.prometheusTokenSecret"],
            prometheus_ca=values["Values.prometheusCaConfigMap"],
            metrics_token=values["Values.metricsTokenSecret"],
        ),
    )
    return {key(one): one for one in objects}


def test_the_chart_in_the_repository_is_the_one_the_code_makes() -> None:
    stored = {
        str(path.relative_to(CHART)): path.read_text(encoding="utf-8") for path in CHART.rglob("*") if path.is_file()
    }
    assert stored == files(), "run: python -m ecotone.services.install.chart deploy/chart"


@pytest.mark.parametrize("optional", SUBSETS, ids=" ".join)
@pytest.mark.parametrize("lists", LISTS)
@pytest.mark.parametrize("namespace", ["ecotone-system", "kube-system"])
def test_filled_in_it_equals_the_printed_manifests(
    namespace: str, lists: dict[str, list[str]], optional: Sequence[str]
) -> None:
    values = {**chosen(optional), "Release.Namespace": namespace}
    found: dict[Key, dict[str, Any]] = {}
    for name, text in files().items():
        if name.startswith(("crds/", "templates/")):
            filled = rendered(text, {**values, **lists})
            found |= {key(one): one for one in yaml.safe_load_all(filled) if one is not None}
    assert found == printed(values, lists)


@pytest.mark.parametrize("optional", [(), OPTIONAL], ids=["without", "with"])
@pytest.mark.parametrize("lists", LISTS)
@pytest.mark.parametrize("namespace", ["ecotone-system", "kube-system"])
def test_helm_itself_makes_the_same_of_it(namespace: str, lists: dict[str, list[str]], optional: Sequence[str]) -> None:
    helm = shutil.which("helm") or shutil.which("helm", path=str(binaries_directory()))
    if helm is None:
        lacking("helm is not installed (scripts/controlplane --nodes builds it)")
    values = {**chosen(optional), "Release.Namespace": namespace}
    sets = [f"--set={name.removeprefix('Values.')}={value}" for name, value in values.items() if "Values" in name]
    sets += [f"--set={name.removeprefix('Values.')}={{{','.join(names)}}}" for name, names in lists.items() if names]
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
    assert found == printed(values, lists)
