"""Files that our programs read and that an administrator keeps: tokens in Secrets, certificates in ConfigMaps.

They are mounted, so no role of ours reads a Secret, and what is renewed there arrives by itself. Each is named once, by
the object in the installation's namespace that holds it; what is not named is not mounted, and its argument is not given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

FOLDER = "/etc/ecotone"


@dataclass(frozen=True, slots=True)
class Files:
    """Names of objects, "" for none: `prometheus_token` and `metrics_token` Secrets, `prometheus_ca` a ConfigMap."""

    prometheus_token: str = ""
    prometheus_ca: str = ""
    metrics_token: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    argument: str
    key: str
    source: str
    named_by: str

    def volume(self, name: str, held_by: str) -> dict[str, Any]:
        return {"name": name, self.source: {self.named_by: held_by}}


_FILES = {
    "prometheus_token": _File("--prometheus-token-file", "token", "secret", "secretName"),
    "prometheus_ca": _File("--prometheus-ca", "ca.crt", "configMap", "name"),
    "metrics_token": _File("--metrics-token-file", "token", "secret", "secretName"),
}
assert list(_FILES) == [field.name for field in fields(Files)]


def give(spec: dict[str, Any], files: Files, *, read: Sequence[str]) -> dict[str, Any]:
    """The pod's spec with those files that it reads and that somebody keeps: arguments and mounts of its program."""
    named = {name: held for name in read if (held := getattr(files, name))}
    (main,) = spec["containers"]
    if not named:
        return spec
    folders = {name: name.replace("_", "-") for name in named}
    arguments = [f"{_FILES[name].argument}={FOLDER}/{folders[name]}/{_FILES[name].key}" for name in named]
    mounts = [{"name": folders[name], "mountPath": f"{FOLDER}/{folders[name]}", "readOnly": True} for name in named]
    program = {**main, "args": [*main["args"], *arguments], "volumeMounts": mounts}
    volumes = [_FILES[name].volume(folders[name], held) for name, held in named.items()]
    return {**spec, "containers": [program], "volumes": volumes}
