# ruff: noqa: E501 - scenarios read better unwrapped
"""Response times taken apart: the parts are measured one by one, and together they are the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ecotone.experiments.campaign.comparison import known
from ecotone.experiments.campaign.runs import figures
from ecotone.sim.control.engine import Engine
from ecotone.sim.parts import NAMES, Spectrum
from ecotone.sim.recorder import Recorder
from ecotone.sim.scenario import load_scenario
from ecotone.sim.simulation import Simulation
from sim.firstfit import Mover
from sim.scenarios import looks_inside, run, scenario, simulation

NODES = """
  duration: 120s
  cluster:
    nodes: [{name: a, cpu: "1", memory: 4Gi}, {name: b, cpu: "1", memory: 4Gi}]
"""
CLUSTER = NODES + "    network: {default: {rtt: 10ms}}\n"
APP = """
  application:
    name: shop
    services:
      - name: web
        requests: {cpu: 100m}
        startup: 2s
        endpoints: [{name: get, cpu: {mean: 4ms, distribution: constant}, stages: [[{call: store.read, request: 1kB, response: 1kB}]]}]
      - name: store
        pinned: b
        endpoints: [{name: read, cpu: {mean: 3ms, distribution: constant}}]
"""


class Seen(list[dict[str, float]]):
    """Every answer as the recorder gets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        original = Recorder.answer

        def answer(recorder: Recorder, **values: Any) -> None:
            self.append(values)
            original(recorder, **values)

        monkeypatch.setattr(Recorder, "answer", answer)

    def check(self) -> None:
        """Every single response time is the sum of its parts, and no part is negative."""
        assert self
        for each in self:
            parts = [each[name] for name in NAMES]
            assert sum(parts) == pytest.approx(each["now"] - each["sent"], rel=1e-9, abs=1e-9)
            assert min(parts) > -2e-9


