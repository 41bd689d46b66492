"""Files and what they import.

A template is a tree of files: its own, relative ones beside it, and the profiles that ship with the package, which are
imported by name from anywhere. Nothing is ever fetched over a network. Each file sees its own names, those of its
imports (under a prefix where one is given), and TOSCA's normative types.

A template may come from somebody else. So what it imports lies below its own folder, or below a root that the caller
names; links are followed first. Only regular files are opened, and nothing is said about the contents of a file that
does not declare itself as TOSCA.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path

from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Limits, Node, load_document
from ecotone.model.errors import InputError
from ecotone.tosca.language.definitions import EntityType
from ecotone.tosca.language.grammar import IMPORT, SERVICE_TEMPLATE, TYPE_SECTIONS, VERSION, Shape

LIMITS = Limits(max_bytes=32 * 1024 * 1024, max_depth=50, max_nodes=2_000_000, max_aliases=10_000)
BUNDLED = ("ecotone/profile.yaml",)
NORMATIVE = "tosca/simple-1.3.yaml"
_MOST_FILES = 200
_DECLARES = "tosca_definitions_version"
_DECLARATION = re.compile(rb"^[\"']?tosca_definitions_version[\"']?[ \t]*:", re.MULTILINE)
_OUTSIDE = "put it below that folder, or name a common one with --import-root"


@dataclass(slots=True, eq=False)
class Declaration:
    """A type as written, before its inheritance is worked out."""

    kind: str
    name: str
    key: Node
    node: Node
    file: SourceFile
    type: EntityType | None = None
    broken: bool = False


@dataclass(slots=True, eq=False)
class SourceFile:
    """One file and the type names visible in it, per kind."""

    name: str
    root: Node
    declared: dict[str, dict[str, Declaration]] = field(default_factory=dict)
    names: dict[str, dict[str, Declaration]] = field(default_factory=dict)
    normative: SourceFile | None = None
    incomplete: bool = False
    """An import failed, so a name that is not known may still be right."""

    def find(self, kind: str, name: str) -> Declaration | None:
        found = self.names.get(kind, {}).get(name)
        if found is None and self.normative is not None:
            found = self.normative.names.get(kind, {}).get(name)
        return found

    def visible(self, kind: str) -> list[str]:
        """Names to suggest from: the file's own first, normative ones after."""
        own = list(self.names.get(kind, {}))
        return own + (list(self.normative.names.get(kind, {})) if self.normative is not None else [])


@lru_cache(maxsize=8)
def bundled(name: str) -> Node:
    """The parsed profile of that name inside the package."""
    text = resources.files("ecotone.tosca").joinpath("profiles", *name.split("/")).read_bytes()
    return load_document(text, file=name, limits=LIMITS)


