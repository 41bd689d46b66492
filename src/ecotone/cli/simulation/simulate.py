"""`ecotone simulate`: a scenario under one or more policies, side by side."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ecotone.experiments.campaign.record import Run
    from ecotone.scheduling import Profile
    from ecotone.sim.scenario import Scenario

_WORTH_A_NOTE = 60.0  # seconds
OUTPUTS = ("table", "wide", "json", "yaml", "csv", "name")

HELP = """Run a scenario on the embedded simulator and compare policies.

Every policy meets the same users, demands and failures. The first policy named is the baseline; the profiles of
configurations (see `ecotone policies NAME -o yaml`) come after the policies. The exit code is 1 if pods fitted nowhere.

Examples:

    ecotone simulate sock-shop-100ms --policy kube-default --policy sophos --policy ecotone

    ecotone simulate mine.yaml --policy kube-default --policy ecotone --trials 10 --report report

    ecotone simulate sock-shop-100ms --policy kube-default --config mine.yaml

    ecotone simulate replicas-2-moving --policy kube-default --policy ecotone --bound

    ecotone simulate festival --policy kube-default --policy ecotone --set network.default.rtt=10ms,50ms,100ms

    ecotone simulate mine.yaml --trials 1000 --dask tcp://scheduler:8786 --runs runs -o json
