"""The laws of processor sharing, by closed forms and by hand."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.sim.cpu import Station
from ecotone.sim.kernel import Called, Kernel


class Clerk:
    """Notes when requests come and go."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.done: dict[object, float] = {}
        self.total = 0.0
        self.count = 0

    def finish(self, name: object) -> None:
        self.done[name] = self.kernel.now

    def leave(self, arrived: float) -> None:
        self.total += self.kernel.now - arrived
        self.count += 1


def queue(*, cores: float, load: float, constant: bool, requests: int, seed: int) -> tuple[float, float, float]:
    """Poisson arrivals with unit demands at one share: mean response, time-averaged number, throughput."""
    kernel = Kernel()
    station = Station(kernel, cores)
    share = station.share(weight=100)
    draws = random.Random(seed)
    clerk = Clerk(kernel)
    area, last = [0.0], [0.0]

    def note() -> None:
        area[0] += station.total * (kernel.now - last[0])
        last[0] = kernel.now

    def leave(arrived: float) -> None:
        area[0] += (station.total + 1) * (kernel.now - last[0])
        last[0] = kernel.now
        clerk.leave(arrived)

    def arrive(number: int) -> None:
        note()
        station.add(share, 1.0 if constant else draws.expovariate(1.0), leave, kernel.now)
        if number < requests:
            kernel.after(draws.expovariate(load * cores), arrive, number + 1)

    kernel.at(0.0, arrive, 1)
    kernel.run(math.inf)
    return clerk.total / clerk.count, area[0] / last[0], clerk.count / last[0]


@pytest.mark.parametrize("constant", [False, True], ids=["M/M/1-PS", "M/D/1-PS"])
@pytest.mark.parametrize("load", [0.3, 0.6])
def test_one_core_gives_the_processor_sharing_mean_whatever_the_distribution(load: float, constant: bool) -> None:
    means = [queue(cores=1, load=load, constant=constant, requests=20_000, seed=seed)[0] for seed in range(8)]
    expected = 1.0 / (1.0 - load)
    mean = sum(means) / len(means)
    error = math.sqrt(sum((each - mean) ** 2 for each in means) / (len(means) - 1) / len(means))
    assert abs(mean - expected) < 4 * error + 1e-12
    assert error < 0.03 * expected


@pytest.mark.parametrize("cores", [2, 4])
def test_several_cores_give_the_mean_of_m_m_c(cores: int) -> None:
    """One request uses at most one core, so exponential demands at c cores are M/M/c in numbers, hence in the mean."""
    load = 0.7
    offered = load * cores
    waiting = offered**cores / math.factorial(cores) / (1 - load)
    waiting /= sum(offered**k / math.factorial(k) for k in range(cores)) + waiting
    expected = 1.0 + waiting / (cores * (1 - load))
    means = [queue(cores=cores, load=load, constant=False, requests=20_000, seed=seed)[0] for seed in range(8)]
    mean = sum(means) / len(means)
    error = math.sqrt(sum((each - mean) ** 2 for each in means) / (len(means) - 1) / len(means))
    assert abs(mean - expected) < 4 * error
    assert error < 0.03 * expected


@settings(max_examples=20, deadline=None)
@given(
    cores=st.sampled_from([0.5, 1, 2, 3.5]), load=st.floats(0.1, 0.9), seed=st.integers(0, 1000), constant=st.booleans()
)
def test_littles_law_holds(cores: float, load: float, seed: int, constant: bool) -> None:
    response, number, throughput = queue(cores=cores, load=load, constant=constant, requests=300, seed=seed)
    assert number == pytest.approx(throughput * response, rel=1e-6)


def test_weights_share_a_core_and_the_freed_part_goes_to_the_other() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    station.add(station.share(weight=300), 0.3, clerk.finish, "heavy")
    station.add(station.share(weight=100), 0.3, clerk.finish, "light")
    kernel.run(10)
    # 3/4 and 1/4 of the core until 0.4 s; the light one then has 0.2 s left and the core alone.
    assert clerk.done == pytest.approx({"heavy": 0.4, "light": 0.6})


def test_a_pod_shares_its_weight_among_its_requests() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    crowded, alone = station.share(weight=100), station.share(weight=100)
    for name in ("a", "b"):
        station.add(crowded, 0.1, clerk.finish, name)
    station.add(alone, 0.1, clerk.finish, "c")
    kernel.run(10)
    # Half a core alone, a quarter each for the two: 0.2 s; then half a core each for what is left of them (0.05 s).
    assert clerk.done == pytest.approx({"c": 0.2, "a": 0.3, "b": 0.3})


