"""J: milliseconds a user's request spends on the network and waiting for CPU, for many placements at once.

    K_w(m, n)  the share of calls made at m that pods of w on n take: x[w, n] / R_w, or near first where the Service says so
    a_w(n)     the share of w's work that is done on n; callers come first, and circles are gone round three times
    Net = sum over calls of rate x a_caller(m) K(m, n) rtt(m, n);   B_n = other use + sum over w of use_w a_w(n)
    J = (Net + sum over n of (B_n - idle_n) wait(B_n / cores_n) - other use x its wait if nobody else were there)
        / requests that users send

idle_n is the work on n that nobody waits for: of workloads that nobody calls, what their sidecars do by themselves, and of
those that messages alone reach. Others wait for it, nobody waits with it; of what messages ask for as little counts as of the
messages, so that it is done sooner where that costs nobody anything. What others wait for each other is left out: J is what a
request of the application's users costs, and that is what a plan's gain is compared with.

J is a mean. Between placements that are alike to it decides what the slowest requests take: those from the farthest site
(`uneven`) and those that find long queues (`unsteady`).

A missed deadline of a channel adds its price, the mean over the channel's calls, however many there are.

Parallel calls add up, an upper bound as long as nobody tells which calls run side by side. A placement is x[w, n], counts
of the pods that serve; the functions here take any number of them as one array [c, w, n], since a search asks about
hundreds that differ in one line.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.scheduling.costs.cost import waiting
from ecotone.scheduling.response.call_graph import SAME_NODE, UNIFORM, CallGraph

_SWEEPS = 3
_SITE = 0.05  # of a workload's users: fewer are no site of their own
MANY = 24  # workloads: from here on calls are summed up all at once, where replicas are chosen evenly
_TWENTIETH = float(np.log(20.0)) - 1.0  # times the mean of an exponential wait: its 95th percentile beyond the mean
_AT_ONCE = 1_000_000  # figures of placements that are judged together: ten arrays of them are 80 MB
_IDLE = 1e-9  # the formula of waiting wants some utilisation


def others_wait(application: CallGraph) -> Floats:
    """How long everybody else would wait on each node, in times of their work, if the application were not there."""
    alone = np.maximum(application.other / (1000 * application.cores), _IDLE)
    return waiting(alone, application.cores)[0]


def _by_parts(judge: Callable[[Floats], Floats], counts: Floats) -> Floats:
    """What is told of each placement alone, without figures in between for all of them at a time."""
    size = max(1, _AT_ONCE // max(1, counts[0].size if len(counts) else 1))
    if len(counts) <= size:
        return judge(counts)
    return np.concatenate([judge(counts[at : at + size]) for at in range(0, len(counts), size)])


class Prediction:
    """J of one application's placements."""

    def __init__(self, application: CallGraph) -> None:
        self.application = application
        size = len(application.names)
        self.callers: list[list[tuple[int, float]]] = [[] for _ in range(size)]
        for call in application.calls:
            self.callers[call.callee].append((call.caller, call.rate))
        self.incoming = application.incoming
        self.entered = np.flatnonzero(application.users.any(axis=1)).tolist()
        awaited = application.awaited
        self._called = np.flatnonzero(awaited)
        self._quiet = np.flatnonzero(~awaited)
        self._following = np.flatnonzero(~awaited & (self.incoming > 0.0))
        zones = application.zones
        self._same_zone = ((zones[:, np.newaxis] == zones) & (zones >= 0)).astype(np.float64)
        self.late: list[list[tuple[int, Floats]]] = [[] for _ in range(size)]
        for each in application.deadlines:
            self.late[each.callee].append((each.caller, each.price))
        self._callees: list[set[int]] = [set() for _ in range(size)]
        for caller, callee in application.channels:
            self._callees[caller].add(callee)
        self._slow, _ = waiting(np.full(len(application.cores), _IDLE), application.cores)
        self.rates: Floats | None = None  # [callee, caller], where calls are summed up all at once
        if len(application.order) >= MANY and not any(application.balance) and not application.deadlines:
            self.rates = np.zeros((size, size))
            for call in application.calls:
                self.rates[call.callee, call.caller] += call.rate
        # Of all work, of what counts in J, and of what users wait for.
        counted = np.where(awaited, 1.0, np.where(self.incoming > 0.0, application.unawaited, 0.0))
        self.uses: Floats = np.stack([application.use, application.use * counted, application.use * awaited])
        self._reached: dict[int, list[int]] = {}
        # What everybody else waits for each other, wherever we are.
        self._others = float((application.other * others_wait(application)).sum())

    def cost(self, counts: Floats) -> Floats:
        """J in ms per user request for each placement; infinite where a workload has no pod left."""
        return _by_parts(self._cost, counts)

    def _cost(self, counts: Floats) -> Floats:
        arrivals, network = self._arrivals(counts)
        busy = self._busy(arrivals)
        asked = busy - self._work(arrivals, self._quiet)
        if self._following.size:
            asked = asked + self.application.unawaited * self._work(arrivals, self._following)
        found = self.per_request(network, busy, asked)
        found[(counts.sum(axis=2) < 1).any(axis=1)] = np.inf
        return found

    def network(self, counts: Floats) -> Floats:
        """The part of J that calls spend on the network."""
        return _by_parts(lambda part: self._arrivals(part)[1] / self.application.rate, counts)

    def reached(self, workload: int) -> list[int]:
        """Whose calls or work may change with where a workload is: itself, and callees as far as they follow callers."""
        if workload not in self._reached:
            near = self.application.balance
            found, ahead = {workload}, [workload]
            while ahead:
                caller = ahead.pop()
                for callee in self._callees[caller] - found:
                    found.add(callee)
                    if near[callee] != UNIFORM:
                        ahead.append(callee)
            self._reached[workload] = [
                workload,
                *(each for each in self.application.order if each in found - {workload}),
            ]
        return self._reached[workload]

    def uneven(self, counts: Floats) -> Floats:
        """How many ms longer than all users together those at the farthest site wait for their first hop."""
        found = np.zeros(len(counts))
        for workload in self.entered:
            found += self.uneven_at(workload, counts[:, workload])
        return found

    def uneven_at(self, workload: int, rows: Floats) -> Floats:
        """The same of the users of one workload, whose pods stand as `rows[c, n]` says."""
        application = self.application
        users = application.users[workload]
        sites = np.flatnonzero(users >= _SITE * users.sum())
        if len(sites) < 2:
            return np.zeros(len(rows))
        share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
        sent = np.zeros_like(share)
        took = []
        for site in sites.tolist():
            sent[:], sent[:, site] = 0.0, 1.0
            took.append(self.take(workload, sent, rows, share, application.rtt)[1])
        times = np.stack(took)
        mean = users[sites] @ times / users[sites].sum()
        found: Floats = (times.max(axis=0) - mean) * users.sum() / application.rate
        return found

    def unsteady(self, counts: Floats) -> Floats:
        """How many ms longer than the mean the slowest twentieth of requests waits for CPU, by the queues alone.

        A wait is as good as exponential: its 95th percentile is three times its mean. What a request does on one node finds
        the same queue there, and queues of different nodes have nothing to do with each other.
        """
        arrivals = self._arrivals(counts)[0]
        return self.unsteady_with(self._busy(arrivals), self._work(arrivals, self._called))

    def unsteady_with(self, busy: Floats, awaited: Floats) -> Floats:
        """The same from millicores in use on each node, and those of them that requests wait for."""
        application = self.application
        cores = application.cores
        wait = waiting(np.maximum(busy / (1000 * cores), _IDLE), cores)[0]
        waits = awaited * (wait - self._slow) / application.rate
        found: Floats = _TWENTIETH * np.sqrt((waits**2).sum(axis=1))
        return found

    def busy(self, counts: Floats) -> Floats:
        """Utilisation of each node's CPU under each placement."""
        capacity = 1000 * self.application.cores
        return _by_parts(lambda part: self._busy(self._arrivals(part)[0]) / capacity, counts)

    def arrivals(self, counts: Floats) -> Floats:
        """a[c, w, n]: where the work of each workload is done."""
        return self._arrivals(counts)[0]

    def per_request(self, network: Floats, busy: Floats, asked: Floats) -> Floats:
        """`asked`: what of the work on each node somebody waits for."""
        application = self.application
        cores = application.cores
        wait, _ = waiting(np.maximum(busy / (1000 * cores), _IDLE), cores)
        found: Floats = (network + (asked * wait).sum(axis=1) - self._others) / application.rate
        return found

    def _busy(self, arrivals: Floats) -> Floats:
        """Millicores in use on each node."""
        found: Floats = self.application.other + self._work(arrivals, slice(None))
        return found

    def _work(self, arrivals: Floats, which: Rows | slice) -> Floats:
        """Millicores that these workloads use on each node."""
        found: Floats = np.tensordot(arrivals[:, which], self.application.use[which], axes=([1], [0]))
        return found

    def _arrivals(self, counts: Floats) -> tuple[Floats, Floats]:
        application = self.application
        share = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
        if self.rates is not None:
            sent = application.users + self.rates @ share
            at_once: Floats = ((sent @ application.rtt) * share).sum(axis=(1, 2))
            return share, at_once
        arrivals = share.copy()
        network = np.zeros(len(counts))
        near = any(application.balance)
        sweeps = _SWEEPS if application.cyclic and near else 1
        for sweep in range(sweeps):
            for workload in application.order:
                if self.incoming[workload] <= 0.0:
                    continue
                sent = np.broadcast_to(application.users[workload], share[:, workload].shape).copy()
                for caller, rate in self.callers[workload]:
                    sent += rate * arrivals[:, caller]
                place = (counts[:, workload], share[:, workload])
                landed, took = self.take(workload, sent, *place, application.rtt)
                if application.balance[workload] != UNIFORM:
                    arrivals[:, workload] = landed / self.incoming[workload]
                if sweep == sweeps - 1:
                    network += took
                    for caller, price in self.late[workload]:
                        # Per request of a user, as everything is in the end.
                        network += self.take(workload, application.rate * arrivals[:, caller], *place, price)[1]
        return arrivals, network

    def take(self, workload: int, sent: Floats, counts: Floats, share: Floats, rtt: Floats) -> tuple[Floats, Floats]:
        """Where requests sent at each node are served, and the milliseconds per second they travel."""
        balance = self.application.balance[workload]
        if balance == UNIFORM:
            return sent, ((sent @ rtt) * share).sum(axis=1)
        landed = np.zeros_like(sent)
        if balance == SAME_NODE:
            here = counts > 0
            landed = np.where(here, sent, 0.0)
            sent = np.where(here, 0.0, sent)
        in_zone = counts @ self._same_zone
        scale = np.divide(1.0, in_zone, out=np.zeros_like(in_zone), where=in_zone > 0)
        within = np.where(in_zone > 0, sent, 0.0)
        landed = landed + counts * scale * (within @ self._same_zone)
        took = ((within @ (rtt * self._same_zone)) * counts * scale).sum(axis=1)
        rest = sent - within
        landed = landed + share * rest.sum(axis=1, keepdims=True)
        took = took + ((rest @ rtt) * share).sum(axis=1)
        return landed, took