"""


def register(app: typer.Typer) -> None:
    app.command("simulate", help=HELP)(simulate)


def simulate(  # noqa: PLR0917 - typer reads the options from here
    scenario: Annotated[
        str, typer.Argument(help="A built-in name (see `ecotone scenarios`) or a file.", show_default=False)
    ],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy by name or ./my_plugin.py:Class; repeatable.")
    ] = None,
    config: Annotated[
        list[Path] | None, typer.Option("--config", help="A configuration whose profiles to run too; repeatable.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Runs per policy, each with its own draws.")] = 1,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal results.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Write a page with charts into this folder.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    dask: Annotated[
        str | None, typer.Option(help="Send the runs to this Dask scheduler, which is trusted to run code.")
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(help="Keep finished runs here, and take up those that are there.")
    ] = None,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound", help="Search the best static placement of each phase, and say how far each is from it."
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=V1,V2", help="Replace a value of the scenario, in turn; repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run very large scenarios, too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what would otherwise be noted and have no effect.")
    ] = False,
    output: Annotated[str, typer.Option("-o", "--output", help="table, wide, json, yaml, csv or name.")] = "table",
) -> None:
    from ecotone.cli.terminal.progress import Bar
    from ecotone.experiments.campaign.comparison import summarise
    from ecotone.experiments.campaign.runs import Job
    from ecotone.experiments.campaign.sweep import sweep
    from ecotone.model.errors import InputError
    from ecotone.sim.scenario import read_text

    check_output(output)
    policies = contenders(policy or ["kube-default", *([] if config else ["ecotone"])], config or [])
    text, file, parsed = read_text(scenario)
    check_folder(report, "--report")
    check_folder(runs, "--runs")
    given = [word for name in policy or [] for word in ("--policy", name)]
    given += [word for each in config or [] for word in ("--config", str(each))]
    if settings:
        if bound:
            raise InputError("--bound and --set exclude each other")
        sweep_values(
            scenario, text, file, policies, settings, given=given, strict=strict, trials=trials, seed=seed,
            workers=workers, dask=dask, runs=runs,
            report=report, yes=yes, output=output,
        )  # fmt: skip
        return
    tell_idle(parsed, file=file, strict=strict)
    jobs = [Job(text, file, profile, trial, seed) for profile in policies for trial in range(trials)]
    tell_size(parsed, len(jobs), file=file, workers=None if dask else workers or os.cpu_count() or 1, yes=yes)
    if bound:
        jobs += [Job(text, file, policies[0], trial, seed, bound=True) for trial in range(trials)]
    with Bar(f"{len(jobs)} runs of {parsed.name}") as progress:
        found = sweep(jobs, workers=workers, dask=dask, folder=runs, progress=progress)
    summary = summarise(found)
    result = {"scenario": parsed.name, "seed": seed, "runs": [run.plain() for run in found], "summary": summary}
    show(result, summary, output)
    if report is not None:
        from ecotone.experiments.report import write_report

        extra = {"source": scenario, "text": text, **({"arguments": given} if given else {})}
        path = write_report(result, parsed, report, extra=extra)
        typer.echo(f"report: {path}", err=True)
    if tell_unplaced(found):
        raise typer.Exit(1)


def sweep_values(
    source: str, text: str, file: str, policies: Sequence[Profile], settings: Sequence[str], *, given: Sequence[str],
    strict: bool, trials: int, seed: int, workers: int | None, dask: str | None, runs: Path | None, report: Path | None,
    yes: bool, output: str,
) -> None:  # fmt: skip
    """The scenario once for every combination of values, each with a summary of its own."""
    from ecotone.cli.simulation.sweeps import named, plain, variants
    from ecotone.cli.terminal.progress import Bar
    from ecotone.experiments.campaign.comparison import summarise
    from ecotone.experiments.campaign.runs import Job
    from ecotone.experiments.campaign.sweep import sweep
    from ecotone.sim.scenario import read_scenario
    from ecotone.sim.scenario.overrides import with_values

    chosen = variants(settings)
    texts = [with_values(text, {path: plain(value) for path, value in each.items()}, file=file) for each in chosen]
    parsed = [read_scenario(each, file=file) for each in texts]
    count = len(policies) * trials
    for each in parsed:
        tell_idle(each, file=file, strict=strict)
        tell_size(each, count, file=file, workers=None if dask else workers or os.cpu_count() or 1, yes=yes)
    jobs = [Job(each, file, profile, trial, seed) for each in texts for profile in policies for trial in range(trials)]
    with Bar(f"{len(jobs)} runs of {parsed[0].name}") as progress:
        found = sweep(jobs, workers=workers, dask=dask, folder=runs, progress=progress)
    parts = [found[place * count : (place + 1) * count] for place in range(len(chosen))]
    entries: list[dict[str, Any]] = [
        {"set": each, "name": named(each), "summary": summarise(part), "runs": [run.plain() for run in part]}
        for each, part in zip(chosen, parts, strict=True)
    ]
    result = {"scenario": parsed[0].name, "seed": seed, "sweep": entries}
    rows = [{**row, "policy": f"{row['policy']} {entry['name']}"} for entry in entries for row in entry["summary"]]
    show(result, rows, output)
    if report is not None:
        from ecotone.experiments.report import write_report

        named_policies = [word for each in policies for word in ("--policy", each.name)]
        words = ["ecotone", "simulate", source, *(given or named_policies)]
        words += [word for each in settings for word in ("--set", each)]
        words += ["--trials", str(trials), "--seed", str(seed), "--report", "report"]
        last = {"scenario": parsed[0].name, "seed": seed, **{key: entries[-1][key] for key in ("summary", "runs")}}
        told = [f"Everything but the curves shows the last variant, {entries[-1]['name']}."]
        more = {"source": source, "text": text, "command": shlex.join(words), "sweep": entries}
        path = write_report(last, parsed[-1], report, extra={**more, "data": result, "notes": told})
        typer.echo(f"report: {path}", err=True)
    if tell_unplaced(found):
        raise typer.Exit(1)


def tell_idle(scenario: Scenario, *, file: str, strict: bool) -> None:
    """A note for all that has no effect in the scenario; with `strict` an error."""
    from ecotone.cli.terminal.output import notes
    from ecotone.model.errors import InputError
    from ecotone.sim.scenario.remarks import remarks

    told = remarks(scenario)
    if told and strict:
        more = f"; and {len(told) - 1} more" if len(told) > 1 else ""
        raise InputError(f"{told[0]}{more}", file=file, hint="--strict refuses what would otherwise be noted")
    notes(told)


def tell_size(scenario: Scenario, runs: int, *, file: str, workers: int | None, yes: bool) -> None:
    """Refuse what fills the machine unless it is wanted; say beforehand what takes long."""
    from ecotone.cli.terminal.output import note
    from ecotone.sim.scenario.sizes import duration, refuse, size_of

    size = size_of(scenario)
    if not yes:
        refuse(size, file=file)
    seconds = size.seconds * runs / min(workers or 1, runs)
    if seconds > _WORTH_A_NOTE:
        spread = f" on {min(workers, runs)} processes" if workers else " of CPU"
        note(f"{size}; {runs} run{'s' if runs != 1 else ''} take about {duration(seconds)}{spread}")


def tell_unplaced(runs: Sequence[Run]) -> bool:
    """A note for each policy under which pods were left without a node; True if there is one."""
    from ecotone.cli.terminal.output import note

    left: dict[str, set[str]] = {}
    for run in runs:
        if run.unplaced:
            left.setdefault(run.policy, set()).update(run.unplaced)
    for policy, pods in left.items():
        named = ", ".join(sorted(pods)[:3]) + (f" and {len(pods) - 3} more" if len(pods) > 3 else "")
        note(f"{policy}: {len(pods)} pod{'' if len(pods) == 1 else 's'} fit nowhere at the end of a run: {named}")
    return bool(left)


def contenders(names: Sequence[str], files: Sequence[Path]) -> list[Profile]:
    """The policies by name, then the profiles of the files, each under a name of its own."""
    from ecotone.manifests.configuration import read_configuration
    from ecotone.model.errors import InputError
    from ecotone.scheduling import resolve

    chosen: dict[str, Profile] = {}
    for name in names:
        profile = resolve(name)
        if chosen.setdefault(profile.name, profile) != profile:
            raise InputError(
                f"two policies called {profile.name!r} cannot be told apart", hint="rename one of the classes"
            )
    for file in files:
        for profile in read_configuration(file):
            if chosen.setdefault(profile.name, profile) != profile:
                raise InputError(
                    f"two policies called {profile.name!r} cannot be told apart",
                    file=str(file),
                    hint="give the profile a `name` of its own",
                )
    return list(chosen.values())


def check_folder(folder: Path | None, option: str) -> None:
    """Refuse a folder that cannot be written to before any work is done for it."""
    from ecotone.model.errors import InputError

    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except FileExistsError:
        raise InputError(f"{option} {folder}: there is a file of that name", hint="name a folder") from None
    except OSError as error:
        raise InputError(f"{option} {folder}: cannot be written to: {error.strerror}") from None


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
        print_table(summary, output=output)


def print_table(summary: Sequence[dict[str, Any]], *, output: str) -> None:
    wide = output in ("wide", "csv")
    from ecotone.cli.terminal import output as terminal

    columns = [
        "POLICY",
        "P95 MS",
        "95 % INTERVAL",
        "VS BASELINE",
        "MEAN MS",
        "P99 MS",
        "P95 WITH FAILURES",
        "FAILED",
        "MOVES",
    ]
    bounded = any("above_bound" in each for each in summary)
    if bounded:
        columns += ["ABOVE BOUND", "SETTLED"]
    homeless = any(each["unplaced"] for each in summary)
    if homeless:
        columns.append("UNPLACED")
    if wide:
        columns += ["VS BASELINE, INTERVAL", "TRIALS"]
    rows = []
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
        if bounded:
            row += [_percent(each.get("above_bound")), _percent(each.get("above_bound_settled"))]
        if homeless:
            row.append(_number(each["unplaced"]))
        if wide:
            ends = each["vs_baseline_ci95"]
            row += ["-" if ends is None else " .. ".join(_percent(end) for end in ends), str(each["trials"])]
        rows.append(row)
    terminal.print_table(columns, rows, right=range(1, len(columns)), output=terminal.Output(output))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def _interval(ends: list[float] | None) -> str:
    return "-" if ends is None else f"{_number(ends[0])} .. {_number(ends[1])}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.1f} %"
