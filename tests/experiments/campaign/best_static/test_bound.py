# ruff: noqa: E501 - scenarios read better unwrapped
"""The best static placement is really one, and nobody beats it."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.best_static.bound import NAME
from ecotone.experiments.campaign.runs import Job, execute
from experiments.campaign.two_phases import TEXT


def test_each_phase_has_its_own_best_placement() -> None:
    run = execute(Job(TEXT, "two.yaml", "kube-default", 0, 1, bound=True))
    assert run.policy == NAME
    assert (run.requests, run.failed) == (360, 0)
    near, far = run.intervals
    # Beside the users when nothing else matters; beside the database when it is asked twice.
    assert near.p95_ms == pytest.approx(2, rel=0.5)
    assert far.p95_ms == pytest.approx(30 + 2 + 2, rel=0.1)
    assert run.placement[0][1]["web"] == {"edge-1": 1}
    assert run.placement[1][1]["web"] == {"cloud-1": 1}


def test_no_policy_beats_it_in_any_phase() -> None:
    best = execute(Job(TEXT, "two.yaml", "kube-default", 0, 1, bound=True))
    for policy in ("kube-default", "sophos", "ecotone", "random"):
        run = execute(Job(TEXT, "two.yaml", policy, 0, 1))
        for ours, bound in zip(run.intervals, best.intervals, strict=True):
            assert ours.p95_ms is not None and bound.p95_ms is not None
            assert ours.p95_ms >= bound.p95_ms * (1 - 1e-9)


def test_the_bound_puts_nobody_where_a_taint_keeps_pods_away() -> None:
    """The users' own node would be best, and no policy may use it."""
    text = TEXT.replace("{name: edge-1,", "{name: edge-1, taints: [{key: kept-free, effect: NoSchedule}],", 1)
    assert text != TEXT
    run = execute(Job(text, "two.yaml", "kube-default", 0, 1, bound=True))
    assert all("edge-1" not in places for _, placed in run.placement for places in placed.values())


def test_the_bound_keeps_what_the_application_states_about_distances() -> None:
    """In the second phase the cloud would be best; web must be within 10 ms of its users."""
    text = TEXT.replace("- name: web\n", "- name: web\n        max-latency: 10ms\n")
    assert text != TEXT
    run = execute(Job(text, "two.yaml", "kube-default", 0, 1, bound=True))
    assert [placed["web"] for _, placed in run.placement] == [{"edge-1": 1}, {"edge-2": 1}]


@pytest.mark.parametrize(("share", "second"), [(1.0, {"edge-2": 1}), (0.0, {"cloud-1": 1})])
def test_the_bound_keeps_what_services_were_promised(share: float, second: dict[str, int]) -> None:
    """In the second phase the cloud would be best; a service that was promised the edge is not there."""
    text = TEXT.replace(
        "\n  load:\n", f"\n  qos: {{latency: {{edge: 50ms, cloud: 300ms}}, targets: {{web: {share}}}}}\n  load:\n"
    )
    assert text != TEXT
    run = execute(Job(text, "two.yaml", "kube-default", 0, 1, bound=True))
    assert [placed["web"] for _, placed in run.placement] == [{"edge-1": 1}, second]


CROWDED = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: crowded}
spec:
  duration: 195s
  warmup: 15s
  cluster:
    nodes:
      - {name: cloud-1, tier: cloud, cpu: "8", memory: 16Gi}
      - {name: edge-1, tier: edge, cpu: "2", memory: 4Gi}
    network: {default: {rtt: 30ms}}
  application:
    name: shop
    services:
      - {name: web, requests: {cpu: "1", memory: 64Mi}, startup: 5s, endpoints: [{name: ping, cpu: {mean: 2ms, distribution: constant}}]}
    autoscale:
      web: {requests: 5, min: 1, max: 10, scale-down-window: 5s}
  load:
    - {at: 15s, for: 180s, entry: web.ping, from: [edge-1], arrivals: {users: 20, every: 1s}}
"""


def test_pods_that_an_autoscaler_adds_stand_where_they_fit() -> None:
    """Four are needed and two fit beside the users: half of the requests go to the cloud, whoever places them."""
    best = execute(Job(CROWDED, "crowded.yaml", "kube-default", 0, 1, bound=True))
    assert best.placement[-1][1] == {"web": {"cloud-1": 2, "edge-1": 2}}
    assert best.response_ms.mean == pytest.approx(2 + 30 / 2, rel=0.02)


def test_the_bound_is_measured_over_the_same_time_as_a_run() -> None:
    """Settled is what lies two minutes behind the beginning of a phase, in windows of a quarter of a minute."""
    run, best = (execute(Job(CROWDED, "crowded.yaml", "kube-default", 0, 1, bound=bound)) for bound in (False, True))
    assert [at for at, _ in best.series] == [at for at, _ in run.series]
