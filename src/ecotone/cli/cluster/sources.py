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

from ecotone.cli.terminal.output import notes
from ecotone.cli.terminal.reading import Reading
from ecotone.manifests.configuration import read_configuration
from ecotone.manifests.files import Amend, read_paths
from ecotone.manifests.remarks import Ignored
from ecotone.manifests.times import parse_time
from ecotone.model.errors import InputError, OutsideError, did_you_mean
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles.policies import DEFAULT_POLICY, POLICIES, resolve
from ecotone.scheduling.profiles.profile import Profile

Files = Annotated[
    list[str] | None,
    typer.Option("-f", "--filename", help="Kubernetes objects: file, directory or - (repeatable)."),
]
Kubeconfig = Annotated[Path | None, typer.Option("--kubeconfig", help="Credentials of the live cluster.")]
Context = Annotated[str | None, typer.Option("--context", help="Context within the kubeconfig.")]
Namespace = Annotated[str | None, typer.Option("-n", "--namespace", help="Only pods of this namespace.")]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="Pods of all namespaces.")]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        "-p",
        help=f"Policy by name (default {DEFAULT_POLICY}), or a plugin of your own: ./my_plugin.py:Class.",
        autocompletion=lambda: list(POLICIES),
    ),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Scheduler configuration with the profile to use.")]
ApplicationFile = Annotated[
    str | None,
    typer.Option(
        "--application",
        metavar="TEMPLATE",
        help="A TOSCA template of the application, laid over the cluster's objects.",
    ),
]
Now = Annotated[
    str | None, typer.Option("--now", help="Time of the snapshot, RFC 3339 (default: newest in the files).")
]
MaxAge = Annotated[str | None, typer.Option("--max-age", help="Older measurements are unknown (default 5m).")]
Strict = Annotated[bool, typer.Option("--strict", help="With -f: refuse what would otherwise be noted and ignored.")]
RequestTimeout = Annotated[
    str,
    typer.Option(
        "--request-timeout", help="How long one request to the API server may take, 0 for as long as it likes."
    ),
]
TrustAnnotations = Annotated[
    bool,
    typer.Option(
        "--trust-annotations",
        help="Believe what is measured whoever may have written it: on a live cluster without the admission policy, "
        "and with -f across namespaces.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every draw (default 0).")]

REQUEST_TIMEOUT = "30s"
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
    request_timeout: str = REQUEST_TIMEOUT
    strict: bool = False
    namespace: str | None = None
    trust_annotations: bool = False

    def snapshot(self) -> Snapshot:
        now = None if self.now is None else moment(self.now)
        max_age = None if self.max_age is None else duration(self.max_age, "--max-age")
        if self.files:
            told: list[str] = []
            amend = None if self.application is None else _overlay(self.application)
            with Reading() as watch:
                snapshot = read_paths(
                    self.files,
                    now=now,
                    max_age=max_age,
                    seed=self.seed,
                    trusted=self.trust_annotations,
                    notes=told,
                    amend=amend,
                    watch=watch,
                )
            told += namespace_notes(snapshot, self.namespace)
            ignored = [each for each in told if isinstance(each, Ignored)]
            if ignored and self.strict:
                more = f"; and {len(ignored) - 1} more" if len(ignored) > 1 else ""
                raise InputError(f"{ignored[0]}{more}", hint="--strict refuses what would otherwise be noted")
            notes(told)
            return snapshot
        return _live(self, now=now, max_age=max_age)


def _overlay(template: str) -> Amend:
    from ecotone.tosca.overlay import overlay

    return overlay(template)


def _live(source: Source, *, now: float | None, max_age: float | None) -> Snapshot:
    """The API server's answer; `ecotone.kube` alone speaks to it and is loaded only here."""
    if find_spec("ecotone.kube.reading.listing") is None:
        raise OutsideError("no live cluster can be read by this installation: give files with -f")
    told: list[str] = []
    snapshot: Snapshot = import_module("ecotone.kube.reading.listing").read_cluster(
        kubeconfig=source.kubeconfig,
        context=source.context,
        now=now,
        max_age=max_age,
        seed=source.seed,
        trusted=source.trust_annotations,
        request_timeout=timeout_of(source.request_timeout),
        amend=None if source.application is None else _overlay(source.application),
        notes=told,
    )
    notes(told)
    return snapshot


def namespace_notes(snapshot: Snapshot, namespace: str | None) -> list[str]:
    """A note if nothing at all is in the namespace that was asked for."""
    known = {pod.namespace for pod in snapshot.pods()} | {key.namespace for key in snapshot.workloads}
    if namespace is None or namespace in known:
        return []
    hint = did_you_mean(namespace, known)
    return [Ignored(f"nothing is in namespace {namespace!r}" + (f" ({hint})" if hint else ""))]


def timeout_of(text: str) -> float:
    """`--request-timeout` in seconds; 0 means none, as kubectl has it."""
    return duration(text, "--request-timeout") or float("inf")


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
        return resolve(DEFAULT_POLICY if name is None else name)
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
