"""What a compose file takes from elsewhere: included files, services it extends, files of environment variables.

All of it is read as compose reads it, relative to the file that names it, but never from outside the folder of the compose
file itself: a file from somebody else should not be able to put any file of this machine into a template. What is not read
is remarked, so that nothing is lost silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ecotone.manifests.yaml.positions import Node, load_document
from ecotone.tosca.language.files import LIMITS, read_limited

_DEEPEST = 20
_LISTS = frozenset(
    [
        "ports",
        "expose",
        "environment",
        "env_file",
        "secrets",
        "configs",
        "links",
        "external_links",
        "depends_on",
        "volumes",
        "networks",
    ]
)


class Surroundings:
    """The folder that a compose file may read from; None: the file came through a pipe and stands alone."""

    def __init__(self, folder: Path | None) -> None:
        self._root = None if folder is None else folder.resolve()
        self.remarks: list[str] = []

    # Whole files

    def services(self, root: Node, folder: Path | None, depth: int = 0) -> Iterator[tuple[Node, Node, Path | None]]:
        """(name, service, its file's folder) of this file and those it includes, the included ones first."""
        for named in _included(root.get("include")):
            found = self._document(named.text, folder, f"include of {named.text}") if depth < _DEEPEST else None
            if depth >= _DEEPEST:
                raise named.error(f"files include each other more than {_DEEPEST} deep")
            if found is not None:
                yield from self.services(*found, depth + 1)
        services = root.get("services")
        if services is not None and services.is_mapping:
            for key, node in services.entries():
                yield key, node, folder

    def extended(self, key: str, node: Node, siblings: dict[str, Node], folder: Path | None, depth: int = 0) -> Node:
        """The service with what it extends merged in, as compose merges it: its own words win, lists grow."""
        given = node.get("extends")
        if given is None or not node.is_mapping:
            return node
        if depth > _DEEPEST:
            raise given.error("services extend each other in a circle")
        service = given if given.is_scalar else given.get("service")
        if service is None or not service.text:
            raise given.error("`extends` names a service")
        file = given.get("file")
        known, where = siblings, folder
        if file is not None:
            found = self._document(file.text, folder, f"{key} extends {service.text} of {file.text}, which")
            if found is None:
                return node
            document, where = found
            known = dict((document.get("services") or given).items())
        base = known.get(service.text)
        if base is None:
            raise service.error(f"`{key}` extends `{service.text}`, which is no service")
        if not base.is_mapping:
            raise base.error(f"the service `{service.text}` must be a mapping, not {base.describe()}")
        return _merged(self.extended(service.text, base, known, where, depth + 1), node)

    # Environment

    def variables(self, node: Node, folder: Path | None) -> tuple[dict[str, str], list[str]]:
        """What the service's `env_file` sets, and what could not be read."""
        given = node.get("env_file")
        found: dict[str, str] = {}
        remarks = []
        for each in [] if given is None else given.elements() or [given]:
            path = each.get("path") if each.is_mapping else each
            if path is None or not path.text:
                continue
            text, why = self._text(path.text, folder)
            if text is None:
                remarks.append(f"env_file {path.text} {why}: its variables are missing")
            else:
                found |= dict(_assignments(text.decode("utf-8", errors="replace")))
        return found, remarks

    def _document(self, name: str, folder: Path | None, what: str) -> tuple[Node, Path | None] | None:
        text, why = self._text(name, folder)
        if text is None or folder is None:
            self.remarks.append(f"{what} {why}")
            return None
        path = folder / name
        return load_document(text, file=str(path), limits=LIMITS), path.parent

    def _text(self, name: str, folder: Path | None) -> tuple[bytes | None, str]:
        if self._root is None or folder is None:
            return None, "is not read from a pipe"
        try:
            path = (folder / name).resolve()
            if not path.is_relative_to(self._root):
                return None, "is outside the compose file's folder and is not read"
            return read_limited(path), ""
        except (OSError, ValueError) as error:
            return None, f"cannot be read ({getattr(error, 'strerror', None) or error})"


def _included(given: Node | None) -> Iterator[Node]:
    for each in [] if given is None else given.elements() or [given]:
        path = each.get("path") if each.is_mapping else each
        for one in [] if path is None else path.elements() or [path]:
            if one.is_scalar and one.text:
                yield one


def _merged(base: Node, own: Node) -> Node:
    value = dict(base.value)
    for name, (key, node) in own.value.items():
        before = value.get(name)
        value[name] = (key, node if before is None else _joined(name, before[1], node))
    return _at(own, value)


def _joined(name: str, before: Node, node: Node) -> Node:
    if before.is_mapping and node.is_mapping:
        return _merged(before, node)
    if name in _LISTS and before.is_sequence and node.is_sequence:
        return _at(node, [*before.elements(), *node.elements()])
    if name == "environment" and not (before.is_scalar or node.is_scalar):
        return _merged(_as_mapping(before), _as_mapping(node))
    return node


def _as_mapping(node: Node) -> Node:
    """`[A=1, B=2]` as `{A: 1, B: 2}`."""
    if not node.is_sequence:
        return node
    pairs = {}
    for each in node.elements():
        name, separator, value = each.text.partition("=")
        if separator:
            pairs[name] = (each, Node("scalar", value, file=each.file, line=each.line, column=each.column, text=value))
    return Node("mapping", pairs, file=node.file, line=node.line, column=node.column)


def _at(place: Node, value: object) -> Node:
    return Node(place.kind, value, file=place.file, line=place.line, column=place.column)


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """`NAME=value` lines as docker reads them: comments and blank lines apart, quotes taken off."""
    for line in text.splitlines():
        name, separator, value = line.strip().removeprefix("export ").partition("=")
        if separator and name.strip() and not name.startswith("#"):
            given = value.strip()
            if len(given) >= 2 and given[0] == given[-1] and given[0] in "'\"":
                yield name.strip(), given[1:-1]
            else:
                yield name.strip(), given.split(" #")[0].rstrip()
