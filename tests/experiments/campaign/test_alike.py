"""Policies that decide alike share a run, and nobody can tell it from a run of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from ecotone.experiments.campaign import runs
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job, execute, execute_together
from ecotone.experiments.campaign.sweep import GROUPS_PER_WORKER, sweep
from ecotone.scheduling import POLICIES, Policy
from ecotone.sim.scenario import builtin_scenarios
from ecotone.sim.scenario.overrides import with_values
from ecotone.sim.simulation import Outcome, Simulation

SHOP = with_values(builtin_scenarios()["sock-shop-100ms"], {"load.*.arrivals.users": 2}, file="shop.yaml")
FOLLOWED = with_values(
    builtin_scenarios()["replicas-2-moving"], {"load.*.arrivals.poisson": 4}, file="followed.yaml"
)  # users who move: pods are moved after them, in stages


def jobs(scenario: str, *policies: Policy, trial: int = 0) -> list[Job]:
    return [Job(scenario, "scenario.yaml", policy, trial, 5) for policy in policies]


def as_bytes(found: list[Run]) -> list[bytes]:
    return [msgspec.json.encode(run) for run in found]


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The policies that led a simulation."""
    leaders: list[str] = []

    class Counted(Simulation):
        def run(self, progress: Callable[[float], None] | None = None) -> Outcome:
            leaders.append(self._orchestrator.name)
            return super().run(progress)

    monkeypatch.setattr(runs, "Simulation", Counted)
    return leaders


def test_what_is_shared_is_what_each_policy_gets_alone(simulated: list[str]) -> None:
    work = jobs(SHOP, "kube-default", "sophos", "sophos-normalized", "ecotone", "netmarks")
    together = execute_together(work)
    shared = len(simulated)
    assert as_bytes(together) == as_bytes([execute(job) for job in work])
    assert shared < len(work)  # sophos and ecotone place Sock Shop alike


def test_reasons_are_each_policys_own() -> None:
    sophos, ecotone = execute_together(jobs(SHOP, "sophos", "ecotone"))
    assert sophos.placement == ecotone.placement
    assert [each.why for each in sophos.binds] != [each.why for each in ecotone.binds]


def test_a_policy_under_another_name_shares_its_moves_too(simulated: list[str]) -> None:
    renamed = replace(POLICIES["ecotone"], name="mine")
    work = jobs(FOLLOWED, "ecotone", renamed)
    first, second = execute_together(work)
    assert simulated == ["ecotone"]
    assert first.evictions > 0
    assert as_bytes([second]) == as_bytes([msgspec.structs.replace(first, policy="mine")])
    assert as_bytes([first, second]) == as_bytes([execute(job) for job in work])


def test_whoever_moves_otherwise_has_a_run_of_its_own(simulated: list[str]) -> None:
    """The same first placement, and then one moves pods and the other leaves them."""
    still = replace(POLICIES["ecotone"], name="still", descheduler=None)
    work = jobs(FOLLOWED, "ecotone", still)
    moved, stayed = execute_together(work)
    assert simulated == ["ecotone", "still"]
    assert moved.evictions > 0 and stayed.evictions == 0
    assert as_bytes([moved, stayed]) == as_bytes([execute(job) for job in work])


def test_a_reservation_that_lasts_otherwise_is_another_decision(simulated: list[str]) -> None:
    settings = POLICIES["ecotone"].descheduler
    assert settings is not None
    brief = replace(POLICIES["ecotone"], name="brief", descheduler=replace(settings, reserve_for=1.0))
    execute_together(jobs(FOLLOWED, "ecotone", brief))
    assert simulated == ["ecotone", "brief"]


def test_a_sweep_with_work_for_everybody_shares_runs(simulated: list[str]) -> None:
    policies = ("sophos", replace(POLICIES["sophos"], name="mine"))
    work = [job for trial in range(GROUPS_PER_WORKER) for job in jobs(SHOP, *policies, trial=trial)]
    found = sweep(work, workers=1)
    assert len(simulated) == GROUPS_PER_WORKER
    assert [(run.policy, run.trial) for run in found] == [
        (name, trial) for trial in range(GROUPS_PER_WORKER) for name in ("sophos", "mine")
    ]
