"""`ecotone scenarios`: the scenarios that ship."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("scenarios", help=HELP)(scenarios)


HELP = """List the built-in scenarios, or print one as a file to start from.

Examples:

    ecotone scenarios

    ecotone scenarios sock-shop-100ms > mine.yaml
"""


def scenarios(
    name: Annotated[str | None, typer.Argument(help="Print this scenario's file.", show_default=False)] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="table, wide, json, yaml, csv or name.")] = "table",
) -> None:
    from ecotone.cli.simulation.simulate import check_output
    from ecotone.model.errors import InputError, did_you_mean
    from ecotone.sim.scenario import builtin_scenarios, load_scenario

    check_output(output)
    known = builtin_scenarios()
    if name is not None:
        if name not in known:
            raise InputError(f"there is no built-in scenario {name!r}", hint=did_you_mean(name, known))
        typer.echo(known[name], nl=False)
        return
    found = [load_scenario(each) for each in known]
    rows = [
        {
            "name": each.name,
            "nodes": len(each.nodes),
            "services": len(each.application.services),
            "seconds": each.duration,
            "description": each.description,
        }
        for each in found
    ]
    if output == "json":
        typer.echo(json.dumps(rows, indent=2))
    elif output == "yaml":
        import yaml

        typer.echo(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True), nl=False)
    elif output == "name":
        for row in rows:
            typer.echo(row["name"])
    else:
        from ecotone.cli.terminal.output import Output, print_table

        cells = [
            [str(row["name"]), str(row["nodes"]), str(row["services"]), f"{row['seconds']:g}", str(row["description"])]
            for row in rows
        ]
        headers = ("NAME", "NODES", "SERVICES", "SECONDS", "DESCRIPTION")
        print_table(headers, cells, right=(1, 2, 3), output=Output(output))
