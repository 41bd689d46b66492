"""What a command prints: a table for people, JSON or YAML for programs, names for pipes.

Data goes to stdout and nothing else does. Colour and line breaks to fit a screen are for terminals only; a pipe gets
whole lines, and `NO_COLOR` is honoured.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ecotone.manifests.yamltext import yaml_text

Cell = str | Text
_UNBOUNDED = 100_000


class Output(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    @property
    def structured(self) -> bool:
        return self in (Output.JSON, Output.YAML)


OutputOption = Annotated[
    Output,
    typer.Option("-o", "--output", help="table and wide for people, json and yaml for programs, name for pipes."),
]


def as_json(document: Any) -> str:
    """JSON for any reader: a figure that is no number, which JSON cannot say, is null."""
    try:
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_document(document: Any, output: Output) -> None:
    write(yaml_text([document]) if output is Output.YAML else as_json(document))


def print_names(names: Iterable[str]) -> None:
    for name in names:
        write(name)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Sequence[int] = ()) -> None:
    """Columns under headers; those numbered in `right` hold figures."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, header in enumerate(headers):
        figures = column in right
        table.add_column(header, justify="right" if figures else "left", no_wrap=figures, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = _console()
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        write(line.rstrip())


def print_text(text: Cell) -> None:
    _console().print(text, soft_wrap=True, markup=False, highlight=False)


def _console() -> Console:
    screen = sys.stdout.isatty()
    return Console(file=sys.stdout, width=None if screen else _UNBOUNDED, highlight=False, markup=False)


def write(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def note(message: str) -> None:
    """Something a person should know; never data."""
    sys.stderr.write(f"note: {message}\n")


def notes(messages: Sequence[str], *, most: int = 5) -> None:
    for message in messages[:most]:
        note(message)
    if len(messages) > most:
        note(f"and {len(messages) - most} more like these")
