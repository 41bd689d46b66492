"""ResponseTime: the predicted time a request spends because of where this pod is; the whole score of policy `ecotone`.

`raw` is the shared cost in milliseconds, owners' preferences included, with the sign turned (higher is better). Nodes that
differ from the best by less than somebody notices (`noticedMs` milliseconds or the share `noticedShare` of the best) all
have 100, so that Kubernetes' own scores decide between them, its spreading of replicas over nodes and zones with them; and
as long as nothing at all is measured, neither latencies to peers nor CPU, every node has. Beyond that the normalisation is
scale-free and does not stretch: 100 s / (s + what is noticed), where s is the best node's cost plus 10 ms. A node 4 ms
behind the best of a 40 ms chain keeps 94, one 100 ms behind falls to 33; min-max would call both 0.

What the cost is made of is told in `costs.cost`: `serviceMs` is the CPU time of a request, `priceMs` what a unit of
price-per-hour is worth, and `preferenceMs` what it costs to meet none of the owner's preferences.

`redundancy`: replicas stand on several nodes, and in several zones that are near each other, whatever that costs
(`scheduling.redundancy`), in plans for whole applications as well; `false` leaves it to milliseconds. `settleSeconds`: how long
after its newest pod a new application is waited for (`scheduling.arrival`); a live scheduler sets it to 3, elsewhere it is 0.

A node beyond a deadline that is not enforced (`costs.deadlines`) costs `latePerMs` milliseconds for each millisecond it is
late and `lateMs` for being late at all. `unawaited`: what a millisecond of a call that nobody waits for counts in plans for
whole applications, beside one of a user's.

Where the workload has a QoS target (`targets`), every millisecond over it counts a thousandfold on top; and of the pods that
wait at the same time each goes where it suits all of them (`lacking`), whichever stands first in the queue.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import NamedTuple

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.availability import anything_measured
from ecotone.model.errors import InputError
from ecotone.scheduling.costs import cost
from ecotone.scheduling.costs.channels import UNAWAITED, channels
from ecotone.scheduling.costs.deadlines import DEFAULT as LATENESS
from ecotone.scheduling.costs.deadlines import Lateness, deadlines, late_ms, name_of
from ecotone.scheduling.costs.preferences import PREFERENCE_MS, has_wishes, preference_ms, soft_spread
from ecotone.scheduling.costs.targets import WEIGHT as TARGETS_FIRST
from ecotone.scheduling.costs.targets import lacking, missed_ms, target_of
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick

SCALE_MS = 10.0
NOTICED_MS, NOTICED_SHARE = 1.0, 0.02
_ELSEWHERE_MS = 1000.0  # more than any tier's latency: where the waiting pods suit each other best decides


class _Survey(msgspec.Struct, frozen=True, eq=False):
    """What holds for every replica: milliseconds on the network, what being late costs, and whether there is anything to add.

    `far`: some node is some milliseconds away. `wishes`: the owner prefers some nodes. `plain`: network and CPU are all of it.
    """

    network: Floats
    late: Floats | None
    far: bool
    wishes: bool
    plain: bool


class _Yardstick(NamedTuple):
    """The best score; whether unknown ones are among them; whether all are guesses (then the best is as good as any)."""

    best: float
    unknown: bool
    guessed: bool


class ResponseTime:
    name = "ResponseTime"
    cost_unit = "ms"

    def __init__(
        self,
        *,
        serviceMs: float = cost.DEFAULT.service_ms,
        priceMs: float = cost.DEFAULT.price_ms,
        preferenceMs: float = PREFERENCE_MS,
        noticedMs: float = NOTICED_MS,
        noticedShare: float = NOTICED_SHARE,
        latePerMs: float = LATENESS.per_ms,
        lateMs: float = LATENESS.fixed_ms,
        unawaited: float = UNAWAITED,
        redundancy: bool = True,
        settleSeconds: float = 0.0,
    ) -> None:
        numbers = {"latePerMs": latePerMs, "lateMs": lateMs, "unawaited": unawaited, "settleSeconds": settleSeconds}
        for word, value in numbers.items():
            if not 0 <= value < inf:
                raise InputError(f"ResponseTime: {word} {value:g} must be a number of at least 0")
        self.model = cost.Model(service_ms=serviceMs, price_ms=priceMs)
        self._preference_ms = preferenceMs
        self._noticed_ms = noticedMs
        self._noticed_share = noticedShare
        self.lateness = Lateness(latePerMs, lateMs)
        self.unawaited = unawaited
        self.redundancy = _flag(redundancy)
        self._settle_seconds = settleSeconds

    def settling_seconds(self) -> float:
        return self._settle_seconds

    def placement_changes(self, cycle: Cycle) -> Change:
        if target_of(cycle.state, cycle.pod.kind) is not None:
            return "everything"  # one pod more changes what the next one means for the target
        own = name_of(cycle.pod.kind)
        itself = any(each.peer == own for each in channels(cycle.state, own))
        itself = itself or any(peer == own for peer, _, _ in deadlines(cycle.state, own))
        return "everything" if itself or soft_spread(cycle.pod.kind) else "row"

    def prescore(self, cycle: Cycle) -> None:
        """The network's part holds for every replica, unless they talk among themselves."""
        if self.name not in cycle.scratch or self.placement_changes(cycle) == "everything":
            cycle.scratch[self.name] = self._survey(cycle)

    def cost(self, cycle: Cycle, rows: Rows) -> Floats:
        state, kind = cycle.state, cycle.pod.kind
        kept = self._kept(cycle)
        found: Floats = pick(kept.network, rows, cycle) + cost.cpu_ms(state, kind, rows, model=self.model)
        if state.nodes.priced:
            found = found + cost.price_ms(state, kind, rows, model=self.model)
        if kept.wishes:
            found = found + preference_ms(state, kind, rows, price=self._preference_ms)
        if kept.late is not None:
            found = found + pick(kept.late, rows, cycle)
        missed = missed_ms(state, kind)
        if missed is not None:
            found = found + TARGETS_FIRST * pick(missed + self._elsewhere_ms(cycle), rows, cycle)
        return found

    def waiting_cost(self, cycle: Cycle, rows: Rows) -> Floats:
        return cost.cpu_ms(cycle.state, cycle.pod.kind, rows, model=self.model)

    def _elsewhere_ms(self, cycle: Cycle) -> Floats | float:
        """What a node costs beyond its own milliseconds if the pods that wait together need it for another one."""
        lacks = lacking(cycle.state, cycle.pod)
        return 0.0 if lacks is None else np.where(lacks > 0, 0.0, _ELSEWHERE_MS)

    def _survey(self, cycle: Cycle) -> _Survey:
        state, kind = cycle.state, cycle.pod.kind
        network = cost.network_ms(state, kind)
        late = late_ms(state, kind, self.lateness)
        wishes = has_wishes(state.nodes, kind)
        further = wishes or state.nodes.priced or late is not None
        plain = not further and target_of(state, kind) is None
        return _Survey(network, late, far=bool(network.any()), wishes=wishes, plain=plain)

    def _kept(self, cycle: Cycle) -> _Survey:
        kept: _Survey | None = cycle.scratch.get(self.name)
        return self._survey(cycle) if kept is None else kept

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        if len(rows) == 1:
            kept = self._kept(cycle)
            if kept.plain:  # as every further replica of a batch asks
                row = int(rows[0])
                cpu = cost.cpu_ms_at(cycle.state, cycle.pod.kind, row, model=self.model)
                return np.array([0.0 - (float(kept.network[row]) + cpu)])
        return 0.0 - self.cost(cycle, rows)

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        return self.normalize_by(cycle, raw, cycle.state.nodes.all_rows, self.yardstick(cycle, raw))

    def yardstick(self, cycle: Cycle, raw: Scores) -> _Yardstick:
        best = float(raw.max(initial=-inf))
        unknown = not isfinite(best)
        if unknown:
            best = float(_without_unknown(raw).max(initial=-inf))
        guessed = best != -inf and self._nothing_measured(cycle)
        return _Yardstick(0.0 if guessed else best, unknown, guessed)

    def keeps_yardstick(self, yardstick: _Yardstick, before: float, after: float) -> bool:
        """The best score stays the best if another one changes and is no better; with guesses any will do."""
        if yardstick.unknown or not isfinite(after):
            return False
        if yardstick.guessed:
            return True
        return before < yardstick.best and after <= yardstick.best

    def normalize_by(self, cycle: Cycle, raw: Scores, rows: Rows, yardstick: _Yardstick) -> Scores:
        best, unknown, guessed = yardstick
        if best == -inf:
            return np.zeros(len(raw))  # beyond reach from everywhere: nothing to choose by
        values = _without_unknown(raw) if unknown else raw
        if guessed:
            return np.where(values > -inf, 100.0, 0.0)
        scale = SCALE_MS - best
        noticed = max(self._noticed_ms, -self._noticed_share * best)
        if len(values) == 1:  # as every further replica of a batch asks: the same operations on a plain number
            alone = best - values.item() - noticed
            return np.array([100 * scale / (scale + max(alone, 0.0))])
        behind: Floats = np.maximum(0.0, best - values - noticed)
        return 100 * scale / (scale + behind)

    def last_word(self, cycle: Cycle, rows: Rows, raw: Scores) -> Floats | None:
        """The smaller cost, however little; with nothing measured only what nodes cost in money."""
        if not self._nothing_measured(cycle):
            return np.subtract(0.0, raw, dtype=np.float64)
        return cost.price_ms(cycle.state, cycle.pod.kind, rows, model=self.model) if cycle.state.nodes.priced else None

    def _nothing_measured(self, cycle: Cycle) -> bool:
        """True if milliseconds would be guesses: no latency to anybody it talks to, and nobody's CPU was measured."""
        kept = self._kept(cycle)
        if kept.far:
            return False
        if target_of(cycle.state, cycle.pod.kind) is not None:
            return False  # what a node means for a promise is declared, not measured
        late = kept.late
        if late is not None and late[cycle.state.nodes.all_rows if cycle.feasible is None else cycle.feasible].any():
            return False  # somebody would be late, which only a measured latency can tell
        return not anything_measured(cycle.state)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        kept = self._kept(cycle)
        network = float(kept.network[row])
        missed = missed_ms(cycle.state, cycle.pod.kind)
        if missed is not None:
            raw += TARGETS_FIRST * float(missed[row])
        tardy = 0.0 if kept.late is None else float(kept.late[row])
        parts = (_ms(-raw), _ms(network), _ms(-raw - network - tardy))
        told = "{} ms per request: {} ms network, {} ms CPU queueing, price and preferences".format(*parts)
        if tardy:
            told += f", {_ms(tardy)} ms for a missed soft deadline"
        over = "" if missed is None else f"; {_ms(float(missed[row]))} ms over its QoS target"
        return told + over


def _without_unknown(raw: Scores) -> Floats:
    return np.nan_to_num(np.asarray(raw, dtype=np.float64), nan=-inf, posinf=0.0, neginf=-inf)


def _flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise InputError(f"ResponseTime: redundancy {given!r} must be true or false")
    return given


def _ms(value: float) -> str:
    """Hundredths of a millisecond are nothing to tell."""
    return f"{value:.3g}" if value >= 0.01 else "0"
