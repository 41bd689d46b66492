"""The evaluation of Sophos (thesis, chapter 5), ours beside the published.

Sock Shop on one cloud, two fog and three edge nodes; 10, 100, 200, 300 and 500 ms between tiers and between edge nodes;
10 to 150 users at one request a second; eight phases of five minutes, each with another API, entering at another node;
ten trials. What an experiment may vary is in `Settings`; graphs, demands and load are fixed in the scenario template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ecotone.experiments.campaign.best_static import bound
from ecotone.experiments.campaign.best_static.distance import distance_figures, distance_notes, distances
from ecotone.experiments.campaign.comparison import known, summarise
from ecotone.experiments.campaign.grid import BASELINE, Findings, Grid, run_campaign
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Options, Result, Table
from ecotone.experiments.campaign.statistics import mean, significant
from ecotone.experiments.campaign.variants import VARIANTS
from ecotone.experiments.report import write_report
from ecotone.experiments.sophos.claims import claims
from ecotone.experiments.sophos.decomposition import behind, decomposition, parts_of
from ecotone.scheduling import POLICIES, Profile
from ecotone.sim.randomness import stream
from ecotone.sim.scenario import read_scenario
from ecotone.sim.scenario.families.sock_shop import ENTRIES, LATENCIES, SockShop

PUBLISHED = {10: 0.39, 100: 0.56, 200: 0.66, 300: 0.68, 500: 0.70}
USERS = (10, 25, 50, 75, 100, 150)
QUICK_USERS = (10, 50, 100)
CONTENDERS = tuple(POLICIES[name] for name in (BASELINE, "sophos", "sophos-normalized", "ecotone"))


@dataclass(frozen=True, slots=True)
class Settings:
    """The variants of the evaluation; the defaults stand beside the thesis' figures."""

    full_chains: bool = False
    think: bool = False
    permute: bool = False  # where each phase enters: a seeded permutation per trial
    stock_limits: bool = False
    stock_readiness: bool = False
    twice: bool = False  # tc on both ends may mean twice the latency
    bound: bool = True

    @staticmethod
    def of(options: Options) -> Settings:
        return replace(
            Settings(), **{name: value for name, value in options.variant.items() if name in Settings.__slots__}
        )


def run(options: Options) -> Result:
    """`ecotone experiment sophos`."""
    settings = Settings.of(options)
    findings = _campaign(options, settings, [*CONTENDERS, *options.policies])
    tables = [
        _gains(findings, settings),
        _per_users(findings),
        _phases(findings),
        *decomposition(findings),
        _churn(findings),
        *([distances(findings)] if settings.bound else []),
    ]
    return _result("sophos", findings, options, tables, _notes(findings, settings))


def run_ablation(options: Options) -> Result:
    """`ecotone experiment sophos-ablation`: which half of the policy earns what."""
    settings = replace(Settings.of(options), bound=False)
    contenders = [*CONTENDERS, *VARIANTS]
    findings = _campaign(options, settings, contenders)
    tables = [_gains(findings, settings), *decomposition(findings), _churn(findings)]
    notes = [f"{each.name}: {each.summary}." for each in VARIANTS]
    return _result("sophos-ablation", findings, options, tables, notes)


def _campaign(options: Options, settings: Settings, contenders: Sequence[Profile]) -> Findings:
    def text(latency: float, users: int, trial: int) -> str:
        return variant(settings, latency, users, options.seed, trial).text()

    grid = Grid(
        latencies=[float(each) for each in (options.latencies or LATENCIES)],
        users=options.users or (QUICK_USERS if options.quick else USERS),
        trials=options.runs or (2 if options.quick else 10),
        text=text,
    )
    searched = grid.requests(bound.EFFORT, trials=1) if settings.bound else 0.0
    options.say_duration(grid.requests(len(contenders)) + searched)
    return run_campaign(
        grid, contenders, seed=options.seed, bounds=settings.bound, workers=options.workers, dask=options.dask,
        folder=options.folder, progress=options.progress,
    )  # fmt: skip


def variant(settings: Settings, latency: float, users: int, seed: int, trial: int) -> SockShop:
    entries = list(ENTRIES)
    if settings.permute:
        stream(seed, "entries", trial).shuffle(entries)
    return SockShop(
        latency=2 * latency if settings.twice else latency,
        users=users,
        think=settings.think,
        full_chains=settings.full_chains,
        stock_limits=settings.stock_limits,
        stock_readiness=settings.stock_readiness,
        entries=tuple(entries),
    )


def _gains(findings: Findings, settings: Settings) -> Table:
    """The published gains are Sophos' own: only its rows are compared with them, and only with the published chains."""
    rows = []
    for latency in findings.grid.latencies:
        published = None if settings.full_chains else PUBLISHED.get(int(latency))
        for each in findings.contenders:
            if each.name == BASELINE:
                continue
            gain = findings.gain(each.name, latency)
            comparable = each.name == "sophos" and gain is not None and published is not None
            rows.append(
                [
                    significant(latency),
                    each.name,
                    percent(gain),
                    percents(findings.gain_interval(each.name, latency)),
                    percent(findings.gain(each.name, latency, failures=True)),
                    percent(published),
                    points((gain or 0.0) - (published or 0.0)) if comparable else None,
                ]
            )
    header = ["latency ms", "policy", "gain", "95 % interval", "with failures", "published (sophos)", "minus published"]
    return Table("Gain in p95 over kube-default, mean over numbers of users", header, rows)


