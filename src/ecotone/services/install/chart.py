"""A Helm chart, made from the same objects that ``ecotone manifests`` prints, so that the two cannot differ.

The objects are made once with words that stand for what a user of Helm sets; in the written text these become Helm's
expressions. Braces that mean something to Prometheus or Grafana are passed on as they are.

    python -m ecotone.services.install.chart deploy/chart
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import ecotone
from ecotone.services.install import COMPONENTS, ON_REQUEST, PARTS, PROMETHEUS, REPORTERS, Files, Objects, installation
from ecotone.services.install.conditions import with_conditions
from ecotone.services.install.loop import NO_FILES
from ecotone.services.install.workloads import IMAGE

VALUES = {
    "image": (IMAGE, "Image that contains `ecotone`."),
    "imageDigest": ("", "Digest that this image must have: sha256:..."),
    "policy": ("ecotone", "Policy of scheduler and descheduler; see `ecotone policies`."),
    "schedulerName": ("ecotone", "Name that pods ask for."),
    "prometheus": (PROMETHEUS, "Prometheus that the monitor reads."),
    "reporters": (",".join(REPORTERS), "Workloads (namespace/name) that report for others: node-exporter, ztunnel."),
    "trustPrometheus": (False, "True if no tenant can add targets or rules to that Prometheus."),
    "prometheusTokenSecret": (
        "",
        "Secret of the release's namespace whose key `token` is sent to Prometheus (https only).",
    ),
    "prometheusCaConfigMap": ("", "ConfigMap there whose key `ca.crt` Prometheus' certificate is checked with."),
    "metricsTokenSecret": ("", "Secret there whose key `token` readers of metrics send to see applications' names."),
}
_FILES = {
    "prometheusTokenSecret": "prometheus_token",
    "prometheusCaConfigMap": "prometheus_ca",
    "metricsTokenSecret": "metrics_token",
}
_SPELT_OUT = ("image", "trustPrometheus")
LISTS = {
    "excludeNamespaces": "Namespaces where nothing is moved, beside kube-system and the release's own.",
    "moveOnlyIn": "If any are named, the descheduler gets rights to evict and scale in these namespaces alone.",
}
_EXCLUDED = "helm-list-exclude"
_ONLY = "helm-list-only"
_WORDS = {
    "helm-release-namespace": "{{ .Release.Namespace }}",
    "helm-value-image": "{{ .Values.image }}{{ with .Values.imageDigest }}@{{ . }}{{ end }}",
    "helm-value-trustprometheus": "--{{ if not .Values.trustPrometheus }}no-{{ end }}trust-prometheus",
    **{f"helm-value-{name.lower()}": f"{{{{ .Values.{name} }}}}" for name in VALUES if name not in _SPELT_OUT},
}
_BRACES = re.compile(r"\{\{|\}\}")


def files() -> dict[str, str]:
    """The chart's files by their paths."""
    found = {"Chart.yaml": _chart(), "values.yaml": _values()}
    for one in installation(["crds"]):
        found[f"crds/{one['metadata']['name']}.yaml"] = _documents([one])
    for part in PARTS:
        if part != "crds" and part not in ON_REQUEST:
            found[f"templates/{part}.yaml"] = _text_of(part)
    return found


def _made(
    part: str,
    *,
    components: Sequence[str] = tuple(COMPONENTS),
    only: Sequence[str] = (),
    files: Files = NO_FILES,
) -> Objects:
    return installation(
        [part],
        components=components,
        namespace="helm-release-namespace",
        image="helm-value-image",
        policy="helm-value-policy",
        scheduler_name="helm-value-schedulername",
        prometheus="helm-value-prometheus",
        excluded=[_EXCLUDED],
        move_only_in=only,
        reporters=["helm-value-reporters"],
        trust=["helm-value-trustprometheus"],
        files=files,
    )


def _text_of(part: str) -> str:
    if part == "rbac":
        return _rights()
    plain = _template(_made(part, only=[_ONLY]))
    optional = {
        value: _template(_made(part, only=[_ONLY], files=Files(**{name: f"helm-value-{value.lower()}"})))
        for value, name in _FILES.items()
    }
    return with_conditions(plain, optional)


def _rights() -> str:
    """The descheduler's come in two forms: for all namespaces, or once for each that is named."""
    others = [name for name in COMPONENTS if name != "descheduler"]
    everywhere = _made("rbac", components=["descheduler"])
    narrow = _made("rbac", components=["descheduler"], only=[_ONLY])
    here = [one for one in narrow if one["metadata"].get("namespace") != _ONLY]
    repeated = [one for one in narrow if one["metadata"].get("namespace") == _ONLY]
    # Inside a range the dot is its element.
    each = _template(repeated).replace("{{ .Release", "{{ $.Release").replace(_ONLY, "{{ . }}")
    return (
        f"{_template(_made('rbac', components=others))}{{{{- if .Values.moveOnlyIn }}}}\n{_template(here)}"
        f"{{{{- range .Values.moveOnlyIn }}}}\n{each}{{{{- end }}}}\n{{{{- else }}}}\n{_template(everywhere)}{{{{- end }}}}\n"
    )


def _template(objects: Objects) -> str:
    text = _BRACES.sub(lambda found: f'{{{{ "{found[0]}" }}}}', _documents(objects))
    for word in sorted(_WORDS, key=len, reverse=True):  # one may begin another
        text = text.replace(word, _WORDS[word])
    # In a list of a condition, and as arguments of a program.
    text = re.sub(rf"('{{1,2}}){_EXCLUDED}\1, ", r"{{ range .Values.excludeNamespaces }}\1{{ . }}\1, {{ end }}", text)
    for word, name in ((_EXCLUDED, "excludeNamespaces"), (_ONLY, "moveOnlyIn")):
        repeat = rf"{{{{- range .Values.{name} }}}}\n\1{{{{ . }}}}\n{{{{- end }}}}\n"
        text = re.sub(rf"(?m)^( *- --[a-z-]+=){word}\n", repeat, text)
    # Every list of namespaces that are left alone ends with kube-system: a release that is installed there names it once.
    elsewhere = '{{{{{}if ne .Release.Namespace "kube-system" }}}}'
    here = r"\{\{ \.Release\.Namespace \}\}"
    text = re.sub(rf"('{{1,2}}{here}'{{1,2}}, )(?='{{1,2}}kube-system)", elsewhere.format(" ") + r"\1{{ end }}", text)
    argument = elsewhere.format("- ") + r"\n\1\n{{- end }}\n"
    return re.sub(rf"(?m)^( *- --exclude-namespace={here})\n", argument, text)


def _documents(objects: Objects) -> str:
    import yaml

    # Lines are not folded: an expression must stay in one piece.
    plain = json.loads(json.dumps(objects))
    return str(yaml.safe_dump_all(plain, sort_keys=False, explicit_start=True, width=1 << 20))


def _chart() -> str:
    version = ecotone.__version__
    lines = [
        "# Made by `python -m ecotone.services.install.chart`; do not edit.",
        "apiVersion: v2",
        "name: ecotone",
        "description: Decides, explains and keeps correcting where every pod of a microservice application runs.",
        "type: application",
        f"version: {version}",
        f'appVersion: "{version}"',
        'kubeVersion: ">=1.30.0-0"',
    ]
    return "\n".join(lines) + "\n"


def _values() -> str:
    texts = [f"# {text}\n{name}: {json.dumps(value)}\n" for name, (value, text) in VALUES.items()]
    return "".join(texts + [f"# {text}\n{name}: []\n" for name, text in LISTS.items()])


def write(folder: Path) -> None:
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
