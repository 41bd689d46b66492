"""One pod kind against every node: masks, raw scores, totals, and how they change when a replica is placed.

The first pod of a run pays for whole columns. For the next one of the same kind only what the plugins say a placement
changes is computed again, mostly a single row, and the sums are taken in the same order, so that a batch decides exactly
what pod by pod would have decided.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask, Rows
from ecotone.model.draw import luckiest
from ecotone.model.objects import Pod
from ecotone.scheduling.framework import Framework, Scorer
from ecotone.scheduling.plugin import (
    LAST_WORD,
    Change,
    Cycle,
    Filter,
    Incremental,
    Plugin,
    Refusal,
    Rejection,
    change_by_placement,
)
from ecotone.scheduling.tie_break import TieBreak
from ecotone.scheduling.winners import Winners, top

NOT_NAMED = "node(s) didn't satisfy plugin(s) [{}]"


class Term(msgspec.Struct):
    """What one scoring plugin says: raw figures per row (None: no opinion), and its share of the total.

    `partial`: only the rows feasible then were asked, so a row that becomes feasible later has no figure yet. `asked` are the
    raw figures of the feasible rows, `yardstick` what a Relative plugin took from them.
    """

    scorer: Scorer
    raw: Floats | Ints | None = None
    normalized: Floats | Ints | None = None
    share: Floats | None = None
    partial: bool = False
    asked: Floats | Ints | None = None
    yardstick: Hashable = None


class Evaluation:
    def __init__(self, framework: Framework, cycle: Cycle) -> None:
        self.framework = framework
        self.cycle = cycle
        self.rows: Rows = cycle.state.nodes.all_rows
        self.refusal: tuple[str, Refusal] | None = self._prefilter()
        self.masks: list[Mask | None] = []
        self.ok: Mask = np.zeros(len(self.rows), dtype=np.bool_)
        self.feasible: Rows = self.rows[:0]
        if self.refusal is None:
            self._filter()
        self._terms: list[Term] | None = None
        self._ties: list[Term] | None = None
        self._tie_break = TieBreak(cycle, framework.tie_breakers, self._change)
        self._sum: Floats | None = None
        self._winners: Winners | None = None
        """Places among the feasible rows with the highest sum."""
        self._tied: tuple[Rows, Rows] | None = None
        """These places, and the rows that stand there."""
        self._changes: dict[str, Change | None] = {}
        self._changing: list[tuple[int, Filter, Change]] | None = None
        self._following: list[Incremental] | None = None
        self._further: list[tuple[str, Rejection]] = []

    # Filtering

    def _prefilter(self) -> tuple[str, Refusal] | None:
        for plugin in self.framework.prefilters:
            refusal = plugin.prefilter(self.cycle)
            if refusal is not None:
                return plugin.name, refusal
        return None

    def _filter(self) -> None:
        self.masks = [plugin.filter(self.cycle, self.rows) for plugin in self.framework.filters]
        self._combine()

    def _combine(self) -> None:
        ok = np.ones(len(self.rows), dtype=np.bool_)
        for mask in self.masks:
            if mask is not None:
                ok = ok & mask
        self.ok = ok
        self._set_feasible()

    def _set_feasible(self) -> None:
        self.feasible = self.rows if self.ok.all() else np.flatnonzero(self.ok)
        self.cycle.feasible = self.feasible

    def fits(self, row: int) -> bool:
        return self.refusal is None and bool(self.ok[row])

    def restrict(self, allowed: Mask, why: Sequence[tuple[str, Rejection]] = ()) -> None:
        """Keep only these rows (what nominated pods leave free); `why` tells about the others."""
        lost = self.ok & ~allowed
        self._further = [
            (name, Rejection(each.mask & lost, each.reason, each.final))
            for name, each in why
            if (each.mask & lost).any()
        ]
        self.ok = self.ok & allowed
        self._set_feasible()

    def rejections(self, *, first_only: bool = True) -> list[tuple[str, Rejection]]:
        """Why rows fail, filter by filter; with `first_only` a row counts only for the first filter it fails."""
        left = np.ones(len(self.rows), dtype=np.bool_)
        found: list[tuple[str, Rejection]] = []
        for narrow in self.framework.narrowing:
            named = narrow.narrow(self.cycle)
            if named is not None and not named.all():
                found.append((narrow.name, Rejection(~named, NOT_NAMED.format(narrow.name), final=True)))
                left &= named
        for plugin, mask in zip(self.framework.filters, self.masks, strict=True):
            if mask is None or mask.all():
                continue
            for each in plugin.reject(self.cycle, self.rows):
                shown = each.mask & left if first_only else each.mask
                if shown.any():
                    found.append((plugin.name, Rejection(shown, each.reason, each.final)))
            left &= mask
        return [*found, *self._further]

    # Scoring

    @property
    def terms(self) -> list[Term]:
        if self._terms is None:
            self._terms = self._score(self.framework.scorers)
        return self._terms

    @property
    def ties(self) -> list[Term]:
        """The tie-breaking plugins on all feasible rows, for whoever wants to see them; decisions ask `TieBreak`."""
        if self._ties is None:
            self._ties = self._score(self.framework.tie_breakers)
        return self._ties

    def _score(self, scorers: list[Scorer]) -> list[Term]:
        for scorer in scorers:
            if scorer.prepares is not None:
                scorer.prepares.prescore(self.cycle)
        terms = [Term(scorer) for scorer in scorers]
        for term in terms:
            self._rescore(term)
        return terms

    def _rescore(self, term: Term) -> None:
        many = len(self.feasible) * 2 > len(self.rows)
        rows = self.rows if many else self.feasible
        raw = term.scorer.plugin.score(self.cycle, rows)
        if raw is not None and not many:
            raw = _spread(raw, rows, len(self.rows))
        term.raw = raw
        term.partial = not many
        self._normalize(term)

    def _normalize(self, term: Term) -> None:
        self._sum = None
        if term.raw is None:
            term.normalized = term.share = term.asked = None
            return
        raw = term.asked = term.raw if self.feasible is self.rows else term.raw[self.feasible]
        scorer = term.scorer
        if scorer.relative is not None:
            term.yardstick = scorer.relative.yardstick(self.cycle, raw)
            term.normalized = scorer.relative.normalize_by(self.cycle, raw, self.feasible, term.yardstick)
        else:
            term.normalized = raw if scorer.normalizes is None else scorer.normalizes.normalize(self.cycle, raw)
        term.share = np.multiply(term.normalized, float(scorer.weight), dtype=np.float64)

    def total(self, terms: list[Term] | None = None) -> Floats:
        """Weighted sums over the feasible rows, always added up in the same order."""
        total = np.zeros(len(self.feasible))
        for term in self.terms if terms is None else terms:
            if term.share is not None:
                total += term.share
        return total

    def best(self) -> int | None:
        """The row to take, or None if no node is feasible."""
        if not len(self.feasible):
            return None
        if len(self.feasible) == 1:
            return int(self.feasible[0])
        rows = self._highest()
        if len(rows) > 1 and self.framework.tie_breakers:
            rows = self._tie_break.winners(rows)
        draw = self.framework.profile.tie_draw
        if len(rows) > 1 and self.framework.last_word is not None:
            cost = self._last_word(rows)
            draw = draw or cost is None
            rows = rows if cost is None else rows[top(-cost)]
        if len(rows) == 1:
            return int(rows[0])
        nodes = self.cycle.state.nodes
        if draw:
            names = nodes.hashes.take(rows)
            return int(rows[luckiest(seed=self.cycle.state.seed, uid=self.cycle.pod.uid, names=names)])
        return int(rows[np.argmin(nodes.rank[rows])])

    def _highest(self) -> Rows:
        """The feasible rows with the highest sum; the same object as long as they are the same rows."""
        if self._sum is None:
            self._sum, self._winners = self.total(), None
        found = None if self._winners is None else self._winners.settle(self._sum)
        if found is None:
            self._winners = Winners.of(self.rows[: len(self.feasible)], self._sum)
            found = self._winners.found
        if self._tied is None or self._tied[0] is not found:
            tied = self.feasible if len(found) == len(self.feasible) else self.feasible.take(found)
            self._tied = (found, tied)
        return self._tied[1]

    def _last_word(self, rows: Rows) -> Floats | None:
        """What nodes cost that nothing else tells apart, by the plugin's own scores."""
        for term in self.terms:
            plugin = term.scorer.plugin
            if LAST_WORD.has(plugin) and term.raw is not None:
                return plugin.last_word(self.cycle, rows, term.raw.take(rows))
        return None

    # The next replica

    def advance(self, placed: Pod, row: int, following: Pod) -> None:
        """`placed` now sits on `row`; make ready for `following`, a pod of the same kind."""
        self.cycle.pod = following
        if self._following is None:
            self._following = [each for each in self.framework.incremental if self._change(each) != "nothing"]
        for plugin in self._following:
            plugin.add_pod(self.cycle, placed, row)
        moved = self._refilter(row)
        if moved:
            self._sum = None
        if self._terms is not None:
            self._refresh(self._terms, [row], moved=moved)
        self._ties = None
        self._tie_break.placed(row, moved=moved)

    def _change(self, plugin: Plugin) -> Change | None:
        """What a placement changes, asked once: it is the same for every replica."""
        name = plugin.name
        if name not in self._changes:
            self._changes[name] = change_by_placement(plugin, self.cycle)
        return self._changes[name]

    def _refilter(self, row: int) -> bool:
        """Asks the filters again where they may have changed their mind; whether the feasible rows did change."""
        one = self.rows[row : row + 1]
        everything = False
        if self._changing is None:
            asked = ((index, plugin, self._change(plugin)) for index, plugin in enumerate(self.framework.filters))
            self._changing = [
                (index, plugin, change) for index, plugin, change in asked if change in ("row", "everything")
            ]
        other = False
        for index, plugin, change in self._changing:
            if change == "row":
                other |= self._set_row(index, plugin.filter(self.cycle, one), row)
            else:
                answer = plugin.filter(self.cycle, self.rows)
                everything = everything or answer is not None or self.masks[index] is not None
                self.masks[index] = answer
        before = self.feasible
        if everything:
            self._combine()
        elif other:
            passes = all(bool(mask[row]) for mask in self.masks if mask is not None)
            if passes != bool(self.ok[row]):
                self.ok[row] = passes
                self._set_feasible()
        return self.feasible is not before and not np.array_equal(self.feasible, before)

    def _set_row(self, index: int, answer: Mask | None, row: int) -> bool:
        """One filter's new answer about a row; whether it is another one."""
        mask = self.masks[index]
        passes = answer is None or bool(answer[0])
        if passes == (mask is None or bool(mask[row])):
            return False
        if mask is None:
            mask = self.masks[index] = np.ones(len(self.rows), dtype=np.bool_)
        elif not mask.flags.writeable or mask.base is not None:
            mask = self.masks[index] = mask.copy()
        mask[row] = passes
        return True

    def _refresh(self, terms: list[Term], placed: list[int], *, moved: bool) -> None:
        """Brings terms up to date after placements on these rows; `moved`: other rows are feasible now than before."""
        for term in terms:
            prepares = term.scorer.prepares
            if prepares is not None and (moved or self._change(prepares) == "everything"):
                prepares.prescore(self.cycle)
        for term in terms:
            change = self._change(term.scorer.plugin)
            if change == "everything" or (moved and term.partial):
                if moved or not self._rescored_nearby(term, placed):
                    self._rescore(term)
            elif change == "row":
                self._rescore_rows(term, placed, moved=moved)
            elif moved:
                self._normalize(term)

    def _rescored_nearby(self, term: Term, placed: list[int]) -> bool:
        """Asks about the rows that the plugin says these placements changed; False: it does not say."""
        local = term.scorer.local
        if local is None or term.raw is None or term.partial:
            return False
        for row in placed:
            rows = local.changed_rows(self.cycle, row)
            raw = None if rows is None else local.score(self.cycle, rows)
            if rows is None or raw is None:
                return False
            if not term.raw.flags.writeable or term.raw.base is not None:
                term.raw = term.raw.copy()
            term.raw[rows] = raw
        self._normalize(term)
        return True

    def _rescore_rows(self, term: Term, placed: list[int], *, moved: bool) -> None:
        plugin = term.scorer.plugin
        changed = []
        for row in dict.fromkeys(placed):
            raw = plugin.score(self.cycle, self.rows[row : row + 1])
            if raw is None or term.raw is None:
                return
            before, after = term.raw[row], raw[0]
            if before != after:
                if not term.raw.flags.writeable or term.raw.base is not None:
                    term.raw = term.raw.copy()
                term.raw[row] = after
                changed.append((row, float(before), float(after)))
        if moved or (changed and not self._same_yardstick(term, changed)):
            self._normalize(term)
            return
        for row, _, _ in changed:
            self._set_share(term, row)

    def _same_yardstick(self, term: Term, changed: list[tuple[int, float, float]]) -> bool:
        """True if each row that changed can be normalised by itself: the others stay as they are."""
        scorer = term.scorer
        if scorer.normalizes is None:
            return True
        if scorer.relative is None or term.asked is None or term.raw is None:
            return False
        if term.asked is not term.raw:
            for row, _, after in changed:
                index = self._place(row)
                if index is not None:
                    term.asked[index] = after
        for _, before, after in changed:
            if scorer.steady is None or not scorer.steady.keeps_yardstick(term.yardstick, before, after):
                return scorer.relative.yardstick(self.cycle, term.asked) == term.yardstick
        return True

    def _place(self, row: int) -> int | None:
        """Where a row stands among the feasible ones."""
        if self.feasible is self.rows:
            return row
        index = int(self.feasible.searchsorted(row))
        return index if index < len(self.feasible) and self.feasible[index] == row else None

    def _set_share(self, term: Term, row: int) -> None:
        """One row's raw score has changed, and with it nothing but its own share."""
        index = self._place(row)
        if term.share is None or term.raw is None or index is None:
            return
        relative = term.scorer.relative
        if relative is not None and term.normalized is not None:
            one = slice(row, row + 1)
            said = relative.normalize_by(self.cycle, term.raw[one], self.rows[one], term.yardstick)[0]
            term.normalized[index] = said
        else:
            said = term.raw[row]
            if term.normalized is not term.raw and term.normalized is not None:
                term.normalized[index] = said
        term.share[index] = said * float(term.scorer.weight)
        if self._sum is not None:
            total = 0.0
            for each in self.terms:  # plain additions in the order of `total`
                if each.share is not None:
                    total += float(each.share[index])
            if total != self._sum[index]:
                self._sum[index] = total
                if self._winners is not None:
                    self._winners.changed(index, total)


def _spread(raw: Floats | Ints, rows: Rows, size: int) -> Floats | Ints:
    """A column of all nodes; 0 for rows that were not evaluated."""
    full: Floats | Ints = np.zeros(size) if raw.dtype.kind == "f" else np.zeros(size, dtype=np.int64)
    full[rows] = raw
    return full


def run_filters_on(framework: Framework, cycle: Cycle, rows: Rows) -> Mask:
    """All filters on a few rows, with whatever the plugins' notebooks say now (preemption asks this way)."""
    ok = np.ones(len(rows), dtype=np.bool_)
    for plugin in framework.filters:
        mask = plugin.filter(cycle, rows)
        if mask is not None:
            ok &= mask
    return ok


def reasons_on(framework: Framework, cycle: Cycle, rows: Rows) -> list[str]:
    """What the first filter that fails says about a row, asked the same way."""
    for plugin in framework.filters:
        mask = plugin.filter(cycle, rows)
        if mask is not None and not mask.all():
            return [each.reason for each in plugin.reject(cycle, rows) if each.mask.any()]
    return []
