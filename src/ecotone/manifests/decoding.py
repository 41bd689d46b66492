"""Bytes of a file to wire objects, fast when all is well and precise when it is not.

JSON goes through msgspec in one pass, YAML into plain data. Where either meets something that it does not answer for, the
file is read again as YAML with positions, so that the error names line and field and not just "invalid".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any

import msgspec

from ecotone.manifests import wire
from ecotone.manifests.yaml.plain import NotPlainError, PlainDocument, Watch, load_plain
from ecotone.manifests.yaml.positions import Limits, Node, load_documents
from ecotone.model.errors import InputError, did_you_mean

YAML_LIMITS = Limits()
JSON_MAX_BYTES = 512 * 1024 * 1024
ANY = "..."
_BUILT_IN_GROUPS = {"", "apps", "batch", "policy", "storage.k8s.io", "scheduling.k8s.io"}
_OTHER_KINDS = {
    "": [
        *("Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "PodTemplate"),
        *("ResourceQuota", "Secret", "ServiceAccount", "APIGroup", "Status"),
    ],
    "apps": ["ControllerRevision"],
    "batch": [],
    "policy": ["PodSecurityPolicy", "Eviction"],
    "storage.k8s.io": ["CSIDriver", "CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"],
    "scheduling.k8s.io": ["PodGroup", "Workload"],
}
_ELSEWHERE = {
    ("ecotone.dev", "Scenario"): "a scenario: ecotone simulate runs it",
    ("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"): "a configuration: pass it with --config",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One object of a file: its kind, its typed shape, and where it began."""

    kind: str
    value: Any
    file: str
    line: int | None = None


class _Head(msgspec.Struct, rename="camel"):
    kind: Any = None
    api_version: Any = None
    items: list[msgspec.Raw] | None = None
    metadata: Any = None


def decode(data: bytes, *, file: str, watch: Watch | None = None) -> list[Found]:
    """Every object of a file that matters here; objects of other kinds are passed over. `watch` is told how far it is."""
    json = looks_like_json(data)
    refuse_size(len(data), json=json, file=file)
    if json:
        try:
            return list(_from_json(data.lstrip(b"\xef\xbb\xbf"), file=file))
        except (msgspec.MsgspecError, NotPlainError, UnicodeDecodeError, RecursionError) as error:
            # YAML is a superset and its reader knows where things are: it says what is wrong, or reads it after all.
            if len(data) > limit(json=False):
                told = str(error) or "it has objects without kind or apiVersion, or of unknown kinds"
                raise InputError(f"the JSON cannot be used: {told}", file=file) from None
    elif data.count(0, 0, 4096):
        raise InputError("the file is binary, not YAML or JSON", file=file)
    else:
        try:
            return _from_plain(load_plain(data, file=file, limits=YAML_LIMITS, watch=watch), file=file)
        except NotPlainError:
            pass
    return list(_from_yaml(data, file=file, json=json))


def looks_like_json(data: bytes) -> bool:
    return data[:65536].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def limit(*, json: bool) -> int:
    return JSON_MAX_BYTES if json else YAML_LIMITS.max_bytes


def refuse_size(size: int, *, json: bool, file: str) -> None:
    most = limit(json=json)
    if size > most:
        message = f"{size / 2**20:.0f} MiB are more than the {most / 2**20:.0f} MiB that are read"
        raise InputError(message, file=file, hint="export fewer kinds, or as JSON")


# JSON, the fast way


def _from_json(data: bytes, *, file: str) -> Iterator[Found]:
    for document in _json_documents(data):
        yield from _json_object(document, file=file, nested=False)


def _json_documents(data: bytes) -> list[Any]:
    try:
        return [msgspec.json.decode(data, type=msgspec.Raw)]
    except msgspec.MsgspecError:
        return _concatenated(data)


def _concatenated(data: bytes) -> list[bytes]:
    """Several JSON texts one after the other, as some tools print them."""
    found: list[bytes] = []
    text, decoder, place = data.decode("utf-8", "strict"), JSONDecoder(), 0
    skip = re.compile(r"\s*")
    try:
        while place < len(text):
            _, end = decoder.raw_decode(text, place)
            found.append(text[place:end].encode())
            blank = skip.match(text, end)
            place = end if blank is None else blank.end()
    except (JSONDecodeError, RecursionError):
        raise NotPlainError from None
    return found


