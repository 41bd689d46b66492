"""`ecotone tosca`: check a service template, see its graph, ask it questions, compile it, or draft one.

Every error of a template is printed, one per line, as `file:line:column: message (hint)`, and the exit code is 2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ecotone.cli.terminal.safe import printable
from ecotone.model.errors import InputError

tosca = typer.Typer(
    name="tosca", no_args_is_help=True, help="TOSCA service templates: validate, compile, graph, query, import."
)
drafting = typer.Typer(name="import", no_args_is_help=True, help="Draft a service template from what already exists.")
tosca.add_typer(drafting)

Template = Annotated[str, typer.Argument(metavar="FILE", help="A TOSCA 1.3 service template; - reads stdin.")]
Assignments = Annotated[
    list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="The value of a topology input; repeatable.")
]
ImportRoot = Annotated[
    Path | None,
    typer.Option("--import-root", metavar="DIR", help="Folder that imports stay below; the template's own by default."),
]
InputFiles = Annotated[list[Path] | None, typer.Option("--inputs", metavar="FILE", help="A YAML file of inputs.")]
Name = Annotated[str | None, typer.Option("--name", help="The application's name, which becomes its app-group.")]


class Manifests(StrEnum):
    """Shapes of compiled manifests."""

    yaml = "yaml"
    json = "json"
    name = "name"


class Drawing(StrEnum):
    """Shapes of a graph."""

    json = "json"
    yaml = "yaml"
    text = "text"
    dot = "dot"
    svg = "svg"


class Question(StrEnum):
    """What a graph can be asked."""

    dependents = "dependents"
    dependencies = "dependencies"
    chains = "chains"
    critical = "critical"
    entries = "entries"


class Listing(StrEnum):
    """Shapes of an answer."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"


def register(app: typer.Typer) -> None:
    app.add_typer(tosca)


@contextmanager
def _reported() -> Iterator[None]:
    """Print errors meant for people, all of them, and leave with exit code 2."""
    try:
        yield
    except InputError as error:
        typer.echo(printable(str(error)), err=True)
        raise typer.Exit(2) from None


def _application(
    file: str, assignments: list[str] | None, files: list[Path] | None, name: str | None, root: Path | None
) -> Any:
    from ecotone.tosca import load_application, parse_application, read_inputs
    from ecotone.tosca.language.checks import is_dns_label, label_value_from

    if name is not None and not is_dns_label(name):
        raise InputError(f"`{name}` cannot name an app-group", hint=f"for example `{label_value_from(name)}`")
    inputs = read_inputs(assignments or [], files or [])
    if file == "-":
        return parse_application(_stdin(), file="<stdin>", inputs=inputs, name=name)
    return load_application(file, inputs=inputs, name=name, root=root)


def _stdin() -> bytes:
    from ecotone.tosca.language.files import LIMITS

    return sys.stdin.buffer.read(LIMITS.max_bytes + 1)


def _graph(application: Any) -> Any:
    from ecotone.tosca import graph_of

    graph = graph_of(application)
    for note in application.notes:
        typer.echo(f"note: {printable(note)}", err=True)
    for source, target in graph.broken:
        broken = printable(f"{source} -> {target}")
        typer.echo(f"note: a circle of calls is broken at {broken}, its lowest priority", err=True)
    return graph


@tosca.command()
def validate(
    file: Template,
    assignments: Assignments = None,
    inputs: InputFiles = None,
    name: Name = None,
    import_root: ImportRoot = None,
) -> None:
    """Check a template; print every error with its place.

    Example: ecotone tosca validate shop.tosca.yaml
    """
    with _reported():
        application = _application(file, assignments, inputs, name, import_root)
        graph = _graph(application)
        typer.echo(f"{file}: valid, {len(graph.services)} services and {len(graph.channels)} channels")


@tosca.command(name="compile")
def compile_(
    file: Template,
    *,
    output: Annotated[
        Manifests, typer.Option("-o", "--output", help="yaml (documents), json (a List) or name.")
    ] = Manifests.yaml,
    namespace: Annotated[str | None, typer.Option("-n", "--namespace", help="Namespace of every object.")] = None,
    scheduler_name: Annotated[
        str | None, typer.Option("--scheduler-name", help="schedulerName of services that do not give one.")
    ] = None,
    assignments: Assignments = None,
    inputs: InputFiles = None,
    name: Name = None,
    import_root: ImportRoot = None,
) -> None:
    """Print the Kubernetes manifests of a template.

    Example: ecotone tosca compile shop.tosca.yaml | kubectl apply -f -
    """
    from ecotone.tosca import compile_application, emit

    with _reported():
        application = _application(file, assignments, inputs, name, import_root)
        graph = _graph(application)
        objects = compile_application(application, graph, namespace=namespace, scheduler_name=scheduler_name)
    if output is Manifests.json:
        typer.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2))
    elif output is Manifests.name:
        for item in objects:
            typer.echo(f"{item['kind'].lower()}/{item['metadata']['name']}")
    else:
        typer.echo(emit.documents(objects), nl=False)


@tosca.command()
def graph(
    file: Template,
    *,
    output: Annotated[Drawing, typer.Option("-o", "--output", help="json, yaml, text, dot or svg.")] = Drawing.json,
    assignments: Assignments = None,
    inputs: InputFiles = None,
    name: Name = None,
    import_root: ImportRoot = None,
) -> None:
    """Print the application graph.

    Example: ecotone tosca graph shop.tosca.yaml -o text
    """
    from ecotone.tosca import draw, emit

    with _reported():
        found = _graph(_application(file, assignments, inputs, name, import_root))
    shapes: dict[Drawing, Callable[[], str]] = {
        Drawing.json: lambda: found.as_json() + "\n",
        Drawing.yaml: lambda: emit.document(found.as_dict()),
        Drawing.text: lambda: draw.as_text(found),
        Drawing.dot: lambda: draw.as_dot(found),
        Drawing.svg: lambda: draw.as_svg(found),
    }
    typer.echo(shapes[output](), nl=False)


