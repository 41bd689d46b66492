"""A run is a value: the same bytes wherever and whenever it is done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from ecotone.experiments.campaign import sweep as sweep_module
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job, execute, execute_together
from ecotone.experiments.campaign.sweep import sweep
from ecotone.model.errors import OutsideError
from ecotone.scheduling import POLICIES

SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 90s
  warmup: 10s
  cluster:
    nodes: [{name: a, tier: cloud, cpu: "2", memory: 4Gi}, {name: b, tier: edge, cpu: "1", memory: 4Gi}]
    network: {links: [{between: [a, b], rtt: 20ms, jitter: 1ms, loss: 0.5%}]}
  application:
    name: shop
    services:
      - name: web
        index: 0
        replicas: 2
        requests: {cpu: 100m, memory: 64Mi}
        startup: 1s
        endpoints: [{name: get, cpu: 3ms, stages: [[{call: db.query, request: 1kB, response: 2kB, probability: 0.8}]]}]
      - {name: db, index: 1, requests: {cpu: 100m, memory: 64Mi}, endpoints: [{name: query, cpu: 2ms}]}
  load: [{at: 0s, for: 90s, entry: web.get, from: all, request: 1kB, response: 1kB, arrivals: {users: 8, every: 1s}}]
"""


def jobs(*policies: str, trials: int = 2) -> list[Job]:
    return [Job(SCENARIO, "small.yaml", policy, trial, 7) for policy in policies for trial in range(trials)]


def as_bytes(runs: list[Run]) -> bytes:
    return msgspec.json.encode(runs)


def test_the_number_of_processes_changes_no_byte() -> None:
    work = jobs("kube-default", "sophos", "ecotone", "random")
    alone = sweep(work, workers=1)
    assert as_bytes(sweep(work, workers=3)) == as_bytes(alone)
    assert [(run.policy, run.trial) for run in alone] == [(job.policy, job.trial) for job in work]


@pytest.mark.lasting
def test_the_order_of_sets_changes_no_byte(tmp_path: Path) -> None:
    """Forked workers share one hash seed; here every process has its own."""
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    command = [sys.executable, "-m", "ecotone", "simulate", str(path), "-p", "sophos", "-p", "ecotone", "-o", "json"]
    texts = {
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_repeating_a_run_in_one_process_changes_no_byte() -> None:
    (job,) = jobs("ecotone", trials=1)
    assert as_bytes([execute(job)]) == as_bytes([execute(job)])


def test_another_seed_and_another_trial_are_other_runs() -> None:
    first, second = sweep(jobs("kube-default"), workers=1)
    assert first.response_ms != second.response_ms
    other = execute(Job(SCENARIO, "small.yaml", "kube-default", 0, 8))
    assert other.response_ms != first.response_ms


def test_policies_meet_the_same_users() -> None:
    """Common random numbers: with the same placement two policies give the same figures to the last digit."""
    runs = sweep(jobs("cloud-first", "first-fit", trials=1), workers=1)
    assert runs[0].placement == runs[1].placement
    assert runs[0].response_ms == runs[1].response_ms


def test_an_interrupted_sweep_takes_up_the_runs_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = jobs("kube-default", "ecotone")
    done: list[Job] = []

    def stops_after_two(jobs: Sequence[Job], _: object) -> list[Run]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.extend(jobs)
        return execute_together(jobs)

    monkeypatch.setattr(sweep_module, "execute_together", stops_after_two)
    with pytest.raises(KeyboardInterrupt):
        sweep(work, workers=1, folder=tmp_path)
    again: list[Job] = []

    def counts(jobs: Sequence[Job], inside: Callable[[float], None]) -> list[Run]:
        again.extend(jobs)
        return execute_together(jobs, inside)

    monkeypatch.setattr(sweep_module, "execute_together", counts)
    progress: list[tuple[float, int]] = []
    found = sweep(work, workers=1, folder=tmp_path, progress=lambda *state: progress.append(state))
    assert again == work[2:]
    assert [state for state in progress if state[0] == int(state[0])][-1] == (4, 4)
    assert progress[0] == (2, 4) and progress == sorted(progress)
    assert any(2 < done < 3 for done, _ in progress)  # a run tells how far it is
    assert as_bytes(found) == as_bytes(sweep(work, workers=1))


def test_a_run_of_another_scenario_is_not_taken_for_this_one(tmp_path: Path) -> None:
    sweep(jobs("first-fit", trials=1), workers=1, folder=tmp_path)
    other = Job(SCENARIO.replace("users: 8", "users: 9"), "small.yaml", "first-fit", 0, 7)
    (run,) = sweep([other], workers=1, folder=tmp_path)
    assert run.requests == 9 * 80


def test_a_run_of_another_profile_is_not_taken_for_this_one_whatever_its_name(tmp_path: Path) -> None:
    first, second = POLICIES["first-fit"], POLICIES["smallest-edge-first"]
    one, other = (Job(SCENARIO, "small.yaml", replace(each, name="mine"), 0, 7) for each in (first, second))
    (before,) = sweep([one], workers=1, folder=tmp_path)
    (after,) = sweep([other], workers=1, folder=tmp_path)
    assert before.policy == after.policy == "mine"
    assert before.placement != after.placement


@pytest.mark.parametrize("content", ['{"policy": "first', "[]", "null", "{}", '{"policy": 1}', "\xff"])
def test_a_file_that_is_no_whole_record_is_no_run(content: str, tmp_path: Path) -> None:
    (job,) = jobs("first-fit", trials=1)
    (tmp_path / f"{job.key}.json").write_bytes(content.encode("latin-1"))
    (run,) = sweep([job], workers=1, folder=tmp_path)
    assert run == execute(job)


@pytest.mark.lasting
def test_a_dask_cluster_gives_the_same_bytes() -> None:
    distributed = pytest.importorskip("distributed")
    work = jobs("kube-default", "ecotone")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        found = sweep(work, dask=cluster.scheduler_address)
    assert as_bytes(found) == as_bytes(sweep(work, workers=1))


def test_a_dask_scheduler_that_is_not_there_is_the_outside_worlds_fault() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(OutsideError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        sweep(jobs("first-fit", trials=1), dask="tcp://127.0.0.1:1")


def test_workers_tell_how_far_their_runs_are() -> None:
    told: list[tuple[float, int]] = []
    sweep(jobs("kube-default", "ecotone"), workers=2, progress=lambda *state: told.append(state))
    assert told[-1] == (4, 4)
    assert all(0.0 <= done <= 4.5 for done, _ in told)
