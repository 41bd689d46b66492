"""Between nodes that score alike the tie-breaking plugins decide, and only about those are they asked.

Where an answer means something by itself (what is left of CPU and memory), the rows that tie are enough. Where it is
normalised, all feasible rows must be known for that, but only those that tie are normalised. In a batch the figures are
kept: a placement makes those unknown that its plugin says it changes, mostly one row, and they are asked for when a tie
needs them next. The sums are those of whole columns, row for row and in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.scheduling.framework import Scorer
from ecotone.scheduling.plugin import Change, Cycle, Plugin, Scores


@dataclass(slots=True)
class _Column:
    """Raw figures of one plugin on the rows that are `known`; neither is there while it has no opinion."""

    scorer: Scorer
    raw: Scores | None = None
    known: Mask | None = None
    asked: bool = False
    yardstick: Hashable = None

    def ask(self, cycle: Cycle, rows: Rows) -> None:
        """Fills in what is not known of these rows."""
        if self.known is None:
            if not self.asked:
                self._begin(cycle, rows)
            return
        unknown = rows[~self.known[rows]]
        if len(unknown):
            self._fill(cycle, unknown)

    def ask_everywhere(self, cycle: Cycle) -> None:
        """Fills in every row, or the feasible ones where these are few."""
        whole, feasible = cycle.state.nodes.all_rows, cycle.feasible
        few = feasible is not None and 2 * len(feasible) <= len(whole)
        if self.known is None or few:
            self.ask(cycle, feasible if few and feasible is not None else whole)
        elif not self.known.all():
            self._fill(cycle, np.flatnonzero(~self.known))

    def _begin(self, cycle: Cycle, rows: Rows) -> None:
        self.asked = True
        first = self.scorer.plugin.score(cycle, rows)
        if first is None:
            return
        size = len(cycle.state.nodes)
        raw: Scores = np.zeros(size) if first.dtype.kind == "f" else np.zeros(size, dtype=np.int64)
        known = np.zeros(size, dtype=np.bool_)
        raw[rows] = first
        known[rows] = True
        self.raw, self.known = raw, known

    def _fill(self, cycle: Cycle, rows: Rows) -> None:
        more = self.scorer.plugin.score(cycle, rows)
        if more is not None and self.raw is not None and self.known is not None:
            self.raw[rows] = more
            self.known[rows] = True

    def forget(self, rows: Rows | int | None) -> None:
        """These rows are to be asked again; None: all, and whether there is an opinion at all."""
        self.yardstick = None
        if rows is None:
            self.raw, self.known, self.asked = None, None, False
        elif self.known is not None:
            self.known[rows] = False


class TieBreak:
    def __init__(self, cycle: Cycle, scorers: list[Scorer], change: Callable[[Plugin], Change | None]) -> None:
        self._cycle = cycle
        self._change = change
        self._scorers = scorers
        self._columns: list[_Column] | None = None
        self._placed: list[int] = []
        self._moved = False

    def placed(self, row: int, *, moved: bool) -> None:
        """A replica went to this row; `moved`: other rows are feasible now than before."""
        if self._columns is not None:
            self._placed.append(row)
            self._moved |= moved

    def at(self, places: Rows, feasible: Rows) -> Floats:
        """Weighted sums at these places of the feasible rows."""
        rows = feasible[places]
        total = np.zeros(len(rows))
        for column in self._up_to_date():
            said = self._said(column, rows, places, feasible)
            if said is not None:
                total += np.multiply(said, float(column.scorer.weight), dtype=np.float64)
        return total

    def _up_to_date(self) -> list[_Column]:
        if self._columns is None:
            self._prepare(self._scorers)
            self._columns = [_Column(scorer) for scorer in self._scorers]
        elif self._placed:
            self._prepare(
                [
                    scorer
                    for scorer in self._scorers
                    if scorer.prepares is not None and (self._moved or self._change(scorer.prepares) == "everything")
                ]
            )
            for column in self._columns:
                self._forget_changed(column)
        self._placed, self._moved = [], False
        return self._columns

    def _prepare(self, scorers: list[Scorer]) -> None:
        for scorer in scorers:
            if scorer.prepares is not None:
                scorer.prepares.prescore(self._cycle)

    def _forget_changed(self, column: _Column) -> None:
        change = self._change(column.scorer.plugin)
        if self._moved:
            column.yardstick = None
        if change == "row":
            for row in self._placed:
                column.forget(row)
        elif change == "everything":
            local = None if self._moved or column.known is None else column.scorer.local
            for row in self._placed:
                column.forget(None if local is None else local.changed_rows(self._cycle, row))

    def _said(self, column: _Column, rows: Rows, places: Rows, feasible: Rows) -> Scores | None:
        """What counts of one plugin on these rows."""
        scorer = column.scorer
        if scorer.normalizes is None:
            column.ask(self._cycle, rows)
            return None if column.raw is None else column.raw[rows]
        column.ask_everywhere(self._cycle)
        if column.raw is None:
            return None
        if scorer.relative is None:
            return scorer.normalizes.normalize(self._cycle, column.raw[feasible])[places]
        if column.yardstick is None:
            column.yardstick = scorer.relative.yardstick(self._cycle, column.raw[feasible])
        return scorer.relative.normalize_by(self._cycle, column.raw[rows], rows, column.yardstick)
