"""`ecotone policies`: what exists by name, and any of it as a configuration to edit and pass back."""

from __future__ import annotations

from typing import Annotated

import typer

from ecotone.cli.terminal.output import Output, OutputOption, print_document, print_names, print_table
from ecotone.manifests.configuration import configuration_document
from ecotone.scheduling.profiles.policies import DEFAULT_POLICY, POLICIES, resolve
from ecotone.scheduling.profiles.profile import Profile


def register(app: typer.Typer) -> None:
    app.command("policies", help=_HELP)(policies)


_HELP = """Lists the policies, or shows one as a scheduler configuration.

Examples:

    ecotone policies

    ecotone policies sophos -o yaml > mine.yaml

    ecotone plan -f cluster.yaml --config mine.yaml
"""


def policies(
    name: Annotated[str | None, typer.Argument(help="One policy instead of all.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    chosen = list(POLICIES.values()) if name is None else [resolve(name)]
    if output is Output.NAME:
        print_names(profile.name for profile in chosen)
    elif output.structured:
        print_document(_listing(chosen) if name is None else configuration_document(chosen), output)
    else:
        _table(chosen, wide=output in (Output.WIDE, Output.CSV) or name is not None, output=output)


def _listing(profiles: list[Profile]) -> list[dict[str, object]]:
    return [
        {"name": profile.name, "summary": profile.summary, "default": profile.name == DEFAULT_POLICY}
        for profile in profiles
    ]


def _table(profiles: list[Profile], *, wide: bool, output: Output) -> None:
    headers = ["NAME", "SUMMARY", *(["DECIDED BY"] if wide else [])]
    rows = [[profile.name, profile.summary, *([_decided_by(profile)] if wide else [])] for profile in profiles]
    print_table(headers, rows, output=output)


def _decided_by(profile: Profile) -> str:
    if profile.solver is not None:
        return f"solver {profile.solver.name}"
    return ", ".join(f"{use.name} x {use.weight:g}" for use in profile.at("score"))