@tosca.command()
def query(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A template, or a graph written by `tosca graph` (.json).")
    ],
    question: Annotated[Question, typer.Argument(help="What to ask.")],
    service: Annotated[str | None, typer.Argument(help="The service asked about (dependents, dependencies).")] = None,
    *,
    output: Annotated[Listing, typer.Option("-o", "--output", help="table, wide, json, yaml or name.")] = Listing.table,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many chains or channels.")] = 20,
    direct: Annotated[bool, typer.Option("--direct", help="Only direct neighbours.")] = False,
    assignments: Assignments = None,
    inputs: InputFiles = None,
    import_root: ImportRoot = None,
) -> None:
    """Ask a graph: who depends on a service, which chains there are, which channels matter most.

    Examples:

      ecotone tosca query shop.tosca.yaml dependents catalogue-db

      ecotone tosca query shop.tosca.yaml chains --limit 5

      ecotone tosca graph shop.tosca.yaml > shop.json; ecotone tosca query shop.json critical
    """
    from ecotone.tosca import GraphStore, read_graph

    with _reported():
        if Path(file).suffix == ".json":
            found = read_graph(Path(file))
        else:
            found = _graph(_application(file, assignments, inputs, None, import_root))
        rows = _answer(GraphStore(found), question, service, limit=limit, direct=direct)
    _print_rows(rows, output)


def _answer(store: Any, question: Question, service: str | None, *, limit: int, direct: bool) -> list[dict[str, Any]]:
    if question in (Question.dependents, Question.dependencies):
        if service is None:
            raise InputError(f"`{question.value}` asks about a service", hint="name it after the question")
        ask = store.dependents if question is Question.dependents else store.dependencies
        index = store.graph.index()
        return [{"name": name, "index": index[name]} for name in ask(service, direct=direct)]
    if question is Question.entries:
        return [{"name": name} for name in store.entries()]
    if question is Question.chains:
        return [{"priority": chain.priority, "services": list(chain.services)} for chain in store.chains(limit)]
    return [
        {
            "source": channel.source,
            "target": channel.target,
            "type": channel.type,
            "priority": channel.priority,
            "deadline_ms": channel.deadline_ms,
        }
        for channel in store.critical(limit)
    ]


def _print_rows(rows: list[dict[str, Any]], output: Listing) -> None:
    from ecotone.tosca import emit

    if output is Listing.json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if output is Listing.yaml:
        typer.echo(emit.document(rows), nl=False)
        return
    if output is Listing.name:
        for row in rows:
            typer.echo(row["name"] if "name" in row else _cell(row.get("services") or [row["source"], row["target"]]))
        return
    cells = [[_cell(value) for value in row.values()] for row in rows]
    heads = [key.upper().replace("_", " ") for key in rows[0]] if rows else []
    widths = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    for line in [heads, *cells] if rows else []:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " -> ".join(value)
    return "-" if value is None else str(value)


Sources = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files or directories; - reads stdin.")]
Group = Annotated[str | None, typer.Option("--app-group", help="Only workloads with this app-group label.")]


def _texts(paths: list[str]) -> list[tuple[str, bytes]]:
    from ecotone.tosca.language.files import read_limited

    texts = []
    for path in paths:
        if path == "-":
            texts.append(("<stdin>", _stdin()))
            continue
        source = Path(path)
        files = [source]
        if source.is_dir():
            files = sorted(entry for entry in source.iterdir() if entry.suffix in (".yaml", ".yml", ".json"))
        for file in files:
            try:
                texts.append((str(file), read_limited(file)))
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise InputError(f"cannot read the file: {reason}", file=str(file)) from None
    return texts


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _print_draft(draft: Any) -> None:
    remarks = len(draft.remarks) + sum(len(service.remarks) for service in draft.services.values())
    guesses = sum(bool(channel.why) for channel in draft.channels)
    typer.echo(draft.as_template(), nl=False)
    typer.echo(
        f"{_counted(len(draft.services), 'service')}, {_counted(len(draft.channels), 'channel')} ({guesses} to review), "
        f"{_counted(remarks, 'remark')}",
        err=True,
    )


@drafting.command()
def compose(file: Annotated[str, typer.Argument(metavar="FILE", help="A docker-compose file; - reads stdin.")]) -> None:
    """Draft a template from a docker-compose file.

    Example: ecotone tosca import compose docker-compose.yml > shop.tosca.yaml
    """
    from ecotone.tosca.importers import import_compose

    with _reported():
        ((name, text),) = _texts([file])
        _print_draft(import_compose(text, file=name, folder=None if file == "-" else Path(file).parent))


@drafting.command()
def kubernetes(files: Sources, app_group: Group = None) -> None:
    """Draft a template from Kubernetes manifests.

    Example: kubectl get deploy,svc,hpa,pdb -o yaml | ecotone tosca import kubernetes - > shop.tosca.yaml
    """
    from ecotone.tosca.importers import import_manifests

    with _reported():
        _print_draft(import_manifests(_texts(files), app_group=app_group))


@drafting.command()
def observed(files: Sources, app_group: Group = None) -> None:
    """Draft a template from the traffic annotations of a running application.

    Example: kubectl get deploy,svc -o yaml | ecotone tosca import observed - --app-group shop
    """
    from ecotone.tosca.importers import import_observed

    with _reported():
        _print_draft(import_observed(_texts(files), app_group=app_group))
