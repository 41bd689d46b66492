"""How far a policy is from the best static placement of each phase (`bound`), for each latency and number of users.

Both meet the users of the first trial, so the comparison is paired: over the whole run, and phase by phase, as one
phase's API alone may decide the whole run's p95.
"""

from __future__ import annotations

from ecotone.experiments.campaign.grid import Findings
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Cell, Table
from ecotone.experiments.campaign.statistics import significant

OURS = "ecotone"
TARGET, LIMIT = 0.10, 0.25


def above(run: Run, best: Run) -> float | None:
    """By which share its p95 exceeds the bound's."""
    own, bound = run.response_ms.p95, best.response_ms.p95
    return own / bound - 1.0 if own is not None and bound else None


def worst_phase(run: Run, best: Run) -> tuple[float, str] | None:
    """The phase where its p95 exceeds the bound's most."""
    found = [
        (
            own.p95_ms / bound.p95_ms - 1.0,
            f"{own.entry} from {own.sources[0] if len(own.sources) == 1 else 'all'}",
        )
        for own, bound in zip(run.intervals, best.intervals, strict=True)
        if own.p95_ms is not None and bound.p95_ms
    ]
    return max(found, default=None)


def distances(findings: Findings) -> Table:
    rows: list[list[Cell]] = []
    for (latency, users), best in sorted(findings.bounds.items()):
        row: list[Cell] = [significant(latency), users, significant(best.response_ms.p95, 4)]
        for name in ("sophos", OURS):
            run = findings.runs[name, latency, users][0]
            row += [significant(run.response_ms.p95, 4), _percent(above(run, best))]
        worst = worst_phase(findings.runs[OURS, latency, users][0], best)
        row += [_percent(worst[0]), worst[1]] if worst else [None, None]
        rows.append(row)
    header = ["latency ms", "users", "best static", "sophos", "above", OURS, "above", f"{OURS}, worst phase", "which"]
    return Table("Beside the best static placement of each phase, first trial, p95 in ms", header, rows)


def distance_notes(findings: Findings) -> list[str]:
    notes = []
    for latency in findings.grid.latencies:
        whole, phases = _worst(findings, latency)
        if whole is None or phases is None:
            continue
        verdict = (
            f"within the target of {100 * TARGET:.0f} %"
            if max(whole, phases) <= TARGET
            else f"within {100 * LIMIT:.0f} %"
            if max(whole, phases) <= LIMIT
            else f"NOT within {100 * LIMIT:.0f} %"
        )
        notes.append(
            f"{latency:g} ms: {OURS}'s p95 is at worst {100 * whole:.1f} % above the best static placement's over a whole run, "
            f"{100 * phases:.1f} % in a single phase: {verdict}."
        )
    return notes


def distance_figures(findings: Findings, latency: float) -> dict[str, object]:
    """For machines: the bound's p95 by number of users, and by how much ours exceeds it at worst."""
    whole, phases = _worst(findings, latency)
    p95 = {str(users): findings.bounds[latency, users].response_ms.p95 for users in findings.grid.users}
    return {"p95_ms": p95, f"{OURS}_above": significant(whole), f"{OURS}_above_in_a_phase": significant(phases)}


def _worst(findings: Findings, latency: float) -> tuple[float | None, float | None]:
    pairs = [(findings.runs[OURS, latency, users][0], findings.bounds[latency, users]) for users in findings.grid.users]
    whole = [each for run, best in pairs if (each := above(run, best)) is not None]
    phases = [found[0] for run, best in pairs if (found := worst_phase(run, best)) is not None]
    return max(whole, default=None), max(phases, default=None)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:+.1f} %"
