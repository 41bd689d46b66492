"""Which pods a person means: by name, by workload (`deploy/front-end`), by labels (`-l app=web`), as kubectl reads them.

A word of kubectl's for a kind comes before the slash; anything else before it is a namespace. Several words may be given;
a pod that several of them mean is answered once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ecotone.model.errors import InputError, did_you_mean
from ecotone.model.objects import Pod
from ecotone.model.selectors import LabelSelector, Requirement
from ecotone.model.snapshot import Snapshot

_PODS = ("pod", "pods", "po")
_KINDS = {
    word: kind
    for kind, words in {
        "Deployment": ("deploy", "deployment", "deployments", "deployment.apps", "deployments.apps"),
        "StatefulSet": ("sts", "statefulset", "statefulsets", "statefulset.apps", "statefulsets.apps"),
        "DaemonSet": ("ds", "daemonset", "daemonsets", "daemonset.apps", "daemonsets.apps"),
        "ReplicaSet": ("rs", "replicaset", "replicasets", "replicaset.apps", "replicasets.apps"),
        "Job": ("job", "jobs", "job.batch", "jobs.batch"),
    }.items()
    for word in words
}
_WRITE = "write name, pod/name, namespace/name or deploy/name"
_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)")
_BARE = re.compile(r"(!?)\s*([^=!\s()]+)")
_EXAMPLE = "app=web, tier!=db, 'app in (web, api)', app or !app"


def find_pods(snapshot: Snapshot, words: Iterable[str], selector: str | None, namespace: str | None) -> list[Pod]:
    """All of them, in the order asked for; InputError for a word that means none."""
    found: dict[str, Pod] = {}
    for word in words:
        found.update((pod.key, pod) for pod in _meant(snapshot, word, namespace))
    if selector is not None:
        wanted = read_selector(selector)
        chosen = [pod for pod in _within(snapshot, namespace) if wanted.matches(dict(pod.kind.labels))]
        if not chosen:
            where = "" if namespace is None else f" in namespace {namespace!r}"
            raise InputError(f"no pod carries the labels {selector!r}{where}")
        found.update((pod.key, pod) for pod in sorted(chosen, key=lambda each: each.key))
    if not found:
        raise InputError("Missing argument 'POD'", hint=f"{_WRITE}, or -l labels")
    return list(found.values())


def _meant(snapshot: Snapshot, word: str, namespace: str | None) -> list[Pod]:
    kind, _, name = word.rpartition("/")
    space, _, kind = kind.rpartition("/")
    if kind not in _KINDS or any(pod.key == word for pod in snapshot.pods()):
        return [find_pod(snapshot, word, namespace)]
    said = space or namespace
    own = [pod for pod in _within(snapshot, said) if pod.kind.workload.kind == _KINDS[kind]]
    found = sorted((pod for pod in own if pod.kind.workload.name == name), key=lambda each: each.key)
    spaces = sorted({pod.namespace for pod in found})
    if len(spaces) > 1 and "default" in spaces:
        return [pod for pod in found if pod.namespace == "default"]
    if len(spaces) > 1:
        raise InputError(f"{word!r} is in several namespaces", hint=f"-n one of {', '.join(spaces)}")
    if not found:
        near = did_you_mean(name, {pod.kind.workload.name for pod in own})
        raise InputError(f"no pod of {_KINDS[kind]} {name!r} in the cluster", hint=near)
    return found


def _within(snapshot: Snapshot, namespace: str | None) -> list[Pod]:
    return [pod for pod in snapshot.pods() if namespace in (None, pod.namespace)]


def find_pod(snapshot: Snapshot, text: str, namespace: str | None) -> Pod:
    """The pod a person means by `name`, `pod/name` or `namespace/name`."""
    pods = {pod.key: pod for pod in snapshot.pods()}
    space, _, name = text.rpartition("/")
    if "/" in space or not name:
        raise InputError(f"{text!r} is not a pod's name", hint=_WRITE)
    if space in _PODS and text not in pods:
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
    space, _, _ = wanted.rpartition("/")
    spaces = {pod.namespace for pod in pods.values()}
    if space and space not in spaces:
        hint = did_you_mean(wanted, pods) or did_you_mean(space, spaces)
        return f"nothing is in namespace {space!r}" + (f"; {hint}" if hint else "")
    if space:
        return did_you_mean(wanted, pods)
    by_name = {pod.name: pod.key for pod in pods.values()}
    return did_you_mean(wanted, by_name)


def read_selector(text: str) -> LabelSelector:
    """A label selector as kubectl's -l writes it."""
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
    return LabelSelector(tuple(_requirement(part) for part in parts))


def _requirement(part: str) -> Requirement:
    if match := _SET.fullmatch(part):
        values = tuple(value.strip() for value in match[3].split(","))
        return Requirement(match[1], "In" if match[2] == "in" else "NotIn", values)
    if match := _EQUAL.fullmatch(part):
        return Requirement(match[1], "NotIn" if match[2] == "!=" else "In", (match[3],))
    if match := _BARE.fullmatch(part):
        return Requirement(match[2], "DoesNotExist" if match[1] else "Exists", ())
    raise InputError(f"-l {part!r} is no label selector", hint=f"for example {_EXAMPLE}")
