"""A node's CPU: processor sharing over cores, with Kubernetes' weights and CFS quotas.

Each pod holds a `Share` of its node's `Station`. A share's weight is split equally among its active requests and no
request runs on more than one core, so all requests of one share progress at the same rate. A share therefore keeps one
virtual clock that runs at that rate, and a request is finished when the clock reaches (clock at arrival + demand): a
heap per share, no work per waiting request. Rates change only when a request comes or goes or a quota runs out; each
such moment costs one pass over the shares that are active, of which a node has a handful.

The station keeps at most one valid wake-up in the kernel's heap. If a change makes the next completion *later*, the
wake-up stays where it is and, when it comes, is simply set again: cheaper than a new entry for each arrival.

A limit is a quota of CPU per window of 100 ms (windows begin at multiples of 100 ms): a share runs at its full rate
until the quota is used up and not at all until the next window.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, inf
from typing import Any

from ecotone.sim.kernel import Agenda, Called, Event, Kernel

WINDOW = 0.1
LEAST_WEIGHT = 2.0
_DONE = 1e-9  # seconds of work that rounding may leave over


class Share:
    """One pod's part of a station."""

    __slots__ = (
        "active",
        "clock",
        "due",
        "left",
        "quota",
        "rate",
        "requests",
        "station",
        "throttled",
        "used",
        "weight",
        "window",
    )

    def __init__(self, station: Station, *, weight: float, limit: float | None = None) -> None:
        self.station = station
        self.weight = weight
        self.quota = inf if limit is None else limit * WINDOW
        self.left = self.quota
        self.window = 0
        self.throttled = False
        self.active = 0
        self.rate = 0.0
        self.clock = 0.0
        self.used = 0.0
        self.requests = Agenda()  # by the clock's time at which they are done
        self.due = inf  # that of the first


class WakeUp(Event):
    """The moment when something will happen at a station, unless something else happens first."""

    __slots__ = ("_station", "_version")

    def __init__(self, station: Station, version: int) -> None:
        self.time = 0.0
        self.order = 0
        self._station = station
        self._version = version

    def happen(self) -> None:
        self._station.wake(self._version)


