"""Short ways to write scenarios in tests."""

from __future__ import annotations

import pytest

from ecotone.sim import COMPILED
from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.simulation import Outcome, Simulation
from sim.firstfit import FirstFit

HEAD = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: test}
spec:
"""

# For tests that stand between the parts, which binaries do not allow. What holds for the sources holds for them:
# test_hot_path compares the two to the byte.
looks_inside = pytest.mark.skipif(COMPILED is not None, reason="looks inside: run it with ECOTONE_PURE_PYTHON=1")


def scenario(body: str) -> Scenario:
    return read_scenario(HEAD + body, file="test.yaml")


def run(body: str, *, seed: int = 1, orchestrator: object | None = None) -> Outcome:
    return simulation(body, seed=seed, orchestrator=orchestrator).run()


def simulation(body: str, *, seed: int = 1, orchestrator: object | None = None) -> Simulation:
    return Simulation(scenario(body), orchestrator or FirstFit(), seed=seed)  # type: ignore[arg-type]
