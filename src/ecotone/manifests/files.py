"""Files, directories and standard input turned into a snapshot.

Everything is read before anything is decided, within size limits that are checked before memory is spent, and the first
thing that cannot be used is reported with its place. "Now" is the newest time found in the objects unless it is given.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ecotone.manifests import keys, wire
from ecotone.manifests.decoding import Found, decode, limit, looks_like_json, refuse_size
from ecotone.manifests.expansion import in_file_order, missing_pods
from ecotone.manifests.reading.pods import namespace_of
from ecotone.manifests.reading.workloads import owner_above
from ecotone.manifests.remarks import Ignored, identity, remarks
from ecotone.manifests.replay import restore
from ecotone.manifests.store import ObjectStore
from ecotone.manifests.times import time_or_none
from ecotone.manifests.yaml.plain import Watch
from ecotone.manifests.yaml.positions import Node, load_documents
from ecotone.model.columns.network import DEFAULT_MAX_AGE
from ecotone.model.errors import InputError
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
MOST_FILES = 10_000


Amend = Callable[[list[Found], list[str]], list[Found]]
WatchFile = Callable[[str, int, bool], Watch | None]
"""Asked for each file, with its size in bytes and whether it is JSON, who wants to be told how far its reading is."""


def read_paths(
    paths: Sequence[str | Path],
    *,
    now: float | None = None,
    max_age: float | None = None,
    seed: int | None = None,
    trusted: bool = False,
    stdin: BinaryIO | None = None,
    notes: list[str] | None = None,
    amend: Amend | None = None,
    watch: WatchFile | None = None,
) -> Snapshot:
    """The snapshot that these files describe. `notes` collects what a person should know about it.

    `trusted`: what an owner says of his pods' use is believed in all namespaces, not in his own alone.
    """
    store = read_objects(
        paths, now=now, max_age=max_age, seed=seed, trusted=trusted, stdin=stdin, notes=notes, amend=amend, watch=watch
    )
    return store.sink.freeze()


def read_objects(
    paths: Sequence[str | Path],
    *,
    now: float | None = None,
    max_age: float | None = None,
    seed: int | None = None,
    trusted: bool = False,
    stdin: BinaryIO | None = None,
    notes: list[str] | None = None,
    amend: Amend | None = None,
    watch: WatchFile | None = None,
) -> ObjectStore[ClusterState]:
    """The same, as a store that further objects can be put into. `amend` may change and add objects before they are used."""
    found = [each for path in paths for each in _read(str(path), stdin, watch)]
    notes = [] if notes is None else notes
    found = _without_doubles(found, notes)
    if not found:
        where = ", ".join(str(path) for path in paths)
        raise InputError("no Kubernetes objects that matter here", file=where, hint="export nodes, pods and workloads")
    if amend is not None:
        found = amend(found, notes)
    told = next((each for each in reversed(found) if each.kind == "SnapshotState"), None)
    state: wire.SnapshotState | None = None if told is None else told.value
    if told is not None and not (math.isfinite(told.value.now) and math.isfinite(told.value.max_age)):
        raise InputError("SnapshotState: now and maxAge must be numbers", file=told.file, line=told.line)
    if now is None:
        now = state.now if state is not None else newest_time(found)
    cluster = ClusterState(
        now=now,
        max_age=_first(max_age, None if state is None else state.max_age, DEFAULT_MAX_AGE),
        seed=int(_first(seed, None if state is None else state.seed, 0)),
    )
    cluster.vouched = trusted or (state is not None and state.vouched)
    store = ObjectStore(cluster, dumped=state is not None)
    objects = [each for each in found if each.kind != "SnapshotState"]
    _refuse_cycles(objects)
    if state is None:
        notes += remarks(objects)
    if state is None:
        objects = in_file_order([*objects, *missing_pods(objects, notes)], now)
    _fill(store, objects)
    if state is not None:
        restore(store.sink, state)
    return store


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


# Where bytes come from


def _read(path: str, stdin: BinaryIO | None, watch: WatchFile | None) -> list[Found]:
    def read(data: bytes, file: str) -> list[Found]:
        return decode(data, file=file, watch=None if watch is None else watch(file, len(data), looks_like_json(data)))

    if path == STDIN:
        return read(_take(stdin or sys.stdin.buffer, "standard input"), "standard input")
    return [each for file in _files(Path(path)) for each in read(_bytes(file), str(file))]


def _files(path: Path) -> Iterable[Path]:
    if not path.exists():
        raise InputError("no such file or directory", file=str(path))
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.rglob("*") if each.suffix in ENDINGS and each.is_file())
    if not files:
        raise InputError("the directory holds no .yaml, .yml or .json file", file=str(path))
    if len(files) > MOST_FILES:
        raise InputError(f"the directory holds more than {MOST_FILES} files", file=str(path))
    return files


def _bytes(file: Path) -> bytes:
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            return _take(stream, str(file), told=size)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(file)) from None


def _take(stream: BinaryIO, file: str, *, told: int = 0) -> bytes:
    """At most what may be read; pipes and devices do not tell their size beforehand, and some have no end."""
    start = stream.read(65536)
    json = looks_like_json(start)
    refuse_size(told, json=json, file=file)
    data = start + stream.read(limit(json=json) + 1 - len(start))
    refuse_size(len(data), json=json, file=file)
    return data


# What is in them


def _without_doubles(found: list[Found], notes: list[str]) -> list[Found]:
    """The same object twice, in two exports say: the later one counts."""
    last: dict[tuple[str, str], Found] = {}
    for each in found:
        if not each.value.metadata.name and each.kind != "SnapshotState":
            raise InputError(
                f"{each.kind} without metadata.name", file=each.file, line=each.line, hint="every object needs a name"
            )
        key = identity(each)
        before = last.pop(key, None)
        if before is not None and before.value != each.value:
            notes.append(Ignored(f"{each.kind} {key[1]} appears twice and differs: the one of {each.file} counts"))
        last[key] = each
    return list(last.values())


def _refuse_cycles(found: Iterable[Found]) -> None:
    """Nobody owns his owner; a file that says so would send every later question in a circle."""
    by_name = {(each.kind, namespace_of(each.value.metadata), each.value.metadata.name): each for each in found}
    cleared: set[tuple[str, str, str]] = set()
    for start, each in by_name.items():
        path: list[tuple[str, str, str]] = []
        here = start
        while here in by_name and here not in cleared:
            if here in path:
                circle = " -> ".join(f"{kind}/{name}" for kind, _, name in (*path[path.index(here) :], here))
                message = f"{each.kind} {start[1]}/{start[2]}: owners form a cycle: {circle}"
                raise InputError(message, file=each.file, line=each.line, hint="an object cannot own its owner")
            path.append(here)
            above = owner_above(by_name[here].value.metadata)
            if above is None:
                break
            here = (above[0], start[1], above[1])
        cleared.update(path)


def newest_time(found: Iterable[Found]) -> float:
    """The latest moment the objects speak of, as "now"; 0 if they speak of none."""
    return max((moment for each in found for moment in _times(each.value)), default=0.0)


def _times(given: Any) -> Iterator[float]:
    meta: wire.Metadata = given.metadata
    texts = [meta.creation_timestamp, meta.annotations.get(keys.MEASURED_AT)]
    status = getattr(given, "status", None)
    texts += [getattr(status, "start_time", None)]
    for condition in getattr(status, "conditions", ()):
        texts += [condition.last_transition_time, condition.last_heartbeat_time]
    for text in texts:
        moment = time_or_none(text)
        if moment is not None:
            yield moment


def _fill(store: ObjectStore[ClusterState], found: list[Found]) -> None:
    places = {id(each.value): each for each in found}
    seen: list[Any] = []

    def watched() -> Iterator[tuple[str, Any]]:
        for each in found:
            yield each.kind, each.value

    try:
        store.load(watched(), seen=seen)
    except InputError as error:
        if error.file is not None or not seen:
            raise
        raise _placed(error, places[id(seen[-1])]) from None


def _placed(error: InputError, each: Found) -> InputError:
    """The error with the line of the offending text, looked up again in the file."""
    name = identity(each)[1]
    message = f"{each.kind} {name}: {error.message}"
    line, column = each.line, None
    if each.file != "standard input":
        node = _find(each, name)
        culprit = None if node is None else _culprit(node, error.message)
        if culprit is not None:
            line, column = culprit.line, culprit.column
    return InputError(message, file=each.file, line=line, column=column, hint=error.hint)


def _find(each: Found, name: str) -> Node | None:
    try:
        documents = load_documents(_bytes(Path(each.file)), file=each.file)
    except InputError:
        return None
    for document in documents:
        for node in (document, *_items(document)):
            kind, meta = node.get("kind"), node.get("metadata")
            own = None if meta is None else meta.get("name")
            if kind is not None and kind.text == each.kind and own is not None and name.endswith(own.text):
                return node
    return None


def _items(document: Node) -> list[Node]:
    items = document.get("items")
    return [] if items is None else items.elements()


def _culprit(node: Node, message: str) -> Node:
    """The first scalar that the message quotes, else the object."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if here.is_scalar and here.text and f"quantity {here.value!r}" in message:
            return here
        below = [value for _, value in here.items()] if here.is_mapping else here.elements()
        waiting.extend(reversed(below))
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if here.is_scalar and here.text and f"'{here.text}'" in message:
            return here
        below = [value for _, value in here.items()] if here.is_mapping else here.elements()
        waiting.extend(reversed(below))
    return node