def _json_object(raw: Any, *, file: str, nested: bool) -> Iterator[Found]:
    head = msgspec.json.decode(raw, type=_Head)
    if not isinstance(head.kind, str) or not isinstance(head.api_version, str):
        raise NotPlainError
    if head.items is not None and head.kind.endswith("List") and not nested:
        item_kind = head.kind.removesuffix("List")
        for item in head.items:
            yield from _json_item(item, item_kind, head.api_version, file=file)
        return
    known = _known(head.kind, head.api_version)
    if known is None:
        raise NotPlainError
    if known.shape is not None:
        yield Found(head.kind, _shaped(raw, known.shape), file)


def _json_item(item: Any, kind: str, api_version: str, *, file: str) -> Iterator[Found]:
    """Items of a PodList may leave out what the list has said."""
    if kind and msgspec.json.decode(item, type=_Head).kind is None:
        known = _known(kind, api_version)
        if known is None:
            raise NotPlainError
        if known.shape is not None:
            yield Found(kind, _shaped(item, known.shape), file)
        return
    yield from _json_object(item, file=file, nested=True)


def _shaped(raw: Any, shape: type[Any]) -> Any:
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.ValidationError:
        # Most often a null that the API takes for absent: worth a second look, not a slow reading of the whole file.
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)), type=shape)


# YAML, the fast way


def _from_plain(documents: list[PlainDocument], *, file: str) -> list[Found]:
    found: list[Found] = []
    for document in documents:
        if document.value is not None:
            _plain_object(document.value, found, file=file, document=document)
    return found


def _plain_object(
    value: Any, found: list[Found], *, file: str, document: PlainDocument, kind: Any = None, api_version: Any = None
) -> None:
    """`kind` and `api_version` are those that the list has said, for items that leave them out."""
    if not isinstance(value, dict):
        raise NotPlainError
    own_kind, own_version = value.get("kind"), value.get("apiVersion")
    kind, api_version = kind if own_kind is None else own_kind, api_version if own_version is None else own_version
    if not isinstance(kind, str) or not isinstance(api_version, str):
        raise NotPlainError
    items = value.get("items")
    if kind.endswith("List") and (items is not None or kind == "List"):
        if not isinstance(items, list):
            raise NotPlainError
        told = kind.removesuffix("List") or None
        for item in items:
            _plain_object(
                item, found, file=file, document=document, kind=told, api_version=api_version if told else None
            )
        return
    known = _known(kind, api_version)
    if known is None:
        raise NotPlainError
    if known.shape is not None:
        try:
            typed = msgspec.convert(without_nulls(value), type=known.shape)
        except msgspec.ValidationError:
            raise NotPlainError from None
        found.append(Found(kind, typed, file, document.line_of(value)))


# YAML, with positions


def _from_yaml(data: bytes, *, file: str, json: bool) -> Iterator[Found]:
    try:
        documents = load_documents(data, file=file, limits=YAML_LIMITS)
    except InputError as error:
        if json:
            error.message = error.message.replace("not valid YAML", "neither valid JSON nor YAML")
        raise
    for document in documents:
        if document.is_null:
            continue
        yield from _yaml_object(document, kind=None, api_version=None)


def _yaml_object(node: Node, *, kind: str | None, api_version: str | None) -> Iterator[Found]:
    if not node.is_mapping:
        raise node.error(f"a Kubernetes object is expected, not {node.describe()}")
    kind, api_version = _text(node, "kind", kind), _text(node, "apiVersion", api_version)
    items = node.get("items")
    if kind.endswith("List") and (items is not None or kind == "List"):
        yield from _yaml_items(items, kind.removesuffix("List") or None, api_version)
        return
    known = _known(kind, api_version)
    if known is None:
        raise _unknown_kind(node, kind, api_version)
    if known.shape is not None:
        yield Found(kind, _typed(node, kind, known.shape), node.file, node.line)


def _yaml_items(items: Node | None, kind: str | None, api_version: str) -> Iterator[Found]:
    if items is None or items.is_null:
        return
    if not items.is_sequence:
        raise items.error(f"items must be a list, not {items.describe()}")
    for item in items.elements():
        yield from _yaml_object(item, kind=kind, api_version=api_version if kind else None)


