"""`ecotone schema`: JSON schemas of the files that people write, for editors that check and complete YAML.

They are made from what the readers themselves go by (the scenario's grammar, the profile's keys, TOSCA's keynames and the
profile that ships), so that an editor knows a field as soon as the reader does. A reader checks more: names that must exist,
circles, quantities that do not fit. What a schema accepts may still be refused, what it refuses the reader refuses too.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from ecotone.cli.schema import profile, scenario, tosca
from ecotone.cli.terminal.output import Output, print_document


class Kind(StrEnum):
    """The files there are schemas of."""

    SCENARIO = "scenario"
    PROFILE = "profile"
    TOSCA = "tosca"


SCHEMAS: dict[Kind, Callable[[], dict[str, Any]]] = {
    Kind.SCENARIO: scenario.schema,
    Kind.PROFILE: profile.schema,
    Kind.TOSCA: tosca.schema,
}
_HELP = """Prints the JSON schema of scenario files, scheduler profiles or TOSCA templates, for editors.

An editor with the YAML language server checks a file that begins with `# yaml-language-server: $schema=scenario.json`.

Examples:

    ecotone schema scenario > scenario.json

    ecotone schema tosca > tosca.json
"""


def register(app: typer.Typer) -> None:
    app.command("schema", help=_HELP)(show)


def show(kind: Annotated[Kind, typer.Argument(help="scenario, profile or tosca")]) -> None:
    print_document(SCHEMAS[kind](), Output.JSON)
