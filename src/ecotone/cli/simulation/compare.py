"""`ecotone compare`: results that were written before, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ecotone.experiments.campaign.record import Run

HELP = """Compare results of `ecotone simulate -o json`, and show them on one page.

The first policy of the first file is the baseline. A policy that is in several files is told apart by its file.

Examples:

    ecotone compare monday.json tuesday.json

    ecotone compare monday.json tuesday.json --report report
"""
_LARGEST = 512 * 1024 * 1024


def register(app: typer.Typer) -> None:
    app.command("compare", help=HELP)(compare)


def compare(
    files: Annotated[list[Path], typer.Argument(metavar="RESULT...", help="Results as JSON.", show_default=False)],
    report: Annotated[Path | None, typer.Option(help="Write a page with charts into this folder.")] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="table, wide, json, yaml, csv or name.")] = "table",
) -> None:
    from ecotone.cli.simulation.simulate import check_folder, check_output, show
    from ecotone.experiments.campaign.comparison import summarise

    check_output(output)
    check_folder(report, "--report")
    found = [read_result(file) for file in files]
    shared = _shared([{run.policy for run in runs} for _, runs in found])
    joined: list[Run] = []
    for (_, runs), label in zip(found, _labels(files), strict=True):
        joined += [run.renamed(f"{run.policy} ({label})") if run.policy in shared else run for run in runs]
    names = list(dict.fromkeys(str(document.get("scenario", "?")) for document, _ in found))
    summary = summarise(joined)
    result: dict[str, Any] = {
        "scenario": " | ".join(names),
        "seed": found[0][0].get("seed", 0),
        "runs": [run.plain() for run in joined],
        "summary": summary,
    }
    show(result, summary, output)
    if report is not None:
        from shlex import join

        from ecotone.experiments.report import write_report

        command = join(["ecotone", "compare", *map(str, files), "--report", "report"])
        path = write_report(result, None, report, extra={"command": command})
        typer.echo(f"report: {path}", err=True)


def read_result(file: Path) -> tuple[dict[str, Any], list[Run]]:
    """The document and its runs, every one checked."""
    import msgspec

    from ecotone.experiments.campaign.record import Run
    from ecotone.model.errors import InputError

    hint = "write it with `ecotone simulate SCENARIO -o json`"
    try:
        size = file.stat().st_size
        if size > _LARGEST:
            raise InputError(f"a result has at most {_LARGEST:,} bytes, this one {size:,}", file=str(file))
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}", file=str(file), hint=hint) from None
    if not isinstance(document, dict) or not isinstance(document.get("runs"), list):
        raise InputError("no result of a simulation: it has no `runs`", file=str(file), hint=hint)
    try:
        runs = msgspec.convert(document["runs"], list[Run])
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"no result of this version: {error}", file=str(file), hint=hint) from None
    if not runs:
        raise InputError("the result has no runs", file=str(file), hint=hint)
    return document, runs


def _shared(policies: list[set[str]]) -> set[str]:
    return {
        name for place, names in enumerate(policies) for name in names if any(name in one for one in policies[:place])
    }


def _labels(files: list[Path]) -> list[str]:
    """The files' names as far as they tell them apart."""
    stems = [file.stem for file in files]
    chosen = stems if len(set(stems)) == len(stems) else [str(file) for file in files]
    return chosen if len(set(chosen)) == len(chosen) else [f"{name} {place}" for place, name in enumerate(chosen, 1)]
