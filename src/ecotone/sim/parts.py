"""What response times consist of, and what became of the requests that got none.

`Parts` adds up measured parts. `Spectrum` keeps such sums by response time, in bins one hundredth wide, so that a quantile
can be taken apart as well as a mean, at the price of a few hundred bins however long the run.
"""

from __future__ import annotations

from math import floor, log

STARTING = "starting"  # no ready pod, but one on its way
UNPLACED = "unplaced"  # no ready pod, and none bound to a node
KILLED = "killed"  # its pod was gone before it was done
UNREACHABLE = "unreachable"  # its pod's node was dead, and nobody had noticed
ENTRY_DOWN = "entry-down"  # the node where the user enters was down
UNANSWERED = "unanswered"  # still under way when the run ended
CAUSES = (STARTING, UNPLACED, KILLED, UNREACHABLE, ENTRY_DOWN, UNANSWERED)
DISRUPTIONS = (STARTING, UNPLACED, KILLED, UNREACHABLE, ENTRY_DOWN)

NAMES = ("network", "work", "waiting", "disruption")
_BIN = 0.01


class Parts:
    """Sums over answered requests, in seconds."""

    __slots__ = ("count", "disruption", "network", "total", "waiting", "work")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0  # of the response times
        self.network = 0.0
        self.work = 0.0
        self.waiting = 0.0
        self.disruption = 0.0

    def add(self, seconds: float, network: float, work: float, waiting: float, disruption: float) -> None:
        self.count += 1
        self.total += seconds
        self.network += network
        self.work += work
        self.waiting += waiting
        self.disruption += disruption

    def take_over(self, other: Parts) -> None:
        self.count += other.count
        self.total += other.total
        self.network += other.network
        self.work += other.work
        self.waiting += other.waiting
        self.disruption += other.disruption

    def means(self) -> dict[str, float] | None:
        """Seconds of each part in the mean response time."""
        return {name: getattr(self, name) / self.count for name in NAMES} if self.count else None


class Spectrum:
    """Parts by response time."""

    __slots__ = ("_bins",)

    def __init__(self) -> None:
        self._bins: dict[int, Parts] = {}

    def add(self, seconds: float, network: float, work: float, waiting: float, disruption: float) -> None:
        code = floor(log(seconds) / _BIN) if seconds > 1e-9 else floor(log(1e-9) / _BIN)
        bin_ = self._bins.get(code)
        if bin_ is None:
            bin_ = self._bins[code] = Parts()
        bin_.add(seconds, network, work, waiting, disruption)

    def take_over(self, other: Spectrum) -> None:
        for code, parts in other._bins.items():
            self._bins.setdefault(code, Parts()).take_over(parts)

    @property
    def whole(self) -> Parts:
        """All bins together."""
        joined = Parts()
        for code in sorted(self._bins):
            joined.take_over(self._bins[code])
        return joined

    def around(self, share: float) -> Parts | None:
        """The requests whose response times lie at this quantile: those of the bin that holds it."""
        place = share * (sum(parts.count for parts in self._bins.values()) - 1)
        seen = 0
        for code in sorted(self._bins):
            seen += self._bins[code].count
            if seen > place:
                return self._bins[code]
        return None
