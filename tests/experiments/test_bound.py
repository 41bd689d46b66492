"""The best static placement is really one, and nobody beats it."""

from __future__ import annotations

import pytest

from ecotone.experiments.bound import NAME
from ecotone.experiments.runs import Job, execute

TEXT = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: two-stretches}
spec:
  duration: 150s
  warmup: 30s
  cluster:
    nodes:
      - {name: cloud-1, tier: cloud, cpu: "4", memory: 16Gi}
      - {name: edge-1, tier: edge, cpu: "1", memory: 4Gi}
      - {name: edge-2, tier: edge, cpu: "1", memory: 4Gi}
    network: {default: {rtt: 30ms}}
  application:
    name: shop
    services:
      - name: web
        index: 0
        requests: {cpu: 100m, memory: 64Mi}
        endpoints:
          - {name: near, cpu: {mean: 2ms, distribution: constant}}
          - {name: far, cpu: {mean: 2ms, distribution: constant}, stages: [[{call: db.query, count: 2, request: 1kB, response: 1kB}]]}
      - {name: db, index: 1, external: true, pinned: cloud-1, endpoints: [{name: query, cpu: {mean: 1ms, distribution: constant}}]}
  load:
    - {at: 30s, for: 60s, entry: web.near, from: [edge-1], request: 1kB, response: 1kB, arrivals: {users: 3, every: 1s}}
    - {at: 90s, for: 60s, entry: web.far, from: [edge-2], request: 1kB, response: 1kB, arrivals: {users: 3, every: 1s}}
"""  # noqa: E501


def test_each_stretch_has_its_own_best_placement() -> None:
    run = execute(Job(TEXT, "two.yaml", "kube-default", 0, 1, NAME))
    assert run["policy"] == NAME
    assert (run["requests"], run["failed"]) == (360, 0)
    near, far = run["intervals"]
    # Beside the users when nothing else matters; beside the database when it is asked twice.
    assert near["p95_ms"] == pytest.approx(2, rel=0.5)
    assert far["p95_ms"] == pytest.approx(30 + 2 + 2, rel=0.1)
    assert run["placement"][0][1]["web"] == {"edge-1": 1}
    assert run["placement"][1][1]["web"] == {"cloud-1": 1}


def test_no_policy_beats_it_in_any_stretch() -> None:
    best = execute(Job(TEXT, "two.yaml", "kube-default", 0, 1, NAME))
    for policy in ("kube-default", "sophos", "ecotone", "random"):
        run = execute(Job(TEXT, "two.yaml", policy, 0, 1))
        for ours, bound in zip(run["intervals"], best["intervals"], strict=True):
            assert ours["p95_ms"] >= bound["p95_ms"] * (1 - 1e-9)
