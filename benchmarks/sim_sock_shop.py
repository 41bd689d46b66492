"""How much faster than real time Sock Shop runs: 100 users, monitoring and descheduling on, one core.

    python -m benchmarks.sim_sock_shop [--day [USERS]]

The API mix is the built-in scenario with 100 users; `POST /orders alone` sends every user through the longest chain there
is. `--day` simulates a whole day of USERS (10 unless told) in one run and prints the memory of the process on the way: what
is resident after 1, 3, 6, 12 and 24 simulated hours, garbage collected first, and the peak so far.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

from ecotone.sim.control.engine import Engine
from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.scenario.families.sock_shop import SockShop
from ecotone.sim.simulation import Simulation


def api_mix() -> Scenario:
    return read_scenario(SockShop(100, users=100).text(), file="sock-shop.yaml")


def orders_alone(seconds: float = 300.0) -> Scenario:
    scenario = read_scenario(SockShop(100, users=100, full_chains=True).text(), file="sock-shop-full.yaml")
    load = replace(scenario.load[0], service="front-end", endpoint="order", sources=("edge-1",), length=seconds)
    return replace(scenario, load=(load,), duration=30.0 + seconds)


def day(users: int, hours: float = 24.0) -> Scenario:
    scenario = api_mix()
    load = replace(scenario.load[0], users=users, length=3600 * hours, sources=("edge-1",))
    return replace(scenario, load=(load,), duration=30.0 + 3600 * hours)


def speed(scenario: Scenario, policy: str = "ecotone") -> tuple[float, int]:
    """Simulated seconds per second of CPU time, and the number of requests."""
    simulation = Simulation(scenario, Engine(policy), seed=1)
    start = time.process_time()
    outcome = simulation.run()
    return scenario.duration / (time.process_time() - start), outcome.recorder.sent


def resident_mib() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def through_a_day(users: int) -> None:
    simulation = Simulation(day(users), Engine("ecotone"), seed=1)
    start = time.process_time()
    for hour in (1, 3, 6, 12, 24):
        simulation.kernel.run(30.0 + 3600.0 * hour)
        sent = simulation.recorder.sent
        print(
            f"{f'{users} users, {hour} h':20} {sent:9} requests, {resident_mib():6.1f} MiB resident, peak {peak_mib():6.1f} MiB"
        )
    outcome = simulation.run()
    times = simulation.scenario.duration / (time.process_time() - start)
    p95 = outcome.recorder.samples.quantile(0.95) or 0.0
    print(f"{'':20} {times:8.0f} times real time, p95 {1000 * p95:.1f} ms, {outcome.recorder.failed} failed")


def main() -> None:
    if "--day" in sys.argv:
        rest = sys.argv[sys.argv.index("--day") + 1 :]
        through_a_day(int(rest[0]) if rest else 10)
        return
    for name, scenario in (("API mix", api_mix()), ("POST /orders alone", orders_alone())):
        times, requests = speed(scenario)
        print(f"{name:20} {times:8.0f} times real time ({requests} requests)")


if __name__ == "__main__":
    main()
