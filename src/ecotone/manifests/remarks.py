"""What in a file of objects is not used, though its author meant something by it.

A misspelt key, a latency of -10, an affinity to a workload that nobody has: a cluster made of it is a cluster all the same, so
none of these is an error. But each is told, with the nearest name that would have counted, and `--strict` refuses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ecotone.manifests import keys, wire
from ecotone.manifests.decoding import Found
from ecotone.manifests.reading.pods import namespace_of
from ecotone.manifests.reading.workloads import owner_above
from ecotone.manifests.spelling import nearest

_TIERS = ("cloud", "fog", "edge")
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")
Names = dict[str, set[str]]


class Ignored(str):
    """A note on something in the input that is not used."""

    __slots__ = ()


def remarks(objects: Sequence[Found]) -> list[str]:
    """One note for each thing that is given and not used."""
    known = _workloads(objects)
    return [note for each in objects for given in _given(each.value) for note in _about(each, given, known)]


def identity(each: Found) -> tuple[str, str]:
    """An object's kind and its name, with the namespace where it has one."""
    meta = each.value.metadata
    return each.kind, f"{namespace_of(meta)}/{meta.name}" if wire.KINDS[each.kind].namespaced else meta.name


def _given(value: Any) -> Iterator[Mapping[str, str]]:
    """Labels and annotations of the object and of its pod template, where they have a key of ours."""
    metas = [value.metadata]
    template = getattr(getattr(value, "spec", None), "template", None)
    if template is not None:
        metas.append(template.metadata)
    for meta in metas:
        if any(key.startswith(keys.PREFIX) for key in (*meta.annotations, *meta.labels)):
            yield {**meta.labels, **meta.annotations}


def _about(each: Found, given: Mapping[str, str], known: Names) -> Iterator[str]:
    who = " ".join(identity(each))
    for key in keys.unreadable(given):
        yield Ignored(f"{who}: {key} cannot be read and counts as not given")
    wrong: dict[str, list[str]] = {}
    for key, peer in keys.unreadable_entries(given):
        wrong.setdefault(key, []).append(repr(peer))
    for key, peers in wrong.items():
        if len(peers) == 1:
            yield Ignored(f"{who}: {key}: the figure of {peers[0]} is no number that can be, and counts as not given")
        else:
            figures = f"the figures of {_listed(peers)} are no numbers"
            yield Ignored(f"{who}: {key}: {figures} that can be, and count as not given")
    for key, near in keys.misspelt(given):
        yield Ignored(f"{who}: {key} is no key of ours and is ignored (did you mean {near}?)")
    tier = given.get(keys.TIER)
    if each.kind == "Node" and tier is not None and tier not in _TIERS:
        near_tier = nearest(tier, _TIERS)
        hint = f"did you mean {near_tier}?" if near_tier else "cloud, fog or edge"
        yield Ignored(f"{who}: {keys.TIER} {tier!r} is no tier and counts as not given ({hint})")
    if keys.AFFINITY in given and wire.KINDS[each.kind].namespaced:
        yield from _missing_peers(who, namespace_of(each.value.metadata), given[keys.AFFINITY], known)


def _missing_peers(who: str, namespace: str, text: str, known: Names) -> Iterator[str]:
    for peer in keys.json_object(text) or {}:
        space, _, name = peer.rpartition("/")
        here = known.get(space or namespace)
        if here is not None and name not in here and "@" not in name:  # of other namespaces there may be no export
            near = nearest(name, here)
            hint = f" (did you mean {near}?)" if near else ""
            yield Ignored(f"{who}: {keys.AFFINITY} names {peer!r}, and there is no such workload{hint}")


def _workloads(objects: Sequence[Found]) -> Names:
    """The names by which a peer may be meant, by namespace: workloads, those of bare pods, and owners of pods."""
    known: Names = {}
    for each in objects:
        if each.kind in _WORKLOADS or each.kind == "Pod":
            meta = each.value.metadata
            names = known.setdefault(namespace_of(meta), set())
            names.add(meta.name)
            owner = owner_above(meta)
            if owner is not None:
                names.add(owner[1])
            if each.kind == "Pod" and keys.APP in meta.labels:
                names.add(meta.labels[keys.APP])
    return known


def _listed(words: Sequence[str]) -> str:
    few = [*words[:5], f"{len(words) - 5} more"] if len(words) > 6 else list(words)
    return ", ".join(few[:-1]) + f" and {few[-1]}"
