"""Between nodes that score alike the tie-breaking plugins decide, and only about those are they asked.

Where an answer means something by itself (what is left of CPU and memory), the rows that tie are enough. Where it is
normalised, all feasible rows must be known for that, but only those that tie are normalised. In a batch the figures and
their sums are kept: a placement makes those stale that its plugins say it changes, mostly one row, and they are asked for
when a tie needs them next; so are the rows with the highest sum, as long as the same rows tie. Where a placement changes
many rows (a zone that holds one replica more), only the plugins that say so are asked again: what each of the others adds
to a sum is kept, too. The sums are those of whole columns, row for row and in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.scheduling.framework import Scorer
from ecotone.scheduling.plugin import Change, Cycle, Plugin, Scores
from ecotone.scheduling.winners import Winners

FEW = 4
"""Rows that are summed up one by one; for more of them whole arrays are cheaper."""
MANY = 1024
"""Up to so many rows are summed up anew as soon as some are stale: to find out which would cost more."""


class _Column(msgspec.Struct):
    """Raw figures of one plugin on the rows that are `known`; neither is there while it has no opinion.

    `first`: the rows it was first asked about, and what it said. A single decision needs no more than that; they become a
    column of all nodes for the next replica. `measured`: whether it has an opinion is known, and, where it normalises, what it
    takes from all feasible rows is up to date: the `yardstick`, or, if it can only normalise them together, what came of that.
    """

    scorer: Scorer
    weight: float
    raw: Scores | None = None
    known: Mask | None = None
    first: tuple[Rows, Scores] | None = None
    asked: bool = False
    measured: bool = False
    missing: list[Rows] | None = None
    """Where all rows were known once: those that are to be asked again, whatever `known` says."""
    shares: Floats | None = None
    """What it adds to the sums, on the rows that tied last; kept where a placement changes its own row's at most."""
    yardstick: Hashable = None
    normalized: Floats = msgspec.field(default_factory=lambda: np.zeros(0))

    @property
    def has_opinion(self) -> bool:
        return self.raw is not None or self.first is not None

    def figures(self, cycle: Cycle, rows: Rows) -> Scores | None:
        """What it says of these rows, which it is asked about where that is not known."""
        if not self.asked:
            self.asked = True
            said = self.scorer.plugin.score(cycle, rows)
            self.first = None if said is None else (rows, said)
            return said
        if self.first is not None:
            if self.first[0] is rows:
                return self.first[1]
            if self.first[0] is cycle.state.nodes.all_rows:
                return self.first[1].take(rows)
        self.ask(cycle, rows)
        return None if self.raw is None else self.raw.take(rows)

    def lay_out(self, cycle: Cycle) -> None:
        """Makes what was said first a column over all nodes."""
        if self.first is None:
            return
        rows, said = self.first
        size = len(cycle.state.nodes)
        if rows is cycle.state.nodes.all_rows:
            self.raw, self.known, self.missing = said.copy(), np.ones(size, dtype=np.bool_), []
        else:
            raw: Scores = np.zeros(size) if said.dtype.kind == "f" else np.zeros(size, dtype=np.int64)
            known = np.zeros(size, dtype=np.bool_)
            raw[rows] = said
            known[rows] = True
            self.raw, self.known = raw, known
        self.first = None

    def ask(self, cycle: Cycle, rows: Rows) -> None:
        """Fills in what is not known of these rows."""
        if not self.asked:
            self.figures(cycle, rows)
        self.lay_out(cycle)
        if self.known is not None:
            if self.missing:
                self._complete(cycle, self.known)
            unknown = rows[~self.known.take(rows)]
            if len(unknown):
                self._fill(cycle, unknown)

    def everywhere(self, cycle: Cycle, feasible: Rows) -> Scores | None:
        """What it says of the feasible rows; where these are many, all rows are asked about."""
        whole = cycle.state.nodes.all_rows
        if not self.asked:
            self.figures(cycle, feasible if 2 * len(feasible) <= len(whole) else whole)
        elif self.known is not None and 2 * len(feasible) > len(whole):
            self._complete(cycle, self.known)
            return self.raw if self.raw is None or feasible is whole else self.raw.take(feasible)
        return self.figures(cycle, feasible)

    def at(self, cycle: Cycle, row: int, one: Rows) -> float:
        """What counts of it on a single row, which `one` holds; it has an opinion, and is laid out."""
        raw, known = self.raw, self.known
        assert raw is not None and known is not None
        if self.missing:
            self._complete(cycle, known)
        if not known[row]:
            said = self.scorer.plugin.score(cycle, one)
            if said is not None:
                raw[row] = said[0]
                known[row] = True
        scorer = self.scorer
        if scorer.normalizes is None:
            return float(raw[row])
        if scorer.relative is None:
            return float(self.normalized[row])
        return float(scorer.relative.normalize_by(cycle, raw[row : row + 1], one, self.yardstick)[0])

    def _complete(self, cycle: Cycle, known: Mask) -> None:
        if self.missing is None:
            rows = np.flatnonzero(~known)
        elif len(self.missing) == 1:
            rows = self.missing[0]
        else:
            rows = np.concatenate(self.missing) if self.missing else cycle.state.nodes.all_rows[:0]
        if len(rows):
            self._fill(cycle, rows)
        self.missing = []

    def ask_again(self, cycle: Cycle, row: int) -> None:
        """A placement has changed what it says of this row, and of no other."""
        if self.raw is not None and self.known is not None and self.known[row]:
            said = self.scorer.plugin.score(cycle, cycle.state.nodes.all_rows[row : row + 1])
            if said is not None:
                value = self.raw[row] = said.item()
                if self.shares is not None:
                    self.shares[row] = value * self.weight

    def ask_nearby(self, cycle: Cycle, rows: Rows) -> bool:
        """A placement has changed what it says of these rows; False: it cannot be asked about them alone."""
        nearby = self.scorer.nearby
        if nearby is None or self.raw is None or self.missing is None or self.missing:
            return False
        after = nearby.score(cycle, rows)
        if after is None:
            return False
        before = self.raw.take(rows)
        self.raw[rows] = after
        self.measured &= nearby.keeps_yardstick_nearby(self.yardstick, before, after)
        return True

    def _fill(self, cycle: Cycle, rows: Rows) -> None:
        more = self.scorer.plugin.score(cycle, rows)
        if more is not None and self.raw is not None and self.known is not None:
            self.raw[rows] = more
            self.known[rows] = True

    def forget(self, rows: Rows) -> None:
        """These rows are to be asked again."""
        if self.missing is not None:
            self.missing.append(rows)
        elif self.known is not None:
            self.known[rows] = False

    def start_over(self) -> None:
        """All rows are, and whether there is an opinion at all."""
        self.raw, self.known, self.first, self.missing, self.asked, self.measured = None, None, None, None, False, False


