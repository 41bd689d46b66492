"""A processor-sharing station, ours and in SimPy: the same arrivals, the same demands, the same results.

    python -m benchmarks.sim_station

The SimPy version is the usual one: a server process that is interrupted whenever a request comes and serves all present
requests at equal rates until the first of them is done; requests are processes that wait for their event, as requests here
are callbacks. Both see the same arrivals and demands; the mean response times must agree.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import simpy

from ecotone.sim.cpu import Station
from ecotone.sim.kernel import Kernel

REQUESTS = 60_000
LOAD = 0.7
SMALL = {"rounds": 1}


def draws(seed: int = 1) -> list[tuple[float, float]]:
    """(gap to the next arrival, demand) of each request."""
    source = random.Random(seed)
    return [(source.expovariate(LOAD), source.expovariate(1.0)) for _ in range(REQUESTS)]


def ours(work: list[tuple[float, float]]) -> tuple[float, int]:
    kernel = Kernel()
    station = Station(kernel, 1.0)
    share = station.share(weight=100)
    total = 0.0
    count = 0

    def done(arrived: float) -> None:
        nonlocal total, count
        total += kernel.now - arrived
        count += 1

    def arrive(number: int) -> None:
        gap, demand = work[number]
        station.add(share, demand, done, kernel.now)
        if number + 1 < len(work):
            kernel.after(gap, arrive, number + 1)

    kernel.at(0.0, arrive, 0)
    kernel.run(1e12)
    return total / count, count


class SimpyStation:
    """One core, shared equally. Whoever asks for service gets an event that happens when it is done."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._present: list[tuple[list[float], simpy.Event]] = []
        self._server = env.process(self._serve())

    def work(self, demand: float) -> simpy.Event:
        done = self._env.event()
        self._present.append(([demand], done))
        self._server.interrupt()
        return done

    def _serve(self) -> Iterator[Any]:
        env, present = self._env, self._present
        while True:
            if not present:
                try:
                    yield env.event()
                except simpy.Interrupt:
                    continue
            started, crowd, interrupted = env.now, len(present), False
            try:
                yield env.timeout(min(left[0] for left, _ in present) * crowd)
            except simpy.Interrupt:
                interrupted = True
            progress = (env.now - started) / crowd
            for left, _ in present[:crowd]:  # a newcomer has no part in what was done before it came
                left[0] -= progress
            if not interrupted:
                for job in [each for each in present if each[0][0] <= 1e-9]:
                    present.remove(job)
                    job[1].succeed()


def in_simpy(work: list[tuple[float, float]]) -> tuple[float, int]:
    env = simpy.Environment()
    station = SimpyStation(env)
    finished: list[float] = []

    def request(demand: float) -> Iterator[Any]:
        arrived = env.now
        yield station.work(demand)
        finished.append(env.now - arrived)

    def arrivals() -> Iterator[Any]:
        for gap, demand in work:
            env.process(request(demand))
            yield env.timeout(gap)

    env.process(arrivals())
    env.run(until=sum(gap for gap, _ in work) + 10_000)
    return sum(finished) / len(finished), len(finished)


def measure(rounds: int = 3) -> dict[str, float]:
    """CPU time, best of some rounds in turn: the machine may be busy with other things."""
    work = draws()
    fastest = {"ours": float("inf"), "simpy": float("inf")}
    means = {}
    for _ in range(rounds):
        for name, run in (("ours", ours), ("simpy", in_simpy)):
            start = time.process_time()
            means[name], count = run(work)
            fastest[name] = min(fastest[name], time.process_time() - start)
            assert count == REQUESTS
    assert abs(means["ours"] - means["simpy"]) < 1e-6 * means["ours"], means
    return {
        "requests": REQUESTS,
        "mean response": means["ours"],
        "ours, requests/s": REQUESTS / fastest["ours"],
        "SimPy, requests/s": REQUESTS / fastest["simpy"],
        "times faster": fastest["simpy"] / fastest["ours"],
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:20} {value:,.4g}")
