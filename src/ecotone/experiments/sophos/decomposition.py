"""What response times consist of, policy by policy, and by that why a gain is no larger.

Four parts, each measured where it arises (see `ecotone.sim.flow`): messages under way, CPU service, queueing for CPU, and
disruption, which is whatever moving pods costs. The parts of a mean add up to it. Gains are told in p95, so the p95 is
taken apart too: by the requests whose response times lie within a hundredth of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ecotone.experiments.campaign.comparison import known
from ecotone.experiments.campaign.grid import BASELINE, Findings
from ecotone.experiments.campaign.record import Breakdown, Run
from ecotone.experiments.campaign.registry import Cell, Table
from ecotone.experiments.campaign.statistics import mean, significant
from ecotone.sim.parts import DISRUPTIONS, NAMES

LABELS = {"network": "network", "work": "service", "waiting": "CPU queueing", "disruption": "disruption"}

Split = dict[str, float]
Part = Literal["breakdown_ms", "p95_breakdown_ms", "breakdown_with_failures_ms"]


def split(findings: Findings, name: str, latency: float, *, of: Part = "breakdown_ms") -> Split:
    """Milliseconds of each part, mean over the latency's runs."""
    found: list[Breakdown] = [getattr(run, of) for run in _runs(findings, name, latency)]
    parts = dict.fromkeys(part for each in found for part in each)
    return {part: mean(known(each[part] for each in found)) or 0.0 for part in parts}


def decomposition(findings: Findings) -> list[Table]:
    return [_of_the_mean(findings), _of_the_p95(findings)]


def parts_of(findings: Findings, name: str, latency: float) -> dict[str, dict[str, float | None]]:
    """The same for machines: the mean, the p95, and the mean with failures counted as a minute."""
    kinds: tuple[Part, ...] = ("breakdown_ms", "p95_breakdown_ms", "breakdown_with_failures_ms")
    return {
        kind: {part: significant(value) for part, value in split(findings, name, latency, of=kind).items()}
        for kind in kinds
    }


def _of_the_mean(findings: Findings) -> Table:
    rows: list[list[Cell]] = []
    for latency in findings.grid.latencies:
        for each in findings.contenders:
            parts = split(findings, each.name, latency)
            whole = split(findings, each.name, latency, of="breakdown_with_failures_ms")
            runs = _runs(findings, each.name, latency)
            measured = mean(known(run.response_ms.mean for run in runs))
            rows.append(
                [
                    significant(latency),
                    each.name,
                    significant(measured, 4),
                    *(round(parts[part], 2) for part in NAMES),
                    _failed(runs, disrupted=True),
                    _failed(runs, disrupted=False),
                    round(whole["disruption"], 2),
                ]
            )
    header = [
        "latency ms", "policy", "mean ms", *LABELS.values(), "failed by disruption", "never answered",
        "disruption, failures as 60 s",
    ]  # fmt: skip
    return Table("What a mean response time consists of, ms", header, rows)


def _of_the_p95(findings: Findings) -> Table:
    rows: list[list[Cell]] = []
    for latency in findings.grid.latencies:
        for each in findings.contenders:
            parts = split(findings, each.name, latency, of="p95_breakdown_ms")
            rows.append(
                [
                    significant(latency),
                    each.name,
                    significant(_p95(findings, each.name, latency), 4),
                    *(round(parts[part], 2) for part in NAMES),
                ]
            )
    header = ["latency ms", "policy", "p95 ms", *LABELS.values()]
    return Table("What the p95 consists of, ms: requests within 1 % of it", header, rows)


def behind(findings: Findings, published: Mapping[int, float], names: Sequence[str]) -> list[str]:
    """A sentence for each gain that stays behind the published one, or for several at once that read the same."""
    notes = []
    for latency in findings.grid.latencies:
        aim = published.get(int(latency))
        found: dict[str, list[str]] = {}
        for name in names:
            gain = findings.gain(name, latency)
            if aim is not None and gain is not None and gain < aim:
                found.setdefault(_behind(findings, name, latency, gain=gain, aim=aim), []).append(name)
        notes += [f"{latency:g} ms, {' and '.join(who)}: {text}" for text, who in found.items()]
    return notes


def _behind(findings: Findings, name: str, latency: float, *, gain: float, aim: float) -> str:
    own = split(findings, name, latency, of="p95_breakdown_ms")
    base = split(findings, BASELINE, latency, of="p95_breakdown_ms")
    needed = (1.0 - aim) * (_p95(findings, BASELINE, latency) or 0.0)
    largest = max(NAMES, key=lambda part: own[part])
    saved = ", ".join(f"{_plain(base[part] - own[part])} of {LABELS[part]}" for part in NAMES)
    left = ", ".join(f"{_plain(own[part])} of {LABELS[part]}" for part in NAMES)
    return (
        f"a gain of {100 * gain:.1f} %, {100 * (aim - gain):.1f} points less than published. Of {BASELINE}'s p95 it saves, "
        f"in ms, {saved}; what is left is {left}. The published gain would need a p95 of {_plain(needed)} ms, and "
        f"{LABELS[largest]} alone takes {_plain(own[largest])}."
    )


def _plain(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value + 0.0:.1f}"


def _p95(findings: Findings, name: str, latency: float) -> float | None:
    return mean([value for users in findings.grid.users for value in findings.p95(name, latency, users)])


def _runs(findings: Findings, name: str, latency: float) -> list[Run]:
    return [run for users in findings.grid.users for run in findings.runs[name, latency, users]]


def _failed(runs: Sequence[Run], *, disrupted: bool) -> str:
    requests = sum(run.requests for run in runs)
    number = sum(count for run in runs for cause, count in run.failures.items() if (cause in DISRUPTIONS) == disrupted)
    return f"{100 * number / requests:.3f} %" if requests else "-"
