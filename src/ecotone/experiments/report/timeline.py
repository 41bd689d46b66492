"""A run's time line: how long it is, what happens when, and a policy's trials laid over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ecotone.drawing.charts.line import Point
from ecotone.drawing.numbers import middle, ms, number
from ecotone.experiments.report.results import Policy
from ecotone.sim.scenario import Scenario

MOST_POINTS = 300


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of load, numbered from one, as the scenario has it."""

    number: int
    start: float
    end: float
    entry: str
    sources: str

    @property
    def call(self) -> str:
        """In a few letters."""
        endpoint = self.entry.rpartition(".")[2]
        return f"{endpoint} ← {self.sources}" if self.sources else endpoint

    @property
    def title(self) -> str:
        return f"{self.entry} from {self.sources}" if self.sources else self.entry


@dataclass(frozen=True, slots=True)
class Happening:
    """Something the scenario does to the cluster."""

    at: float
    what: str


def length(scenario: Scenario | None, policies: Sequence[Policy]) -> float:
    """Of the run, from the scenario, or from the last thing seen."""
    if scenario is not None:
        return scenario.duration
    runs = [run for policy in policies for run in policy.runs]
    seen = [number(entry[0]) or 0.0 for run in runs for key in ("series", "placement") for entry in run.get(key) or ()]
    return max([*seen, 1.0])


def phases(scenario: Scenario | None, policies: Sequence[Policy], end: float) -> list[Phase]:
    """From the scenario, or else from the first run's intervals."""
    if scenario is not None:
        everywhere = {node.name for node in scenario.nodes}
        return [
            Phase(index, load.at, min(end, load.at + load.length), f"{load.service}.{load.endpoint}",
                    _sources(load.sources, everywhere))
            for index, load in enumerate(scenario.load, start=1)
        ]  # fmt: skip
    intervals: Sequence[Mapping[str, Any]] = next(
        (run["intervals"] for each in policies for run in each.runs if run.get("intervals")), ()
    )
    starts = [number(each.get("at")) or 0.0 for each in intervals]
    return [
        Phase(index, start, next((later for later in starts if later > start), end), str(each.get("entry", "")),
                _sources(each.get("from") or (), set()))
        for index, (each, start) in enumerate(zip(intervals, starts, strict=True), start=1)
    ]  # fmt: skip


def _sources(names: Sequence[str], everywhere: set[str]) -> str:
    if len(names) > 1 and set(names) == everywhere:
        return "all nodes"
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} nodes"


def happenings(scenario: Scenario | None) -> list[Happening]:
    if scenario is None:
        return []
    found = [Happening(change.at, f"{change.node} {change.state}") for change in scenario.node_changes]
    for link in scenario.link_changes:
        rtt = number(link.qualities.get("rtt"))
        new = "changes" if rtt is None else f"round trip becomes {ms(1000.0 * rtt)}"
        found.append(Happening(link.at, f"{link.between[0]} – {link.between[1]}: {new}"))
    return sorted(found, key=lambda each: (each.at, each.what))


def trials_over_time(policy: Policy) -> list[Point]:
    """The trials' p95 at each moment: the middle one, and from the lowest to the highest."""
    windows: dict[float, list[float]] = {}
    for run in policy.runs:
        for entry in run.get("series") or ():
            at, value = number(entry[0]), number(entry[1])
            if at is not None and value is not None:
                windows.setdefault(at, []).append(value)
    if len(windows) > MOST_POINTS:
        windows = _coarser(windows)
    several = len(policy.runs) > 1
    points: list[Point] = []
    moments = sorted(windows)
    gap = 2.5 * min((later - at for at, later in pairwise(moments)), default=0.0)
    for at in moments:
        if points and at - points[-1].x > gap:
            points.append(Point((at + points[-1].x) / 2.0, None))
        values = windows[at]
        points.append(Point(at, middle(values), min(values) if several else None, max(values) if several else None))
    return points


def _coarser(windows: Mapping[float, list[float]]) -> dict[float, list[float]]:
    first, last = min(windows), max(windows)
    width = (last - first) / MOST_POINTS
    wider: dict[float, list[float]] = {}
    for at in sorted(windows):
        wider.setdefault(first + width * min(MOST_POINTS - 1, int((at - first) / width)), []).extend(windows[at])
    return wider


def moves(run: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Evictions with a time, in its order."""
    found = [move for move in (run or {}).get("moves") or () if number(move.get("at")) is not None]
    return sorted(found, key=lambda move: (float(move["at"]), str(move.get("pod", ""))))