def test_no_request_uses_more_than_one_core_and_what_it_leaves_is_shared() -> None:
    kernel = Kernel()
    station = Station(kernel, 2)
    clerk = Clerk(kernel)
    station.add(station.share(weight=1000), 1.0, clerk.finish, "heavy")
    light = station.share(weight=10)
    for name in ("x", "y"):
        station.add(light, 0.5, clerk.finish, name)
    kernel.run(10)
    # The heavy one is capped at one core; the second core is halved.
    assert clerk.done == pytest.approx({"heavy": 1.0, "x": 1.0, "y": 1.0})


def test_a_pod_without_request_has_the_least_weight() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    station.add(station.share(weight=98), 0.98, clerk.finish, "requested")
    station.add(station.share(weight=0), 0.02, clerk.finish, "none")
    kernel.run(10)
    assert clerk.done == pytest.approx({"requested": 1.0, "none": 1.0})


def test_a_quota_runs_out_and_comes_back_with_the_next_window() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    station.add(station.share(weight=100, limit=0.3), 0.075, clerk.finish, "one")
    kernel.run(10)
    # 30 ms in each of the windows 0 and 1, 15 ms in window 2.
    assert clerk.done["one"] == pytest.approx(0.215)


def test_a_quota_counts_the_requests_of_a_pod_together() -> None:
    kernel = Kernel()
    station = Station(kernel, 2)
    clerk = Clerk(kernel)
    share = station.share(weight=100, limit=0.5)
    for name in ("a", "b"):
        station.add(share, 0.030, clerk.finish, name)
    kernel.run(10)
    # Two cores at once: 50 ms of quota are gone after 25 ms, the last 5 ms each come in window 1.
    assert clerk.done == pytest.approx({"a": 0.105, "b": 0.105})


def test_a_request_that_comes_in_mid_window_has_what_is_left_of_the_window() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    share = station.share(weight=100, limit=0.2)
    kernel.at(0.09, lambda _: station.add(share, 0.025, clerk.finish, "late"))
    kernel.run(10)
    # 10 ms before the window ends, then 15 of the next window's 20.
    assert clerk.done["late"] == pytest.approx(0.115)


def test_while_one_pod_is_throttled_the_other_has_the_core() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    station.add(station.share(weight=100, limit=0.1), 0.02, clerk.finish, "limited")
    station.add(station.share(weight=100), 0.08, clerk.finish, "free")
    kernel.run(10)
    # Half each until the 10 ms quota is gone at 20 ms; the free one then runs alone and ends at 90 ms.
    assert clerk.done == pytest.approx({"free": 0.09, "limited": 0.11})


@settings(max_examples=60, deadline=None)
@given(
    cores=st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    jobs=st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 0.5), st.floats(0.001, 0.2)), min_size=1, max_size=25),
    limits=st.lists(st.sampled_from([None, 0.1, 0.5, 1.5]), min_size=4, max_size=4),
)
def test_every_request_gets_its_demand_and_no_capacity_is_exceeded(
    cores: float, jobs: list[tuple[int, float, float]], limits: list[float | None]
) -> None:
    kernel = Kernel()
    station = Station(kernel, cores)
    clerk = Clerk(kernel)
    shares = [station.share(weight=100 * (number + 1), limit=limit) for number, limit in enumerate(limits)]
    for number, (which, at, demand) in enumerate(jobs):
        kernel.at(at, lambda job: station.add(shares[job[1]], job[2], clerk.finish, job[0]), (number, which, demand))
    kernel.run(1000)
    station.catch_up()
    assert len(clerk.done) == len(jobs)
    assert station.total == 0
    for number, share in enumerate(shares):
        demand = sum(job[2] for job in jobs if job[0] == number)
        assert share.used == pytest.approx(demand, abs=1e-6)
    for number, (which, at, demand) in enumerate(jobs):
        assert clerk.done[number] >= at + demand / min(1.0, cores) - 1e-6
        limit = limits[which]
        if limit is not None:
            windows = (clerk.done[number] - at) / 0.1 + 2
            assert demand <= windows * limit * 0.1 + 1e-6
    assert max(clerk.done.values()) >= sum(job[2] for job in jobs) / cores - 1e-6


def test_a_dead_pod_gives_its_requests_back_and_its_core_to_others() -> None:
    kernel = Kernel()
    station = Station(kernel, 1)
    clerk = Clerk(kernel)
    doomed, other = station.share(weight=100), station.share(weight=100)
    request = Called(clerk.finish, "doomed")
    station.serve(doomed, 1.0, request)
    station.add(other, 0.2, clerk.finish, "other")
    lost: list[object] = []
    kernel.at(0.2, lambda _: lost.extend(station.drop(doomed)))
    kernel.run(10)
    assert lost == [request]
    assert clerk.done == pytest.approx({"other": 0.3})
