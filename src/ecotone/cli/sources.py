"""Where a command finds its cluster and its policy: the options that several verbs share, and what they mean.

A cluster comes from `-f` (files, directories, standard input) or, without it, from the API server. Both give the same
kind of snapshot, so no command knows the difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ecotone.cli.output import notes
from ecotone.manifests.configuration import read_configuration
from ecotone.manifests.reading import Amend, read_paths
from ecotone.manifests.times import parse_time
from ecotone.model.errors import InputError, OutsideError, did_you_mean
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.policies import DEFAULT_POLICY, resolve
from ecotone.scheduling.profile import Profile

Files = Annotated[
    list[str] | None,
    typer.Option("-f", "--filename", help="Kubernetes objects: file, directory or - (repeatable)."),
]
Kubeconfig = Annotated[Path | None, typer.Option("--kubeconfig", help="Credentials of the live cluster.")]
Context = Annotated[str | None, typer.Option("--context", help="Context within the kubeconfig.")]
Namespace = Annotated[str | None, typer.Option("-n", "--namespace", help="Only pods of this namespace.")]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="Pods of all namespaces.")]
PolicyName = Annotated[str | None, typer.Option("--policy", help=f"Policy by name (default {DEFAULT_POLICY}).")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Scheduler configuration with the profile to use.")]
ApplicationFile = Annotated[
    str | None,
    typer.Option("--application", metavar="TEMPLATE", help="A TOSCA template of the application, laid over -f."),
]
Now = Annotated[
    str | None, typer.Option("--now", help="Time of the snapshot, RFC 3339 (default: newest in the files).")
]
MaxAge = Annotated[str | None, typer.Option("--max-age", help="Older measurements are unknown (default 5m).")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every draw (default 0).")]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class Source:
    """The cluster a command was pointed at."""

    files: list[str] | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    now: str | None = None
    max_age: str | None = None
    seed: int | None = None
    application: str | None = None

    def snapshot(self) -> Snapshot:
        now = None if self.now is None else moment(self.now)
        max_age = None if self.max_age is None else duration(self.max_age, "--max-age")
        if self.files:
            told: list[str] = []
            amend = None if self.application is None else _overlay(self.application)
            snapshot = read_paths(self.files, now=now, max_age=max_age, seed=self.seed, notes=told, amend=amend)
            notes(told)
            return snapshot
        if self.application is not None:
            raise InputError("--application is laid over files: give the cluster with -f")
        return _live(self, now=now, max_age=max_age)


def _overlay(template: str) -> Amend:
    from ecotone.tosca.overlay import overlay

    return overlay(template)


def _live(source: Source, *, now: float | None, max_age: float | None) -> Snapshot:
    """The API server's answer; `ecotone.kube` alone speaks to it and is loaded only here."""
    if find_spec("ecotone.kube.reading") is None:
        raise OutsideError("no live cluster can be read by this installation: give files with -f")
    snapshot: Snapshot = import_module("ecotone.kube.reading").read_cluster(
        kubeconfig=source.kubeconfig, context=source.context, now=now, max_age=max_age, seed=source.seed
    )
    return snapshot


def moment(text: str) -> float:
    """A time on the command line: RFC 3339, or seconds since 1970."""
    try:
        return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else parse_time(text)
    except InputError as error:
        raise InputError(f"--now: {error.message}", hint=error.hint) from None


def duration(text: str, option: str) -> float:
    shape = _DURATION.fullmatch(text.strip())
    if shape is None:
        raise InputError(f"{option}: {text!r} is not a duration", hint="write it like 90s, 5m or 2h")
    return float(shape[1]) * _SECONDS[shape[2]]


def chosen_policy(name: str | None, config: Path | None) -> Profile:
    """The profile to use: of the configuration if there is one, else the built-in policy of that name."""
    if config is None:
        return resolve(name or DEFAULT_POLICY)
    profiles = read_configuration(config)
    if name is None:
        if len(profiles) > 1:
            names = ", ".join(profile.name for profile in profiles)
            raise InputError(
                "the configuration has several profiles", file=str(config), hint=f"--policy one of: {names}"
            )
        return profiles[0]
    found = next((each for each in profiles if name in (each.name, each.scheduler_name)), None)
    if found is None:
        known = [each.name for each in profiles]
        hint = did_you_mean(name, known) or "it has " + ", ".join(known)
        raise InputError(f"no profile {name!r} in the configuration", file=str(config), hint=hint)
    return found


def find_pod(snapshot: Snapshot, text: str, namespace: str | None) -> Pod:
    """The pod a person means by `name`, `pod/name` or `namespace/name`."""
    pods = {pod.key: pod for pod in snapshot.pods()}
    space, _, name = text.rpartition("/")
    if "/" in space or not name:
        raise InputError(f"{text!r} is not a pod's name", hint="write name, pod/name or namespace/name")
    if space in ("pod", "pods", "po") and text not in pods:
        space = ""
    said = space or namespace
    wanted = f"{said}/{name}" if said else name
    found = pods.get(wanted if said else f"default/{name}") or (None if said else _only(name, pods))
    if found is None:
        raise InputError(f"no pod {wanted!r} in the cluster", hint=_nearest(wanted, pods))
    return found


def _only(name: str, pods: dict[str, Pod]) -> Pod | None:
    same = [pod for pod in pods.values() if pod.name == name]
    if len(same) > 1:
        raise InputError(f"several pods are called {name!r}", hint="one of " + ", ".join(sorted(p.key for p in same)))
    return same[0] if same else None


def _nearest(wanted: str, pods: dict[str, Pod]) -> str | None:
    if not pods:
        return "it has no pods"
    if "/" in wanted:
        return did_you_mean(wanted, pods)
    by_name = {pod.name: pod.key for pod in pods.values()}
    return did_you_mean(wanted, by_name)
