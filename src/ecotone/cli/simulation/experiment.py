"""`ecotone experiment`: published evaluations, ours beside theirs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ecotone.experiments.campaign.registry import Result

Where = Literal["simulator", "testbed"]
_NO_FIGURES = ("report", "workers", "dask", "folder", "output")
HELP = """Reproduce a published table or figure and print it beside the published numbers. Without a name: what there is.

Examples:

    ecotone experiment

    ecotone experiment sophos --quick --report report

    ecotone experiment sophos --latency 100 --users 50 --trials 3 -o json

    sudo ecotone experiment sophos --on testbed --keep results --report report

    sudo ecotone experiment faults --only power --only partition --seconds 40 --keep results
"""


def register(app: typer.Typer) -> None:
    app.command("experiment", help=HELP)(experiment)


def experiment(  # noqa: PLR0917 - typer reads the options from here
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which one.", show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The same shape in minutes.")] = False,
    trials: Annotated[
        int | None, typer.Option("--trials", "--runs", min=1, help="Repetitions.", show_default=False)
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="sophos: a further policy, by name or ./my_plugin.py:Class; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal results.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Write pages and plots into this folder.")] = None,
    latency: Annotated[list[float] | None, typer.Option(help="Only these latencies, ms; repeatable.")] = None,
    users: Annotated[list[int] | None, typer.Option(help="Only these numbers of users; repeatable.")] = None,
    chains: Annotated[
        str, typer.Option(help="sophos: single (as published) or full (every database round trip).")
    ] = "single",
    think: Annotated[bool, typer.Option("--think", help="sophos: users think 1 s after each answer.")] = False,
    permute: Annotated[
        bool, typer.Option("--permute", help="sophos: phases enter in another order each trial.")
    ] = False,
    limits: Annotated[bool, typer.Option("--stock-limits", help="sophos: the manifests' CPU limits.")] = False,
    readiness: Annotated[
        bool, typer.Option("--stock-readiness", help="sophos: the manifests' 180 s readiness.")
    ] = False,
    twice: Annotated[bool, typer.Option("--twice", help="sophos: twice the latency named.")] = False,
    bound: Annotated[bool, typer.Option(help="sophos: also search the best static placement.")] = True,
    on: Annotated[
        Where, typer.Option("--on", help="Simulated, or on real nodes of this machine (root).")
    ] = "simulator",
    only: Annotated[
        list[str] | None, typer.Option(help="On real nodes: only this contender, placement or fault; repeatable.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=1.0, help="On real nodes: how long each phase or fault is.", show_default=False),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    dask: Annotated[str | None, typer.Option(help="Send the runs to this (trusted) Dask scheduler.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--keep", help="Keep finished runs here, and take up those there.")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="table, wide, json, yaml, csv or name.")] = "table",
) -> None:
    from ecotone.cli.simulation.simulate import check_folder, check_output, contenders
    from ecotone.cli.terminal.progress import Bar
    from ecotone.experiments.campaign.registry import EXPERIMENTS, Options, find
    from ecotone.model.errors import InputError

    check_output(output)
    if name is None:
        show_names({each.name: each.summary for each in EXPERIMENTS.values()}, output)
        return
    if chains not in ("single", "full"):
        raise InputError(f"unknown chains {chains!r}", hint="single or full")
    found = find(name)
    policies = [each for each in contenders(policy or [], []) if each.name not in ("kube-default", "sophos", "ecotone")]
    check_folder(report, "--report")
    check_folder(folder, "--keep")
    chosen = {
        "full_chains": chains == "full", "think": think, "permute": permute, "stock_limits": limits,
        "stock_readiness": readiness, "twice": twice, "bound": bound,
    }  # fmt: skip
    with Bar(name) as progress:
        options = Options(
            runs=trials, seed=seed, report=report, quick=quick, latencies=tuple(latency or ()), users=tuple(users or ()),
            variant=chosen, policies=policies, workers=workers, dask=dask, folder=folder, testbed=on == "testbed",
            only=tuple(only or ()), seconds=seconds,
            command=again(context), progress=progress,
            say=lambda text: typer.echo(text, err=True),
        )  # fmt: skip
        result = found.run(options)
    written = list(result.plots)
    if report is not None:
        from ecotone.experiments.report.experiment import write_experiment

        written.insert(0, write_experiment(result, report, summary=found.summary, command=again(context)))
    show(result, output)
    for path in written:
        typer.echo(f"wrote {path}", err=True)


def again(context: typer.Context) -> str:
    """The command that gives these figures: what was asked for, without where it ran and what it wrote."""
    words = ["ecotone", "experiment"]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in _NO_FIGURES or value is None or value == option.default:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        for each in values:
            if option.param_type_name == "argument":
                words.append(str(each))
            elif each is True:
                words.append(option.opts[0])
            elif each is False:
                words.append(option.secondary_opts[0])
            else:
                words += [option.opts[0], str(each)]
    return shlex.join(words)


def show_names(summaries: dict[str, str], output: str) -> None:
    from ecotone.cli.terminal.output import Output, print_document, print_names, print_table

    if output in ("json", "yaml"):
        print_document([{"name": name, "summary": text} for name, text in summaries.items()], Output(output))
    elif output == "name":
        print_names(summaries)
    else:
        print_table(("NAME", "REPRODUCES"), list(summaries.items()), output=Output(output))


def show(result: Result, output: str) -> None:
    from ecotone.experiments.report.experiment import as_data

    whole = as_data(result)
    if output == "json":
        typer.echo(json.dumps(whole, indent=1))
    elif output == "yaml":
        import yaml

        typer.echo(yaml.safe_dump(json.loads(json.dumps(whole)), sort_keys=False, allow_unicode=True), nl=False)
    elif output == "name":
        typer.echo(result.name)
    else:
        print_tables(result, output)


def print_tables(result: Result, output: str) -> None:
    from ecotone.cli.terminal.output import Output, print_table, print_text

    for each in result.tables:
        print_text(f"# {each.title}" if output == "csv" else each.title)
        rows = [["-" if cell is None else str(cell) for cell in row] for row in each.rows]
        print_table(each.header, rows, right=range(1, len(each.header)), output=Output(output))
        print_text("")
    for note in () if output == "csv" else result.notes:
        print_text(f"- {note}")
