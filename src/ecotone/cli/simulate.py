"""`ecotone simulate`: a scenario under one or more policies, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

OUTPUTS = ("table", "wide", "json", "yaml", "name")

HELP = """Run a scenario on the embedded simulator and compare policies.

Every policy meets the same users, demands and failures. The first policy named is the baseline.

Examples:

    ecotone simulate sock-shop-100ms --policy kube-default --policy sophos --policy ecotone

    ecotone simulate mine.yaml --policy kube-default --policy ecotone --trials 10 --report report

    ecotone simulate mine.yaml --trials 1000 --dask tcp://scheduler:8786 --runs runs -o json
"""


def register(app: typer.Typer) -> None:
    app.command("simulate", help=HELP)(simulate)


def simulate(  # noqa: PLR0917 - typer reads the options from here
    scenario: Annotated[
        str, typer.Argument(help="A built-in name (see `ecotone scenarios`) or a file.", show_default=False)
    ],
    policy: Annotated[list[str] | None, typer.Option("--policy", "-p", help="A policy to run; repeatable.")] = None,
    trials: Annotated[int, typer.Option(min=1, help="Runs per policy, each with its own draws.")] = 1,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal results.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Write a page with charts into this folder.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    dask: Annotated[str | None, typer.Option(help="Send the runs to this Dask scheduler instead.")] = None,
    runs: Annotated[
        Path | None, typer.Option(help="Keep finished runs here, and take up those that are there.")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="table, wide, json, yaml or name.")] = "table",
) -> None:
    from ecotone.cli.progress import Bar
    from ecotone.experiments.comparison import summarise
    from ecotone.experiments.runs import Job
    from ecotone.experiments.sweep import sweep
    from ecotone.scheduling import resolve
    from ecotone.sim.scenario import read_text

    check_output(output)
    policies = list(dict.fromkeys(policy or ["kube-default", "ecotone"]))
    for name in policies:
        resolve(name)
    text, file, parsed = read_text(scenario)
    jobs = [Job(text, file, name, trial, seed) for name in policies for trial in range(trials)]
    with Bar(f"{len(jobs)} runs of {parsed.name}") as progress:
        found = sweep(jobs, workers=workers, dask=dask, folder=runs, progress=progress)
    summary = summarise(found)
    result = {"scenario": parsed.name, "seed": seed, "runs": found, "summary": summary}
    show(result, summary, output)
    if report is not None:
        from ecotone.experiments.report import write_report

        path = write_report(result, parsed, report)
        typer.echo(f"report: {path}", err=True)


def check_output(output: str) -> None:
    from ecotone.model.errors import InputError, did_you_mean

    if output not in OUTPUTS:
        raise InputError(
            f"unknown output {output!r}", hint=did_you_mean(output, OUTPUTS) or "one of " + ", ".join(OUTPUTS)
        )


def show(everything: dict[str, Any], summary: Sequence[dict[str, Any]], output: str) -> None:
    if output == "json":
        typer.echo(json.dumps(everything, indent=1))
    elif output == "yaml":
        import yaml

        # Through JSON first: what one run shares inside itself would otherwise become anchors and aliases.
        plain = json.loads(json.dumps(everything))
        typer.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), nl=False)
    elif output == "name":
        for each in summary:
            typer.echo(each["policy"])
    else:
        print_table(summary, wide=output == "wide")


def print_table(summary: Sequence[dict[str, Any]], *, wide: bool) -> None:
    from rich.table import Table

    from ecotone.cli.progress import console

    table = Table(box=None, pad_edge=False)
    columns = [
        "POLICY",
        "P95 MS",
        "95 % INTERVAL",
        "VS FIRST",
        "MEAN MS",
        "P99 MS",
        "P95 WITH FAILURES",
        "FAILED",
        "MOVES",
    ]
    if wide:
        columns += ["VS FIRST, INTERVAL", "TRIALS"]
    for column in columns:
        table.add_column(column, justify="left" if column == "POLICY" else "right", no_wrap=True)
    for each in summary:
        row = [
            each["policy"],
            _number(each["p95_ms"]),
            _interval(each["p95_ci95"]),
            _percent(each["vs_baseline"]),
            _number(each["mean_ms"]),
            _number(each["p99_ms"]),
            _number(each["p95_with_failures_ms"]),
            "-" if each["failed_share"] is None else f"{100 * each['failed_share']:.2f} %",
            _number(each["evictions"]),
        ]
        if wide:
            ends = each["vs_baseline_ci95"]
            row += ["-" if ends is None else " .. ".join(_percent(end) for end in ends), str(each["trials"])]
        table.add_row(*row)
    console().print(table)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def _interval(ends: list[float] | None) -> str:
    return "-" if ends is None else f"{_number(ends[0])} .. {_number(ends[1])}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.1f} %"
