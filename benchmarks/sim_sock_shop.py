"""How much faster than real time Sock Shop runs: 100 users, monitoring and descheduling on, one core.

    python -m benchmarks.sim_sock_shop [--day]

The API mix is the built-in scenario with 100 users; `POST /orders alone` sends every user through the longest chain there
is. `--day` simulates a whole day and shows that memory stays flat.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

from ecotone.sim.engine import Engine
from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.scenario.sock_shop import SockShop
from ecotone.sim.simulation import Simulation


def api_mix() -> Scenario:
    return read_scenario(SockShop(100, users=100).text(), file="sock-shop.yaml")


def orders_alone(seconds: float = 300.0) -> Scenario:
    scenario = read_scenario(SockShop(100, users=100, full_chains=True).text(), file="sock-shop-full.yaml")
    load = replace(scenario.load[0], service="front-end", endpoint="order", sources=("edge-1",), length=seconds)
    return replace(scenario, load=(load,), duration=30.0 + seconds)


def day(hours: float = 24.0) -> Scenario:
    scenario = api_mix()
    load = replace(scenario.load[0], users=100, length=3600 * hours, sources=("edge-1",))
    return replace(scenario, load=(load,), duration=30.0 + 3600 * hours)


def speed(scenario: Scenario, policy: str = "ecotone") -> tuple[float, int]:
    """Simulated seconds per second of CPU time, and the number of requests."""
    simulation = Simulation(scenario, Engine(policy), seed=1)
    start = time.process_time()
    outcome = simulation.run()
    return scenario.duration / (time.process_time() - start), outcome.recorder.sent


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    for name, scenario in (("API mix", api_mix()), ("POST /orders alone", orders_alone())):
        times, requests = speed(scenario)
        print(f"{name:20} {times:8.0f} times real time ({requests} requests)")
    if "--day" in sys.argv:
        speed(day(1.0))
        before = peak_mib()
        times, requests = speed(day())
        print(
            f"{'a day':20} {times:8.0f} times real time ({requests} requests), peak memory {before:.0f} MiB after an hour, "
        )
        print(f"{'':20} {peak_mib():.0f} MiB after the day")


if __name__ == "__main__":
    main()
