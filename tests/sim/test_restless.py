"""A policy that never comes to rest ends the run with an error that names it; one that has much to do does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import runner
from ecotone.model import Decisions, Evict, Preempt, Snapshot
from ecotone.model.errors import RestlessError
from ecotone.sim.control.engine import Engine
from ecotone.sim.control.instant import AT_LEAST, PER_POD
from sim.firstfit import FirstFit
from sim.scenarios import HEAD, run

TWO_NODES = """
  duration: 60s
  cluster:
    nodes:
      - {name: a, cpu: "400", memory: 1600Gi, pods: 4000}
      - {name: b, cpu: "4", memory: 16Gi}
    network: {default: {rtt: 1ms}}
  application:
    name: test
    services:
      - {name: s, replicas: %d, requests: {cpu: 10m, memory: 1Mi}, endpoints: [{name: get, cpu: 1ms}]}
  load:
    - {at: 0s, for: 60s, entry: s.get, from: [a], request: 1kB, response: 1kB, arrivals: {users: 1, every: 10s}}
"""


class Wanderer(FirstFit):
    """Sends a pod away as soon as it has come, and says that it has a plan."""

    name = "wanderer"
    rounds = 0

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        self.rounds += 1
        pods = sorted((pod for pod in snapshot.usage.pods() if not pod.deleting), key=lambda pod: pod.key)
        moves = tuple(Evict(pod.key, pod.node or "", "b", 1.0, "ms", "test", uid=pod.uid) for pod in pods)
        return Decisions(moves, {"plans": [{"for ever": True}]})


class Preempter(FirstFit):
    """Places one pod at a time, and takes the place of another for it."""

    name = "preempter"

    def schedule(self, snapshot: Snapshot) -> Decisions:
        binds = super().schedule(snapshot).decisions[:1]
        running = tuple(pod.key for pod in snapshot.usage.pods() if not pod.deleting)
        return Decisions((*binds, Preempt(binds[0].pod, "a", running, "test")) if running else binds)


def test_a_pod_that_is_sent_away_for_ever_ends_the_run() -> None:
    policy = Wanderer()
    with pytest.raises(RestlessError) as caught:
        run(TWO_NODES % 1, orchestrator=policy)
    told = str(caught.value)
    assert f"policy wanderer never comes to rest: more than {AT_LEAST + PER_POD} decisions at t = 30 s" in told
    assert "x bind" in told and "x evict" in told and "evict s-" in told and "from a for b" in told
    assert policy.rounds < AT_LEAST


def test_preemption_for_ever_ends_the_run() -> None:
    with pytest.raises(RestlessError, match=r"policy preempter never comes to rest: .* preempt s-\d+ for s-\d+ on a"):
        run(TWO_NODES % 2, orchestrator=Preempter())


def test_thousands_of_pods_that_come_at_once_are_no_reason_to_end_it() -> None:
    outcome = run(TWO_NODES % 3000, orchestrator=FirstFit())
    assert len(outcome.binds) == 3000


def test_the_command_line_says_so_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "deschedule", Wanderer().deschedule)
    file = tmp_path / "restless.yaml"
    file.write_text(HEAD + TWO_NODES % 1)
    result = runner(capfd)("simulate", str(file), "-p", "first-fit", "--workers", "1")
    assert (result.code, result.out) == (4, "")
    (line,) = [line for line in result.err.splitlines() if "never comes to rest" in line]
    assert line.startswith("policy first-fit never comes to rest: more than 1010 decisions at t = 30 s")
    assert "Traceback" not in result.err