class Library:
    """Loads a template's files, each once, and works out what each can see."""

    def __init__(self, shape: Shape, *, root: Path | None = None) -> None:
        """`root` is the folder that imports stay below; the template's own if none is named."""
        self._root = root
        self._shape = shape
        self._problems = shape.problems
        self._files: dict[str, SourceFile] = {}
        self._loading: list[str] = []
        self._normative = SourceFile(NORMATIVE, bundled(NORMATIVE))
        self._declare(self._normative)
        _add_short_names(self._normative)

    def open(self, text: str | bytes, *, name: str, folder: Path | None) -> SourceFile | None:
        """Read the template itself; None when it cannot be read at all (the reason is reported)."""
        key = str((folder / Path(name).name).resolve()) if folder is not None else name
        if folder is not None:
            self._root = (self._root or folder).resolve()
        return self._read(text, key=key, name=name, folder=folder)

    def files(self) -> list[SourceFile]:
        """Every file read, in the order they were first seen."""
        return list(self._files.values())

    def _read(self, text: str | bytes | Node, *, key: str, name: str, folder: Path | None) -> SourceFile | None:
        self._problems.saw_file(name)
        duplicates: list[InputError] = []
        try:
            root = (
                text if isinstance(text, Node) else load_document(text, file=name, limits=LIMITS, problems=duplicates)
            )
        except InputError as error:
            self._problems.add(error)
            return None
        finally:
            for duplicate in duplicates:
                self._problems.add(duplicate)
        return self._understand(root, key=key, name=name, folder=folder)

    def _understand(self, root: Node, *, key: str, name: str, folder: Path | None) -> SourceFile | None:
        file = SourceFile(name, root, normative=self._normative)
        self._files[key] = file
        if not self._shape.keyed(root, SERVICE_TEMPLATE, "a service template"):
            return None
        self._check_version(root)
        self._shape.common(root, "the service template")
        self._declare(file)
        self._loading.append(key)
        self._import(file, folder=folder)
        self._loading.pop()
        return file

    def _check_version(self, root: Node) -> None:
        version = root.get("tosca_definitions_version")
        if version is None:
            self._problems.report(
                root, "tosca_definitions_version is missing", hint=f"begin with `tosca_definitions_version: {VERSION}`"
            )
        elif version.plain() != VERSION:
            word = version.text if version.is_scalar else version.describe()
            self._problems.report(
                version, f"tosca_definitions_version `{word}` is not supported", hint=f"did you mean `{VERSION}`?"
            )

    def _declare(self, file: SourceFile) -> None:
        for section, kind in TYPE_SECTIONS.items():
            table = file.declared.setdefault(kind, {})
            for key, node in self._shape.section(file.root, section, section):
                if not key.text:
                    self._problems.report(key, f"a {kind} type needs a name")
                    continue
                table[key.text] = Declaration(kind, key.text, key, node, file)
            file.names[kind] = dict(table)

    def _import(self, file: SourceFile, *, folder: Path | None) -> None:
        imports = file.root.get("imports")
        if imports is None:
            return
        file.incomplete = not imports.is_sequence
        for element in self._shape.sequence(imports, "imports"):
            at, target, prefix = self._import_definition(element)
            imported = self._load(target, at=at, folder=folder) if target is not None else None
            if imported is None:
                file.incomplete = True
            else:
                file.incomplete = file.incomplete or imported.incomplete
                self._absorb(file, imported, prefix=prefix, at=at)

    def _import_definition(self, element: Node) -> tuple[Node, str | None, str]:
        """Where to report, the file named, and the prefix; short, long and named forms."""
        if element.is_scalar:
            return element, self._shape.text(element, "an import"), ""
        if element.is_mapping and len(element.value) == 1 and not element.value.keys() & IMPORT:
            ((key, inner),) = element.entries()
            if inner.is_scalar:
                return inner, self._shape.text(inner, f"the import `{key.text}`"), ""
            element = inner
        if not self._shape.keyed(element, IMPORT, "an import"):
            return element, None, ""
        file = element.get("file")
        if file is None:
            self._problems.report(element, "an import needs `file`")
            return element, None, ""
        repository = element.get("repository")
        if repository is not None:
            self._problems.report(repository, "repositories are not used: nothing is fetched over a network")
            return file, None, ""
        prefix_node = element.get("namespace_prefix")
        prefix = self._shape.text(prefix_node, "namespace_prefix") if prefix_node is not None else ""
        return file, self._shape.text(file, "file"), prefix or ""

    def _load(self, target: str, *, at: Node, folder: Path | None) -> SourceFile | None:
        if target in BUNDLED:
            known = self._files.get(target)
            return known if known is not None else self._read(bundled(target), key=target, name=target, folder=None)
        if "://" in target:
            self._problems.report(at, f"`{target}` is not imported: nothing is fetched over a network")
            return None
        if folder is None:
            self._problems.report(at, f"unknown import `{target}`", hint=did_you_mean(target, BUNDLED))
            return None
        path = folder / target
        try:
            resolved = path.resolve()
            key = str(resolved)
            if self._root is None or not resolved.is_relative_to(self._root):
                self._problems.report(
                    at, f"`{target}` is not imported: it lies outside the template's folder", hint=_OUTSIDE
                )
                return None
            if key in self._loading:
                self._problems.report(at, f"the file `{target}` imports itself, directly or through others")
                return None
            if key in self._files:
                return self._files[key]
            if len(self._files) >= _MOST_FILES:
                self._problems.report(at, f"more than {_MOST_FILES} files are imported")
                return None
            text = read_regular(resolved)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = did_you_mean(target, [*BUNDLED, *_beside(folder)])
            self._problems.report(at, f"cannot import `{target}`: {reason}", hint=hint)
            return None
        return self._read_import(text, key=key, path=path, target=target, at=at)

    def _read_import(self, text: bytes, *, key: str, path: Path, target: str, at: Node) -> SourceFile | None:
        """A file that does not say it is TOSCA may be anybody's: that is all that is said about it."""
        duplicates: list[InputError] = []
        root: Node | None = None
        wrong: InputError | None = None
        try:
            root = load_document(text, file=str(path), limits=LIMITS, problems=duplicates)
        except InputError as error:
            wrong = error
        declared = root is not None and root.is_mapping and root.get(_DECLARES) is not None
        if not declared and (root is not None or not _DECLARATION.search(text)):
            self._problems.report(at, f"`{target}` is not imported: it does not declare {_DECLARES}")
            return None
        self._problems.saw_file(str(path))
        for problem in (*duplicates, *([wrong] if wrong is not None else [])):
            self._problems.add(problem)
        return self._understand(root, key=key, name=str(path), folder=path.parent) if root is not None else None

    def _absorb(self, file: SourceFile, imported: SourceFile, *, prefix: str, at: Node) -> None:
        """Make an import's names visible; the same name for two different types is an error at the second."""
        for kind, table in imported.names.items():
            mine = file.names.setdefault(kind, {})
            for name, declaration in table.items():
                visible = f"{prefix}:{name}" if prefix else name
                present = mine.get(visible)
                if present is None:
                    mine[visible] = declaration
                elif present is not declaration:
                    mine[visible] = declaration  # the rest of the file was written with the import in mind
                    place = present.key if present.file is file else at
                    other = declaration if present.file is file else present
                    self._problems.report(
                        place,
                        f"the {kind} type `{visible}` is already declared in {other.file.name}:{other.key.line}",
                        hint="rename it, or import with a namespace_prefix",
                    )


def _add_short_names(file: SourceFile) -> None:
    """`tosca.nodes.Compute` is also `tosca:Compute` and `Compute` (standard, 5.1.3)."""
    for table in file.names.values():
        for name, declaration in list(table.items()):
            parts = name.split(".", 2)
            if len(parts) == 3 and parts[0] == "tosca":
                table.setdefault(f"tosca:{parts[2]}", declaration)
                table.setdefault(parts[2], declaration)


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file, limited likewise; a pipe or a device is refused without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        return stream.read(LIMITS.max_bytes + 1)


def read_limited(path: Path) -> bytes:
    """A file's bytes, never more than the limit plus one (so that the limit is noticed)."""
    with path.open("rb") as stream:
        return stream.read(LIMITS.max_bytes + 1)


def _beside(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.suffix in (".yaml", ".yml"))[:200]
    except OSError:
        return []
