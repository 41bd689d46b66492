"""A template laid over a cluster's objects: what the architect knows, beside what the cluster shows.

Workloads of the template that the cluster does not have are added, as if they had been applied. Those it has keep what
they are (image, replicas, measured use and traffic) and gain what only the template knows: static affinities, deadlines,
protocols, index, group and role. Nothing a person has put on the object already is overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from ecotone.manifests import wire
from ecotone.manifests.decoding import Found, decode
from ecotone.manifests.keys import (
    AFFINITY,
    APP,
    APP_GROUP,
    DEADLINES,
    INDEX,
    MAX_LATENCY,
    PROTOCOLS,
    ROLE,
    SOFT_DEADLINES,
)
from ecotone.manifests.reading.pods import namespace_of
from ecotone.tosca.application import load_application
from ecotone.tosca.compiler import compile_application

_ANNOTATIONS = (AFFINITY, DEADLINES, SOFT_DEADLINES, PROTOCOLS, MAX_LATENCY)
_LABELS = (APP, APP_GROUP, INDEX, ROLE)
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")


def overlay(path: str) -> Callable[[list[Found], list[str]], list[Found]]:
    """A function that lays the template at `path` over objects read from files."""
    application = load_application(path)
    objects = compile_application(application)
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    compiled = decode(listing, file=path)

    def amend(found: list[Found], notes: list[str]) -> list[Found]:
        notes.extend(application.notes)
        home = _namespace(found, {each.value.metadata.name for each in compiled if each.kind in _WORKLOADS})
        templates = {each.value.metadata.name: each.value for each in compiled if each.kind in _WORKLOADS}
        matched = {
            _key(each) for each in found if each.kind in _WORKLOADS and _here(each, home, templates, application.name)
        }
        present = {_key(each) for each in found}
        result = [
            replace(each, value=_laid(each.value, templates[each.value.metadata.name]))
            if _key(each) in matched
            else each
            for each in found
        ]
        names = {key[2] for key in matched}
        for each in compiled:
            moved = replace(each, value=_in_namespace(each.value, home), line=None)
            if each.value.metadata.name not in names and _key(moved) not in present:
                result.append(moved)
        return result

    return amend


def _key(each: Found) -> tuple[str, str, str]:
    return each.kind, namespace_of(each.value.metadata), each.value.metadata.name


def _here(each: Found, home: str, templates: dict[str, Any], group: str) -> bool:
    """A workload of the template's name in its namespace, unless it belongs to another group."""
    meta = each.value.metadata
    labels = {**meta.labels, **each.value.spec.template.metadata.labels}
    return meta.name in templates and namespace_of(meta) == home and labels.get(APP_GROUP, group) == group


def _namespace(found: list[Found], names: set[str]) -> str:
    """Where the application lives: the namespace with most of its workloads, else `default`."""
    spaces = [
        namespace_of(each.value.metadata)
        for each in found
        if each.kind in _WORKLOADS and each.value.metadata.name in names
    ]
    return max(sorted(set(spaces)), key=spaces.count, default="default")


def _laid(value: Any, template: Any) -> Any:
    """An existing workload with what the template knows filled in."""
    known: wire.Metadata = template.spec.template.metadata
    pod: wire.PodTemplate = value.spec.template
    own = {**pod.metadata.annotations, **value.metadata.annotations}
    annotations = {key: known.annotations[key] for key in _ANNOTATIONS if key in known.annotations and key not in own}
    labels = {key: known.labels[key] for key in _LABELS if key in known.labels and key not in value.metadata.labels}
    metadata = msgspec.structs.replace(
        pod.metadata,
        annotations={**annotations, **pod.metadata.annotations},
        labels={**labels, **pod.metadata.labels},
    )
    template_laid = msgspec.structs.replace(pod, metadata=metadata)
    spec = msgspec.structs.replace(value.spec, template=template_laid)
    return msgspec.structs.replace(value, spec=spec)


def _in_namespace(value: Any, namespace: str) -> Any:
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(value.metadata, namespace=namespace))
