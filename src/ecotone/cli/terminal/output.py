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
from rich.text import Text

from ecotone.cli.terminal.safe import printable, printable_json
from ecotone.cli.terminal.tables import UNBOUNDED, Cell, as_csv, drawn
from ecotone.manifests.yaml.text import yaml_text

__all__ = ["Cell", "Output", "OutputOption"]


class Output(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"

    @property
    def structured(self) -> bool:
        return self in (Output.JSON, Output.YAML)


OutputOption = Annotated[
    Output,
    typer.Option("-o", "--output", help="table and wide for people, json, yaml and csv for programs, name for pipes."),
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
    write(yaml_text([document]) if output is Output.YAML else printable_json(as_json(document)))


def print_names(names: Iterable[str]) -> None:
    for name in names:
        write(printable(name))


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[int] = (),
    output: Output = Output.TABLE,
) -> None:
    """Columns under headers; those numbered in `right` hold figures."""
    if output is Output.CSV:
        write(as_csv(headers, rows))
        return
    text, hidden = drawn(headers, rows, right=right, width=_width())
    sys.stdout.write(text)
    if hidden:
        note(f"no room for {', '.join(hidden)} on this screen: -o csv shows all")


def print_text(text: Cell) -> None:
    safe = Text(printable(text.plain), style=text.style) if isinstance(text, Text) else printable(text)
    console = Console(file=sys.stdout, width=_width(), highlight=False, markup=False)
    console.print(safe, soft_wrap=True, markup=False, highlight=False)


def _width() -> int:
    return Console(file=sys.stdout).width if sys.stdout.isatty() else UNBOUNDED


def write(text: str) -> None:
    """Data as it is: documents have escapes of their own, and names and cells were made safe before."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def note(message: str) -> None:
    """Something a person should know; never data."""
    sys.stderr.write(f"note: {printable(message)}\n")


def notes(messages: Sequence[str], *, most: int = 5) -> None:
    for message in messages[:most]:
        note(message)
    if len(messages) > most:
        note(f"and {len(messages) - most} more like these")
