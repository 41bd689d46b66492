"""Reading a service template from start to end.

`read_template` is the one door: files, types, topology, and then either a `ServiceTemplate` or one error that carries
every problem found. Inputs are given as YAML text (`--input replicas=3`) or as a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ecotone.manifests.yaml.positions import Node, load_document
from ecotone.model.errors import InputError
from ecotone.tosca.language.files import LIMITS, Library, SourceFile, read_limited
from ecotone.tosca.language.grammar import Shape
from ecotone.tosca.language.problems import Problems, TemplateError
from ecotone.tosca.language.topology import Topology
from ecotone.tosca.language.types import TypeTable


@dataclass(frozen=True, slots=True)
class ServiceTemplate:
    """A template that holds together: its topology with every value worked out."""

    name: str
    file: SourceFile
    topology: Topology
    problems: Problems

    @property
    def notes(self) -> list[str]:
        """What was read and ignored."""
        return self.problems.notes


def read_template(
    path: str | Path, *, inputs: Mapping[str, Node] | None = None, root: Path | None = None
) -> ServiceTemplate:
    """Read a template file; TemplateError carries everything that is wrong with it."""
    template = open_template(path, inputs=inputs, root=root)
    template.problems.raise_if_any()
    return template


def parse_template(
    text: str | bytes,
    *,
    name: str = "<template>",
    folder: Path | None = None,
    inputs: Mapping[str, Node] | None = None,
) -> ServiceTemplate:
    """Read a template from memory; relative imports are looked for in `folder`."""
    template = examine(text, name=name, folder=folder, inputs=inputs)
    template.problems.raise_if_any()
    return template


def open_template(
    path: str | Path, *, inputs: Mapping[str, Node] | None = None, root: Path | None = None
) -> ServiceTemplate:
    """Read a template file as far as it can be understood; what is wrong waits in its problems.

    Imports stay below `root`, by default the template's own folder.
    """
    source = Path(path)
    try:
        text = read_limited(source)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read the template: {reason}", file=str(path)) from None
    return examine(text, name=str(path), folder=source.parent, inputs=inputs, root=root)


def examine(
    text: str | bytes,
    *,
    name: str,
    folder: Path | None,
    inputs: Mapping[str, Node] | None,
    root: Path | None = None,
) -> ServiceTemplate:
    """Read a template without judging it: only what cannot be read at all is raised."""
    problems = Problems()
    shape = Shape(problems)
    try:
        library = Library(shape, root=root)
        file = library.open(text, name=name, folder=folder)
        if file is None:
            problems.raise_if_any()
            raise InputError("the file is no service template", file=name)
        types = TypeTable(shape)
        for known in library.files():
            types.resolve_all(known)
        topology = Topology(file, types, shape, inputs or {})
        topology.read()
    except RecursionError:
        problems.add(InputError("definitions refer to each other too deeply to be followed", file=name))
        raise TemplateError(problems.errors()) from None
    return ServiceTemplate(_name(file, name), file, topology, problems)


def _name(file: SourceFile, path: str) -> str:
    """metadata.template_name, else the file's name without its endings."""
    metadata = file.root.get("metadata")
    named = metadata.get("template_name") if metadata is not None else None
    if named is not None and isinstance(named.value, str) and named.value:
        return named.value
    stem = Path(path).name
    for ending in (".yaml", ".yml", ".json", ".tosca"):
        stem = stem.removesuffix(ending)
    return stem or "application"


def read_inputs(assignments: list[str], files: list[Path]) -> dict[str, Node]:
    """Inputs from `--input name=value` and `--inputs file`; the former win."""
    result: dict[str, Node] = {}
    for path in files:
        try:
            root = load_document(read_limited(path), file=str(path), limits=LIMITS)
        except OSError as error:
            raise InputError(f"cannot read the inputs: {error.strerror}", file=str(path)) from None
        if not root.is_mapping:
            raise root.error(f"inputs must be a mapping, not {root.describe()}")
        result |= dict(root.items())
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator or not name:
            raise InputError(f"`{assignment}` is no input", hint="write --input NAME=VALUE")
        result[name] = load_document(value or '""', file=f"--input {name}", limits=LIMITS)
    return result
