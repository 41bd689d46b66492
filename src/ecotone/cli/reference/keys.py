"""Labels, annotations and custom resources, from the vocabulary and from the schemas that are installed."""

from __future__ import annotations

from typing import Any

from ecotone.cli.reference.markdown import code, table, value
from ecotone.cli.reference.markdown import page as whole
from ecotone.manifests.vocabulary import OURS, THEIRS, Key
from ecotone.services.install.crds import GROUP, VERSION, crds

_HEAD = """A value that cannot be read counts as unknown and is told in a note, with the nearest key where one is misspelt
(`--strict` makes that an error). Quantities are Kubernetes' (`250m`, `1.5Gi`). A workload is a Deployment, StatefulSet or
DaemonSet; for pods without one the keys may stand on the pod. Keys of a pod template are read from the pods made of it."""


def page() -> str:
    people = {name: key for name, key in OURS.items() if not key.written}
    measured = {name: key for name, key in OURS.items() if key.written}
    parts = [_HEAD, "## Written by people", _keys(people)]
    parts += [
        "## Written by Ecotone",
        "What is measured is the monitor's to write: an admission policy refuses others (docs/install.md).",
        _keys(measured),
    ]
    parts += ["## Of other tools of the family", "Read where the key of ours is missing.", _keys(THEIRS)]
    for crd in crds():
        parts += _resource(crd)
    return whole("Keys and custom resources", *parts)


def _keys(keys: dict[str, Key]) -> str:
    rows = [[code(name), f"{key.on} {key.kind}", key.value, key.meaning] for name, key in keys.items()]
    return table(["key", "on", "value", "meaning"], rows)


def _resource(crd: dict[str, Any]) -> list[str]:
    spec = crd["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    scope = "of a namespace" if spec["scope"] == "Namespaced" else "of the whole cluster"
    head = f"`apiVersion: {GROUP}/{VERSION}`, {scope}, `kubectl get {spec['names']['plural']}`. {schema['description']}"
    rows = [row for part in ("spec", "status") for row in _rows(part, schema["properties"][part])]
    return [f"## {spec['names']['kind']}", head, table(["field", "type", "default", "meaning"], rows)]


def _rows(path: str, schema: dict[str, Any]) -> list[list[str]]:
    rows = []
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        given = code(value(inner["default"])) if "default" in inner else "required" if name in required else ""
        rows.append([code(here), _type(inner), given, inner.get("description", "")])
        rows += _rows(here, inner)
        if inner.get("type") == "array":
            rows += _rows(f"{here}[]", inner["items"])
    return rows


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    if "additionalProperties" in schema:
        return f"mapping of {_type(schema['additionalProperties'])}"
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    kind = schema.get("type", "integer or string")
    bounds = [f"{word} {schema[key]:g}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([kind, *bounds])
