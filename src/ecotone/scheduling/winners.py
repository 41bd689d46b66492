"""Which rows have the highest sum, kept while sums change one by one.

In a batch a placement changes a sum or two out of thousands: comparing all of them again for every pod would cost more than
all else about it. So the winners are kept with their sum. A row that surpasses them all is the new winner, and those before
it are remembered: when it falls back, they win again, but for what changed meanwhile. Where that does not suffice, `settle`
says that it does not know, and all sums are compared anew.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Rows

TIE = 1e-9


def top(values: Floats) -> Rows:
    """Where the highest value is, up to a relative difference of 1e-9."""
    best = float(values.max())
    return (values >= best - TIE * abs(best)).nonzero()[0]


class Winners(msgspec.Struct):
    """`found` of the ascending `rows` have the sum `best`, or as good as that; no row has more.

    `below`: who had won, and with which sum, before one row surpassed them; `since`: the rows whose sums changed from then on.
    """

    rows: Rows
    found: Rows
    best: float
    below: tuple[Rows, float] | None = None
    since: dict[int, None] = msgspec.field(default_factory=dict)
    unknown: bool = False

    @classmethod
    def of(cls, rows: Rows, sums: Floats) -> Winners:
        best = float(sums.max())
        won = (sums >= best - TIE * abs(best)).nonzero()[0]
        return cls(rows, rows if len(won) == len(rows) else rows.take(won), best)

    def changed(self, row: int, value: float) -> None:
        """The sum of a row is another one now."""
        if value > self.best:
            self._surpassed(row, value)
            return
        if self.below is not None:
            self.since[row] = None
        place = int(self.found.searchsorted(row))
        among = place < len(self.found) and self.found[place] == row
        wins = value >= self.best - TIE * abs(self.best)
        if wins and not among and self._has(row):
            self.found = np.insert(self.found, place, row)
        elif among and not wins:
            self.found = np.concatenate((self.found[:place], self.found[place + 1 :]))

    def _surpassed(self, row: int, value: float) -> None:
        if not self._has(row):
            return
        alone = len(self.found) == 1 and self.found[0] == row
        if self.best >= value - TIE * abs(value) and not alone:
            self.unknown = True
        elif not alone:
            self.below, self.since = (self.found, self.best), {}
            self.found = np.array([row], dtype=self.rows.dtype)
        if self.below is not None:
            self.since[row] = None
        self.best = value

    def _has(self, row: int) -> bool:
        place = int(self.rows.searchsorted(row))
        return place < len(self.rows) and bool(self.rows[place] == row)

    def settle(self, sums: Floats) -> Rows | None:
        """The winners, given the sums of all nodes; None: it is not known any more."""
        if self._stands(sums):
            return self.found
        if self.below is None or self.unknown:
            return None
        (self.found, self.best), self.below = self.below, None
        for row in self.since:
            self.changed(row, float(sums[row]))
        return self.found if self._stands(sums) else None

    def _stands(self, sums: Floats) -> bool:
        """True if one of them still has the highest sum itself: those that are almost as high tell nothing."""
        return not self.unknown and len(self.found) > 0 and bool(sums[self.found[0]] == self.best)