class Station:
    """`cores` shared among the active requests of all shares."""

    __slots__ = (
        "_busy", "_counter", "_due", "_kernel", "_last", "_limited", "_version", "cores", "shares", "total",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, cores: float) -> None:
        self._kernel = kernel
        self.cores = cores
        self.shares: list[Share] = []  # with active requests, in order of becoming active
        self.total = 0
        self._last = 0.0
        self._due = inf
        self._version = 0
        self._counter = 0
        self._busy = False
        self._limited = False

    def share(self, *, weight: float, limit: float | None = None) -> Share:
        return Share(self, weight=max(weight, LEAST_WEIGHT), limit=limit)

    def add(self, share: Share, demand: float, callback: Callable[[Any], None], argument: Any) -> None:
        """Serve `demand` seconds of CPU, then call `callback(argument)`."""
        self.serve(share, demand, Called(callback, argument))

    def serve(self, share: Share, demand: float, event: Event) -> None:
        """Serve `demand` seconds of CPU, then let the event happen."""
        now = self._kernel.now
        if now != self._last:
            self._advance(now)
        self._counter = counter = self._counter + 1
        event.time = due = share.clock + demand
        event.order = counter
        share.requests.push(event)
        share.due = min(share.due, due)
        share.active = active = share.active + 1
        self.total += 1
        if active == 1:
            self.shares.append(share)
            if share.quota < inf:
                self._limited = True
                self._refill(share, now)
        if not self._busy:
            if len(self.shares) == 1 and not self._limited:
                self._settle_alone(share, now)
            else:
                self._settle(now)

    def drop(self, share: Share) -> list[Event]:
        """Take a dead pod's requests away, in the order in which they came."""
        now = self._kernel.now
        self.catch_up()
        lost = share.requests.clear()
        if share.active:
            self.total -= share.active
            self.shares.remove(share)
            share.active = 0
            share.due = inf
            if not self._busy:
                self._settle(now)
        return lost

    def catch_up(self) -> None:
        """Bring the shares' `used` counters up to now, for whoever wants to read them."""
        if self._kernel.now != self._last:
            self._advance(self._kernel.now)

    def _advance(self, now: float) -> None:
        step = now - self._last
        self._last = now
        if self._limited:
            self._advance_limited(now, step)
            return
        for share in self.shares:
            progress = share.rate * step
            share.clock += progress
            share.used += progress * share.active

    def _advance_limited(self, now: float, step: float) -> None:
        """As above, with quotas: the part of the step that lies in the current window counts against it."""
        for share in self.shares:
            progress = share.rate * step
            share.clock += progress
            share.used += progress * share.active
            if share.quota < inf:
                window = _window(now)
                if window != share.window:
                    share.window, share.left = window, share.quota
                    share.throttled = False
                    share.left -= share.rate * share.active * max(0.0, now - window * WINDOW)
                else:
                    share.left -= progress * share.active
                if share.left <= _DONE:
                    share.throttled = True

    def _refill(self, share: Share, now: float) -> None:
        window = _window(now)
        if window != share.window:
            share.window, share.left, share.throttled = window, share.quota, False

    def _settle(self, now: float) -> None:
        """Set the rates, and the wake-up at the first moment when something will happen."""
        shares = self.shares
        if not shares:
            return
        if self._limited:
            due = self._settle_limited(now)
        elif len(shares) == 1:
            self._settle_alone(shares[0], now)
            return
        else:
            if self.total <= self.cores:
                for share in shares:
                    share.rate = 1.0
            else:
                _fill(shares, self.cores)
            due = inf
            for share in shares:
                if share.rate > 0.0:
                    time = (share.due - share.clock) / share.rate
                    due = min(due, time)
        due = now + due if due > 0.0 else now
        if due < self._due:
            self._due = due
            self._version = version = self._version + 1
            self._kernel.plan(WakeUp(self, version), due)

    def _settle_alone(self, share: Share, now: float) -> None:
        """The same for a single active share without a limit, the commonest case by far: the rule boils down to this."""
        active, cores = share.active, self.cores
        share.rate = rate = 1.0 if active <= cores else cores / active
        due = (share.due - share.clock) / rate
        due = now + due if due > 0.0 else now
        if due < self._due:
            self._due = due
            self._version = version = self._version + 1
            self._kernel.plan(WakeUp(self, version), due)

    def _settle_limited(self, now: float) -> float:
        self._set_limited_rates()
        ends = [(share.due - share.clock) / share.rate for share in self.shares if share.rate > 0.0]
        return min([self._next_quota_change(now), *ends])

    def _set_limited_rates(self) -> None:
        runnable = [share for share in self.shares if not share.throttled]
        for share in self.shares:
            share.rate = 0.0
        if runnable:
            _fill(runnable, self.cores)

    def _next_quota_change(self, now: float) -> float:
        """Seconds until a quota runs out at the present rates, or a throttled share's next window begins."""
        soonest = inf
        for share in self.shares:
            if share.quota == inf:
                continue
            to_window = (share.window + 1) * WINDOW - now
            if share.throttled:
                soonest = min(soonest, to_window)
                continue
            speed = share.rate * share.active
            if speed <= 0.0:
                continue
            exhausted = share.left / speed
            if exhausted > to_window:
                exhausted = to_window + share.quota / speed
                if share.quota / speed >= WINDOW:
                    continue
            soonest = min(soonest, exhausted)
        return soonest

    def wake(self, version: int) -> None:
        if version != self._version:
            return
        now = self._kernel.now
        self._due = inf
        shares = self.shares
        if len(shares) == 1 and not self._limited:
            self._wake_alone(shares[0], now)
            return
        if now != self._last:
            self._advance(now)
        finished: list[Event] = []
        emptied = False
        for share in shares:
            requests, reached = share.requests, share.clock + _DONE
            while share.due <= reached:
                finished.append(requests.pop())
                share.active -= 1
                share.due = requests.first() if share.active else inf
            if not share.active:
                emptied = True
                share.clock = 0.0  # an idle share's clock starts afresh, so that it never grows imprecise
        self.total -= len(finished)
        if emptied:
            if len(shares) == 1:
                shares.clear()
                self._limited = False
            else:
                self.shares = [share for share in shares if share.active]
                self._limited = self._limited and any(share.quota < inf for share in self.shares)
        self._busy = True
        for event in finished:
            event.happen()
        self._busy = False
        self._settle(now)

    def _wake_alone(self, share: Share, now: float) -> None:
        """The same for a single active share without a limit."""
        progress = share.rate * (now - self._last)
        self._last = now
        share.clock = clock = share.clock + progress
        share.used += progress * share.active
        requests = share.requests
        reached = clock + _DONE
        if share.due > reached:  # somebody came after the wake-up was set
            self._settle_alone(share, now)
            return
        finished: list[Event] = []
        active = share.active
        while share.due <= reached:
            finished.append(requests.pop())
            active -= 1
            share.due = requests.first() if active else inf
        share.active = active
        self.total -= len(finished)
        if not active:
            share.clock = 0.0
            self.shares.clear()
        self._busy = True
        for event in finished:
            event.happen()
        self._busy = False
        self._settle(now)


def _window(now: float) -> int:
    return floor(now / WINDOW + 1e-6)


def _fill(shares: list[Share], cores: float) -> None:
    """Water-filling: rates in proportion to weight per request, none above one core, together at most `cores`."""
    free, weights = cores, 0.0
    for share in shares:
        weights += share.weight
    if cores <= 1.0 and len(shares) == 1:
        shares[0].rate = min(1.0, cores / shares[0].active)
        return
    pending = shares
    while pending:
        if weights <= 0.0 or free <= 0.0:
            for share in pending:
                share.rate = 0.0
            return
        level = free / weights
        capped = [share for share in pending if level * share.weight >= share.active]
        if not capped:
            for share in pending:
                share.rate = level * share.weight / share.active
            return
        for share in capped:
            share.rate = 1.0
            free -= share.active
            weights -= share.weight
        pending = [share for share in pending if share not in capped]