@looks_inside
@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("sock-shop-100ms", "sophos"),
        ("sock-shop-full-100ms", "ecotone"),
        ("dag-workflow", "sophos-dag"),
        ("messaging", "ecotone"),
        ("online-boutique", "kube-default"),
        ("hotel-reservation", "ecotone"),
    ],
)
def test_parts_add_up_for_every_request_of_the_scenarios_that_ship(
    name: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = load_scenario(name)
    seen = Seen(monkeypatch)
    outcome = Simulation(replace(whole, duration=min(whole.duration, 150.0)), Engine(policy), seed=3).run()
    seen.check()
    found = figures(whole, outcome, policy=policy, trial=0)
    # Six digits are written down of each.
    assert sum(known(found.breakdown_ms.values())) == pytest.approx(found.response_ms.mean, rel=1e-5)


@looks_inside
@pytest.mark.parametrize(
    "network",
    [
        "{default: {rtt: 10ms, jitter: 2ms, loss: 2%}}",
        "{default: {rtt: 10ms, bandwidth: 1Mbit}}",
        "{default: {rtt: 10ms}}",
    ],
)
def test_parts_add_up_over_lossy_links_through_changes_moves_and_throttling(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = "  events: [{at: 20s, link: [a, b], rtt: 300ms}, {at: 60s, link: [a, b], rtt: 30ms}, {at: 80s, node: a, state: down}, {at: 90s, node: a, state: up}]\n"
    load = "  load: [{at: 5s, for: 100s, entry: web.get, from: [a, b], arrivals: {poisson: 40}}]\n"
    app = APP.replace("requests: {cpu: 100m}", "requests: {cpu: 100m}\n        limits: {cpu: 300m}")
    seen = Seen(monkeypatch)
    outcome = run(NODES + f"    network: {network}\n" + app + load + events, orchestrator=Mover("web-1", "b", at=30))
    seen.check()
    parts = outcome.recorder.spectrum.whole
    assert parts.count == outcome.recorder.samples.count
    assert parts.total == pytest.approx(outcome.recorder.samples.total)
    assert parts.disruption > 0.0
    assert parts.waiting > 0.0


def test_constant_parts_by_hand() -> None:
    load = "  load: [{at: 5s, for: 100s, entry: web.get, from: [a], arrivals: {users: 1, every: 10s}}]\n"
    outcome = run(CLUSTER + APP + load)
    parts = outcome.recorder.spectrum.whole.means()
    assert parts == pytest.approx({"network": 0.010, "work": 0.007, "waiting": 0.0, "disruption": 0.0})


def test_two_at_once_wait_as_long_as_they_work() -> None:
    app = "  application: {name: shop, services: [{name: web, pinned: a, endpoints: [{name: get, cpu: {mean: 20ms, distribution: constant}}]}]}\n"
    load = "  load: [{at: 5s, for: 100s, entry: both.get, from: [a], arrivals: {users: 1, every: 10s}}]\n"
    both = "{name: both, pinned: a, endpoints: [{name: get, stages: [[{call: web.get}, {call: web.get}]]}]}, "
    parts = run(CLUSTER + app.replace("services: [", "services: [" + both) + load).recorder.spectrum.whole.means()
    assert parts == pytest.approx({"network": 0.0, "work": 0.020, "waiting": 0.020, "disruption": 0.0})


def test_the_first_call_to_and_from_a_moved_pod_sets_the_connection_up_again() -> None:
    load = "  load: [{at: 40s, for: 40s, entry: web.get, from: [b], arrivals: {users: 1, every: 10s}}]\n"
    built = simulation(CLUSTER + APP + load, orchestrator=Mover("web-1", "a", at=30))
    outcome = built.run()
    (pod,) = built.services[0].ready
    assert pod.node is not None
    assert (outcome.evictions, pod.node.name, outcome.recorder.samples.count) == (1, "a", 4)
    # One round trip from the entry node b to the new pod on a, one from it to the store on b; once, in four requests.
    parts = outcome.recorder.spectrum.whole.means()
    assert parts == pytest.approx({"network": 0.020, "work": 0.007, "waiting": 0.0, "disruption": 0.020 / 4})


def test_pods_that_a_trace_adds_have_their_connections() -> None:
    load = "  load: [{at: 40s, for: 40s, entry: web.get, from: [b], arrivals: {users: 1, every: 10s}}]\n"
    outcome = run(CLUSTER + APP + "    traces: {web: [[0s, 1], [30s, 3]]}\n" + load)
    assert outcome.recorder.spectrum.whole.disruption == 0.0


def test_a_failure_says_what_became_of_the_request() -> None:
    steady = "  load: [{at: 5s, for: 100s, entry: web.get, from: [b], arrivals: {users: 10, every: 1s}}]\n"
    at_once = "  control: {node-grace: 0s, toleration: 0s}\n"
    down = at_once + "  events: [{at: 30s, node: b, state: down}, {at: 40s, node: b, state: up}]\n"
    moved = run(CLUSTER + APP + steady, orchestrator=Mover("web-1", "b", at=30)).recorder
    assert {cause: count for cause, count in moved.causes.items() if count} == {"starting": 20}
    dead = run(CLUSTER + APP + steady + down).recorder
    # The users are on the node that fails; the pinned store waits for it.
    assert dead.causes["entry-down"] == 100
    assert sum(dead.causes.values()) == dead.failed
    far = run(CLUSTER + APP + steady.replace("from: [b]", "from: [a]") + down).recorder
    assert far.causes["unplaced"] == 100


def test_failures_count_as_a_minute_of_disruption_and_the_parts_still_add_up() -> None:
    body = (
        CLUSTER + APP + "  load: [{at: 5s, for: 100s, entry: web.get, from: [b], arrivals: {users: 10, every: 1s}}]\n"
    )
    outcome = run(body, orchestrator=Mover("web-1", "b", at=30))
    found = figures(scenario(body), outcome, policy="test", trial=0)
    assert (found.requests, found.failed, found.failures) == (1000, 20, {"starting": 20})
    assert found.response_ms.mean is not None
    expected = (980 * found.response_ms.mean + 20 * 60_000) / 1000
    assert sum(known(found.breakdown_with_failures_ms.values())) == pytest.approx(expected, rel=1e-5)
    assert (found.breakdown_with_failures_ms["disruption"] or 0.0) > 1200.0


def test_a_quantile_is_taken_apart_by_the_requests_that_lie_there() -> None:
    spectrum = Spectrum()
    for _ in range(90):
        spectrum.add(0.1, 0.02, 0.08, 0.0, 0.0)
    for _ in range(10):
        spectrum.add(0.5, 0.4, 0.05, 0.04, 0.01)
    fast, slow = spectrum.around(0.5), spectrum.around(0.95)
    assert fast is not None
    assert slow is not None
    assert fast.means() == pytest.approx({"network": 0.02, "work": 0.08, "waiting": 0.0, "disruption": 0.0})
    assert slow.means() == pytest.approx({"network": 0.4, "work": 0.05, "waiting": 0.04, "disruption": 0.01})
    assert Spectrum().around(0.95) is None