def _per_users(findings: Findings) -> Table:
    names = [each.name for each in findings.contenders]
    rows = [
        [significant(latency), users, *(_ms(findings.p95(name, latency, users)) for name in names)]
        for latency in findings.grid.latencies
        for users in findings.grid.users
    ]
    return Table("p95 in ms, mean over trials", ["latency ms", "users", *names], rows)


def _phases(findings: Findings) -> Table:
    """One API alone decides the pooled p95, so each phase is told, over all numbers of users."""
    names = [each.name for each in findings.contenders]
    first = next(iter(findings.runs.values()))[0].intervals
    rows = []
    for latency in findings.grid.latencies:
        for number, phase in enumerate(first):
            values: list[str | int | float | None] = []
            for name in names:
                found = known(
                    run.intervals[number].p95_ms
                    for users in findings.grid.users
                    for run in findings.runs[name, latency, users]
                )
                values.append(_ms(found))
            rows.append([significant(latency), phase.entry, *values])
    return Table("p95 in ms per phase, mean over users and trials", ["latency ms", "request", *names], rows)


def _churn(findings: Findings) -> Table:
    rows = []
    for latency in findings.grid.latencies:
        for each in findings.contenders:
            runs = [run for users in findings.grid.users for run in findings.runs[each.name, latency, users]]
            undone = mean([float(moves_undone(run)) for run in runs])
            moves = significant(mean([float(run.evictions) for run in runs]), 4)
            rows.append([significant(latency), each.name, moves, significant(undone, 4)])
    return Table("Moves per 40 minutes", ["latency ms", "policy", "moves", "undone within ten periods"], rows)


def moves_undone(run: Run, *, within: float = 300.0) -> int:
    """Moves of a service back to a node it had left at most that many seconds before."""
    left: dict[tuple[str, str], float] = {}
    undone = 0
    for move in run.moves:
        at, back = move.at or 0.0, left.get((move.service, move.target))
        if back is not None and at - back <= within:
            undone += 1
        left[move.service, move.origin] = at
    return undone


def _notes(findings: Findings, settings: Settings) -> list[str]:
    notes = [] if settings.full_chains else behind(findings, PUBLISHED, ("sophos", "ecotone"))
    if settings.stock_limits:
        notes.append("Throttling at the manifests' CPU limits counts as CPU queueing.")
    for latency in findings.grid.latencies:
        ours, theirs = findings.gain("ecotone", latency), findings.gain("sophos", latency)
        if ours is not None and theirs is not None and ours < theirs:
            notes.append(f"{latency:g} ms: ecotone is {100 * (theirs - ours):.2f} points behind sophos.")
    if settings.bound:
        notes += distance_notes(findings)
    return notes + claims(findings)


def _result(name: str, findings: Findings, options: Options, tables: list[Table], notes: list[str]) -> Result:
    pages = (
        []
        if options.report is None
        else [_page(name, findings, options, latency, notes) for latency in findings.grid.latencies]
    )
    return Result(name, tables, notes, _figures(findings), pages)


def _figures(findings: Findings) -> dict[str, object]:
    """Gains and parts by latency and policy, as numbers."""
    return {
        f"{latency:g}ms": {
            each.name: {
                "p95_ms": {str(users): _ms(findings.p95(each.name, latency, users)) for users in findings.grid.users},
                "gain": significant(findings.gain(each.name, latency)),
                "gain_ci95": [significant(end) for end in findings.gain_interval(each.name, latency) or ()] or None,
                "gain_with_failures": significant(findings.gain(each.name, latency, failures=True)),
                **parts_of(findings, each.name, latency),
            }
            for each in findings.contenders
        }
        | ({bound.NAME: distance_figures(findings, latency)} if findings.bounds else {})
        for latency in findings.grid.latencies
    }


def _page(name: str, findings: Findings, options: Options, latency: float, notes: list[str]) -> Path:
    """One latency: the largest number of users in detail, and p95 over users with bands, as the thesis draws it."""
    assert options.report is not None
    names = [each.name for each in findings.contenders]
    most = findings.grid.users[-1]
    runs = [run for each in names for run in findings.runs[each, latency, most]]
    sweep = [
        {"users": users, "summary": summarise([run for each in names for run in findings.runs[each, latency, users]])}
        for users in findings.grid.users
    ]
    scenario = read_scenario(findings.grid.text(latency, most, 0), file=f"{name}.yaml")
    result = {
        "scenario": scenario.name,
        "seed": options.seed,
        "runs": [run.plain() for run in runs],
        "summary": summarise(runs),
    }
    extra = {
        "title": f"{name}, {latency:g} ms, {most} users",
        "notes": notes,
        "command": options.command or f"ecotone experiment {name} --seed {options.seed}",
        "users": sweep,
    }
    return write_report(result, scenario, options.report / f"{name}-{latency:g}ms", extra=extra)


def _ms(values: Sequence[float]) -> float | None:
    return significant(mean(list(values)), 4)


def percent(value: float | None, *, digits: int = 1) -> str | None:
    return None if value is None else f"{100 * value:.{digits}f} %"


def points(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:+.1f}"


def percents(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{100 * ends[0]:.1f} .. {100 * ends[1]:.1f} %"