class TieBreak:
    def __init__(self, cycle: Cycle, scorers: list[Scorer], change: Callable[[Plugin], Change | None]) -> None:
        self._cycle = cycle
        self._change = change
        self._scorers = scorers
        self._columns: list[_Column] | None = None
        self._speaking: list[_Column] = []
        """Those that may have an opinion."""
        self._changing: tuple[list[_Column], list[Scorer]] | None = None
        self._placed: list[int] = []
        self._moved = False
        self._sums: Floats
        self._summed: Mask
        self._first: tuple[Rows, Floats] | None = None
        """The rows that tied for the first of a run, and their sums."""
        self._stale: list[int] | None = []
        """The rows whose sums have become stale since the winners were found; None: many."""
        self._winners: Winners | None = None
        self._answered: Rows | None = None
        """The rows of which every plugin's figures are known, and what it adds to the sums where that is kept."""

    def placed(self, row: int, *, moved: bool) -> None:
        """A replica went to this row; `moved`: other rows are feasible now than before."""
        if self._columns is not None:
            self._placed.append(row)
            self._moved |= moved

    def winners(self, rows: Rows) -> Rows:
        """Those of these feasible rows with the highest weighted sums."""
        if self._columns is None:
            self._winners = Winners.of(rows, self._first_sums(rows))
            return self._winners.found
        self._bring_up_to_date(self._columns, rows)
        found = self._after_few(rows)
        if found is not None:
            return found
        self._winners = Winners.of(rows, self._sums_at(rows))
        return self._winners.found

    def at(self, rows: Rows) -> Floats:
        """The weighted sums of these feasible rows, to be read only."""
        if self._columns is None:
            return self._first_sums(rows)
        self._winners = None
        self._bring_up_to_date(self._columns, rows)
        return self._sums_at(rows)

    def _first_sums(self, rows: Rows) -> Floats:
        """The sums of a decision on its own: nothing is laid out for a replica that may never come."""
        self._prepare(self._scorers)
        self._columns = [_Column(scorer, float(scorer.weight)) for scorer in self._scorers]
        total = np.zeros(len(rows))
        for column in self._columns:
            self._measure(column, rows)
            said = self._said(column, rows)
            if said is not None:
                total += np.multiply(said, column.weight, dtype=np.float64)
        self._first = (rows, total)
        return total

    def _after_few(self, rows: Rows) -> Rows | None:
        """The winners after a change of a few sums, where the same rows tie as before; None: all must be compared."""
        if self._winners is None or self._stale is None or self._winners.rows is not rows:
            return None
        for row in self._stale:
            value = self._sums[row] = self._sum_at(row)
            self._summed[row] = True
            self._winners.changed(row, value)
        self._stale = []
        return self._winners.settle(self._sums)

    def _sum_at(self, row: int) -> float:
        one = self._cycle.state.nodes.all_rows[row : row + 1]
        total = 0.0
        for column in self._speaking:  # plain additions in the order of whole columns
            if column.raw is not None:
                total += column.at(self._cycle, row, one) * column.weight
        return total

    def _sums_at(self, rows: Rows) -> Floats:
        whole = rows is self._cycle.state.nodes.all_rows
        if self._stale is None and FEW < len(rows) <= MANY:
            stale = rows
        else:
            stale = np.flatnonzero(~self._summed) if whole else rows[~self._summed.take(rows)]
        self._stale = []
        if 0 < len(stale) <= FEW:
            for row in stale.tolist():
                self._sums[row] = self._sum_at(row)
        elif len(stale):
            total = self._total(stale, answered=self._answered is rows)
            self._sums[stale] = total
            if len(stale) == len(rows):
                self._answered = rows
                self._summed[rows] = True
                return total
        self._summed[stale] = True
        return self._sums if whole else self._sums.take(rows)

    def _total(self, rows: Rows, *, answered: bool) -> Floats:
        """The sums of these rows; `answered`: of all of them it is known what the steady plugins add."""
        total = np.zeros(len(rows))
        for column in self._speaking:
            if answered and column.shares is not None:
                total += column.shares.take(rows)
                continue
            said = self._said(column, rows, answered=answered)
            if said is not None:
                share: Floats = np.multiply(said, column.weight, dtype=np.float64)
                total += share
                if column.shares is not None:
                    column.shares[rows] = share
        return total

    def _bring_up_to_date(self, columns: list[_Column], rows: Rows) -> None:
        if self._first is not None:
            self._lay_out(columns, *self._first)
        if self._placed:
            self._follow(columns)
            self._placed, self._moved = [], False
        for column in columns:
            if not column.measured:
                if self._measure(column, rows):
                    self._all_stale()
                column.lay_out(self._cycle)

    def _follow(self, columns: list[_Column]) -> None:
        """Forgets, or asks again at once, what the placements since have changed."""
        affected, anew = self._affected(columns)
        if self._moved:
            affected, anew = columns, self._scorers
            self._answered = None
        self._prepare(anew)
        self._outdate(self._placed)
        for column in affected:
            self._forget_changed(column)

    def _lay_out(self, columns: list[_Column], rows: Rows, sums: Floats) -> None:
        """The second of a run has come: what was said for the first is kept from now on."""
        self._first = None
        size = len(self._cycle.state.nodes)
        for column in columns:
            column.lay_out(self._cycle)
            if self._steady(column.scorer):
                column.shares = np.zeros(size) if column.has_opinion else None
        self._speaking = [each for each in columns if each.has_opinion or not self._steady(each.scorer)]
        self._sums, self._summed = np.zeros(size), np.zeros(size, dtype=np.bool_)
        self._sums[rows] = sums
        self._summed[rows] = True

    def _steady(self, scorer: Scorer) -> bool:
        """True if a placement changes what it adds to the sum of the chosen row at most, as long as no other row moves."""
        change = self._change(scorer.plugin)
        if self._prepares_anew(scorer):
            return False
        return change == "nothing" or (change == "row" and scorer.normalizes is None)

    def _affected(self, columns: list[_Column]) -> tuple[list[_Column], list[Scorer]]:
        """Those that a placement changes at all, and those to be prepared anew; they are the same for every replica."""
        if self._changing is None:
            anew = [column.scorer for column in columns if self._prepares_anew(column.scorer)]
            changed = [each for each in columns if each.scorer in anew or self._change(each.scorer.plugin) != "nothing"]
            self._changing = (changed, anew)
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
            for row in self._placed:
                column.ask_again(self._cycle, row)
            if self._moved or column.scorer.normalizes is not None:
                column.measured = False
        elif change == "everything":
            local = None if self._moved or column.raw is None else column.scorer.local
            for row in self._placed:
                rows = None if local is None else local.changed_rows(self._cycle, row)
                if rows is not None and column.ask_nearby(self._cycle, rows):
                    self._outdate(rows)
                else:
                    self._forget(column, rows)
        elif self._moved:
            column.measured = False

    def _forget(self, column: _Column, rows: Rows | None) -> None:
        if column.scorer.normalizes is None:
            self._answered = None
        else:
            column.measured = False
        if rows is None:
            if column.raw is not None:
                self._all_stale()
            column.start_over()
            return
        column.forget(rows)
        self._outdate(rows)

    def _outdate(self, rows: Rows | list[int]) -> None:
        """The sums of these rows are stale."""
        if len(rows) > FEW:
            self._summed[rows] = False
            self._stale = None
            return
        for row in map(int, rows):
            self._summed[row] = False
            if self._stale is not None and row not in self._stale:
                self._stale.append(row)
        if self._stale is not None and len(self._stale) > 2 * FEW:
            self._stale = None

    def _all_stale(self) -> None:
        self._summed[:] = False
        self._stale = None

    def _measure(self, column: _Column, rows: Rows) -> bool:
        """Whether it has an opinion, and what normalising takes from all rows; True if that is not what it was."""
        scorer, before, cycle = column.scorer, column.yardstick, self._cycle
        column.measured = True
        if scorer.normalizes is None:
            return column.figures(cycle, rows) is not None
        whole = cycle.state.nodes.all_rows
        feasible = whole if cycle.feasible is None else cycle.feasible
        raw = column.everywhere(cycle, feasible)
        if raw is None:
            column.yardstick = None
            return False
        if scorer.relative is not None:
            column.yardstick = scorer.relative.yardstick(cycle, raw)
            return column.yardstick != before
        column.normalized = np.zeros(len(whole))
        column.normalized[feasible] = scorer.normalizes.normalize(cycle, raw)
        return True

    def _said(self, column: _Column, rows: Rows, *, answered: bool = False) -> Scores | None:
        """What counts of one plugin on these rows; None: it has no opinion. `answered`: it is known of all of them."""
        scorer = column.scorer
        if scorer.normalizes is not None and scorer.relative is None:
            return column.normalized.take(rows) if column.has_opinion else None
        # What is normalised was asked about everywhere to be measured.
        known = column.raw if answered or scorer.normalizes is not None else None
        raw = column.figures(self._cycle, rows) if known is None else known.take(rows)
        if raw is None or scorer.relative is None:
            return raw
        return scorer.relative.normalize_by(self._cycle, raw, rows, column.yardstick)