def _text(node: Node, key: str, fallback: str | None) -> str:
    found = node.get(key)
    if found is None or found.is_null:
        if fallback is not None:
            return fallback
        raise node.error(f"the object has no {key}", hint=_not_kubernetes(node) or _misspelt(node, key))
    if not isinstance(found.value, str):
        raise found.error(f"{key} must be text, not {found.describe()}")
    return found.value


def _not_kubernetes(node: Node) -> str | None:
    if node.get("tosca_definitions_version") is not None:
        return "a TOSCA template: ecotone tosca compile turns it into objects"
    return None


def _misspelt(node: Node, key: str) -> str | None:
    near = did_you_mean(key, node.keys())
    return near and near.replace("did you mean", "is it").replace("?", ", misspelt?")


def _typed(node: Node, kind: str, shape: type[Any]) -> Any:
    plain = without_nulls(node.plain())
    try:
        return msgspec.convert(plain, type=shape)
    except msgspec.ValidationError as error:
        message, path = _split(str(error))
        place, path = locate(node, path)
        field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
        quote = "quote it" if "`str`, got" in message and place.is_scalar and not place.is_null else None
        missing = _missing_field(place, message)
        raise place.error(f"{kind}{_name(node)}: {field or 'object'}: {message}", hint=quote or missing) from None


def _name(node: Node) -> str:
    meta = node.get("metadata")
    name = None if meta is None else meta.get("name")
    return f" {name.text}" if name is not None and name.is_scalar else ""


def _missing_field(place: Node, message: str) -> str | None:
    shape = re.search(r"missing required field `(\w+)`", message)
    return _misspelt(place, shape[1]) if shape else None


def _split(text: str) -> tuple[str, list[str | int]]:
    """msgspec's message and the path inside it: `$.spec.containers[0].ports[...]`."""
    message, _, path = text.partition(" - at `")
    steps: list[str | int] = []
    for name, number in re.findall(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]", path.rstrip("`")):
        steps.append(name or (ANY if number == ANY else int(number)))
    return message[:1].lower() + message[1:].replace(" | null`", "`"), steps


def locate(node: Node, path: list[str | int]) -> tuple[Node, list[str | int]]:
    """The deepest place along the path that exists, and the path to it with every key spelt out."""
    walked: list[str | int] = []
    for step in path:
        name = _odd_key(node) if step == ANY else step
        following = node.get(name) if isinstance(name, str) else dict(enumerate(node.elements())).get(name)
        walked.append(name)
        if following is None:
            return node, walked
        node = following
    return node, walked


def _odd_key(node: Node) -> str:
    """Of a mapping's values only the type is told: it is the first that is no text, else the first at all."""
    odd = [key for key, value in node.items() if not isinstance(value.value, str)]
    return next(iter(odd or node.keys()), ANY)


def without_nulls(value: Any) -> Any:
    """The API takes null for absent everywhere, so do we."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value if each is not None]
    return value


# Kinds


@dataclass(frozen=True, slots=True)
class _Known:
    shape: type[Any] | None


def _known(kind: str, api_version: str) -> _Known | None:
    """A kind with the shape that is read of it, if any; None for an unknown kind."""
    group = api_version.rpartition("/")[0]
    ours = wire.KINDS.get(kind)
    if ours is not None and ours.group == group:
        return _Known(ours.shape)
    if group in _BUILT_IN_GROUPS and kind not in _OTHER_KINDS[group] and not kind.endswith("List"):
        return None
    if group == wire.ECOTONE or (group, kind) in _ELSEWHERE:
        return None
    return _Known(None)


def _unknown_kind(node: Node, kind: str, api_version: str) -> InputError:
    group = api_version.rpartition("/")[0]
    place = node.get("kind") or node
    elsewhere = _ELSEWHERE.get((group, kind))
    if elsewhere is not None:
        return place.error(f"{kind} is not part of a cluster", hint=elsewhere)
    proper = wire.KINDS.get(kind)
    if proper is not None:
        wanted = f"{proper.group}/..." if proper.group else "v1"
        return (node.get("apiVersion") or node).error(
            f"{api_version} has no kind {kind!r}", hint=f"{kind} belongs to {wanted}"
        )
    here = [name for name, each in wire.KINDS.items() if each.group == group] + _OTHER_KINDS.get(group, [])
    hint = did_you_mean(kind, here) or did_you_mean(kind, wire.KINDS)
    return place.error(f"{api_version} has no kind {kind!r}", hint=hint)
