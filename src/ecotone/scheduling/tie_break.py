"""Between nodes that score alike the tie-breaking plugins decide, and only about those are they asked.

Where an answer means something by itself (what is left of CPU and memory), the rows that tie are enough. Where it is
normalised, all feasible rows must be known for that, but only those that tie are normalised. In a batch the figures and
their sums are kept: a placement makes those stale that its plugins say it changes, mostly one row, and they are asked for
when a tie needs them next. The sums are those of whole columns, row for row and in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.scheduling.framework import Scorer
from ecotone.scheduling.plugin import Change, Cycle, Plugin, Scores


class _Column(msgspec.Struct):
    """Raw figures of one plugin on the rows that are `known`; neither is there while it has no opinion.

    `measured`: whether it has one is known, and, where it normalises, what it takes from all feasible rows is up to date:
    the `yardstick`, or, if it can only normalise them together, what came of that.
    """

    scorer: Scorer
    raw: Scores | None = None
    known: Mask | None = None
    asked: bool = False
    measured: bool = False
    yardstick: Hashable = None
    normalized: Floats = msgspec.field(default_factory=lambda: np.zeros(0))

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

    def forget(self, rows: Rows | list[int]) -> None:
        """These rows are to be asked again."""
        if self.known is not None:
            self.known[rows] = False

    def start_over(self) -> None:
        """All rows are, and whether there is an opinion at all."""
        self.raw, self.known, self.asked, self.measured = None, None, False, False


class TieBreak:
    def __init__(self, cycle: Cycle, scorers: list[Scorer], change: Callable[[Plugin], Change | None]) -> None:
        self._cycle = cycle
        self._change = change
        self._scorers = scorers
        self._columns: list[_Column] | None = None
        self._changing: list[_Column] | None = None
        self._placed: list[int] = []
        self._moved = False
        self._sums: Floats
        self._summed: Mask

    def placed(self, row: int, *, moved: bool) -> None:
        """A replica went to this row; `moved`: other rows are feasible now than before."""
        if self._columns is not None:
            self._placed.append(row)
            self._moved |= moved

    def at(self, rows: Rows) -> Floats:
        """Weighted sums on these feasible rows, to be read only."""
        columns = self._up_to_date()
        for column in columns:
            if not column.measured and self._measure(column, rows):
                self._summed[:] = False
        whole = rows is self._cycle.state.nodes.all_rows
        stale = np.flatnonzero(~self._summed) if whole else rows[~self._summed[rows]]
        if len(stale):
            total = np.zeros(len(stale))
            for column in columns:
                if column.raw is not None:
                    said = self._said(column, column.raw, stale)
                    total += np.multiply(said, float(column.scorer.weight), dtype=np.float64)
            self._sums[stale] = total
            self._summed[stale] = True
        return self._sums if whole else self._sums[rows]

    def _up_to_date(self) -> list[_Column]:
        if self._columns is None:
            self._prepare(self._scorers)
            size = len(self._cycle.state.nodes)
            self._sums, self._summed = np.zeros(size), np.zeros(size, dtype=np.bool_)
            self._columns = [_Column(scorer) for scorer in self._scorers]
        elif self._placed:
            affected = self._columns if self._moved else self._affected(self._columns)
            self._prepare([column.scorer for column in affected if self._moved or self._prepares_anew(column.scorer)])
            for column in affected:
                self._forget_changed(column)
        self._placed, self._moved = [], False
        return self._columns

    def _affected(self, columns: list[_Column]) -> list[_Column]:
        """Those that a placement changes at all; it is the same for every replica."""
        if self._changing is None:
            self._changing = [
                column
                for column in columns
                if self._change(column.scorer.plugin) != "nothing" or self._prepares_anew(column.scorer)
            ]
        return self._changing

    def _prepares_anew(self, scorer: Scorer) -> bool:
        return scorer.prepares is not None and self._change(scorer.prepares) == "everything"

    def _prepare(self, scorers: list[Scorer]) -> None:
        for scorer in scorers:
            if scorer.prepares is not None:
                scorer.prepares.prescore(self._cycle)

    def _forget_changed(self, column: _Column) -> None:
        change = self._change(column.scorer.plugin)
        if change == "row":
            self._forget(column, self._placed)
        elif change == "everything":
            local = None if self._moved or column.raw is None else column.scorer.local
            for row in self._placed:
                self._forget(column, None if local is None else local.changed_rows(self._cycle, row))
        if self._moved or (change != "nothing" and column.scorer.normalizes is not None):
            column.measured = False

    def _forget(self, column: _Column, rows: Rows | list[int] | None) -> None:
        if rows is not None:
            column.forget(rows)
            self._summed[rows] = False
            return
        if column.raw is not None:
            self._summed[:] = False
        column.start_over()

    def _measure(self, column: _Column, rows: Rows) -> bool:
        """Whether it has an opinion, and what normalising takes from all rows; True if that is not what it was."""
        scorer, before = column.scorer, column.yardstick
        column.measured = True
        if scorer.normalizes is None:
            column.ask(self._cycle, rows)
            return column.raw is not None
        column.ask_everywhere(self._cycle)
        if column.raw is None:
            column.yardstick = None
            return False
        whole = self._cycle.state.nodes.all_rows
        feasible = whole if self._cycle.feasible is None else self._cycle.feasible
        raw = column.raw if feasible is whole else column.raw[feasible]
        if scorer.relative is not None:
            column.yardstick = scorer.relative.yardstick(self._cycle, raw)
            return column.yardstick != before
        column.normalized = np.zeros(len(whole))
        column.normalized[feasible] = scorer.normalizes.normalize(self._cycle, raw)
        return True

    def _said(self, column: _Column, raw: Scores, rows: Rows) -> Scores:
        """What counts of one plugin on these rows."""
        scorer = column.scorer
        if scorer.normalizes is None:
            column.ask(self._cycle, rows)
            return raw[rows]
        if scorer.relative is None:
            return column.normalized[rows]
        return scorer.relative.normalize_by(self._cycle, raw[rows], rows, column.yardstick)
