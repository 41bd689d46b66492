"""Short ways to write scenarios in tests."""

from __future__ import annotations

from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.simulation import Outcome, Simulation
from sim.firstfit import FirstFit

HEAD = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: test}
spec:
"""


def scenario(body: str) -> Scenario:
    return read_scenario(HEAD + body, file="test.yaml")


def run(body: str, *, seed: int = 1, orchestrator: object | None = None) -> Outcome:
    return simulation(body, seed=seed, orchestrator=orchestrator).run()


def simulation(body: str, *, seed: int = 1, orchestrator: object | None = None) -> Simulation:
    return Simulation(scenario(body), orchestrator or FirstFit(), seed=seed)  # type: ignore[arg-type]
