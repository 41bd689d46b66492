"""Sock Shop as published: its queueing model's utilisations, and the totals of its longest chain."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import pytest

from ecotone.sim.call_tree import Planner
from ecotone.sim.control.engine import Engine
from ecotone.sim.scenario import read_scenario
from ecotone.sim.scenario.families.sock_shop import SockShop
from ecotone.sim.simulation import Simulation
from sim.firstfit import FirstFit
from sim.scenarios import simulation

# The published model: 1000 users who think for 7 s, 33 % home, 17 % catalogue, 50 % cart pages; processors of one core.
MODEL = """
  duration: 190s
  warmup: 10s
  cluster:
    nodes:
      - {name: router-a, cpu: "1", memory: 4Gi}
      - {name: router-b, cpu: "1", memory: 4Gi}
      - {name: front-end, cpu: "1", memory: 4Gi}
      - {name: carts, cpu: "1", memory: 4Gi}
      - {name: carts-db, cpu: "1", memory: 4Gi}
      - {name: catalogue, cpu: "1", memory: 4Gi}
      - {name: catalogue-db, cpu: "1", memory: 4Gi}
  application:
    name: sock-shop
    services:
      - name: router
        replicas: 2
        requests: {cpu: 900m}
        endpoints:
          - {name: home, cpu: 2.2216ms, stages: [[{call: front-end.home}]]}
          - {name: catalogue-1, cpu: 2.2216ms, stages: [[{call: front-end.catalogue-1}]]}
          - {name: catalogue-2, cpu: 2.2216ms, stages: [[{call: front-end.catalogue-2}]]}
          - {name: cart-1, cpu: 2.2216ms, stages: [[{call: front-end.cart-1}]]}
          - {name: cart-2, cpu: 2.2216ms, stages: [[{call: front-end.cart-2}]]}
          - {name: cart-3, cpu: 2.2216ms, stages: [[{call: front-end.cart-3}]]}
      - name: front-end
        pinned: front-end
        endpoints:
          - {name: home, cpu: 2.1319ms}
          - {name: catalogue-1, cpu: 3.7561ms, stages: [[{call: catalogue.list}]]}
          - {name: catalogue-2, cpu: 3.7561ms, stages: [[{call: catalogue.item}]]}
          - {name: cart-1, cpu: 5.1774ms, stages: [[{call: carts.get}]]}
          - {name: cart-2, cpu: 5.1774ms, stages: [[{call: carts.add}]]}
          - {name: cart-3, cpu: 5.1774ms, stages: [[{call: carts.delete}]]}
      - name: catalogue
        pinned: catalogue
        endpoints:
          - {name: list, cpu: 3.4925ms, stages: [[{call: catalogue-db.query}]]}
          - {name: item, cpu: 3.0162ms, stages: [[{call: catalogue-db.query}]]}
      - name: carts
        pinned: carts
        endpoints:
          - {name: get, cpu: 2.9469ms, stages: [[{call: carts-db.query}]]}
          - {name: add, cpu: 12.323ms, stages: [[{call: carts-db.query}]]}
          - {name: delete, cpu: 3.3488ms, stages: [[{call: carts-db.query}]]}
      - {name: carts-db, pinned: carts-db, endpoints: [{name: query, cpu: 4.0355ms}]}
      - {name: catalogue-db, pinned: catalogue-db, endpoints: [{name: query, cpu: 3.2434ms}]}
  load:
    - {at: 0s, for: 190s, entry: router.home, from: [front-end], arrivals: {users: 330, think: 7s}}
    - {at: 0s, for: 190s, entry: router.catalogue-1, from: [front-end], arrivals: {users: 85, think: 7s}}
    - {at: 0s, for: 190s, entry: router.catalogue-2, from: [front-end], arrivals: {users: 85, think: 7s}}
    - {at: 0s, for: 190s, entry: router.cart-1, from: [front-end], arrivals: {users: 167, think: 7s}}
    - {at: 0s, for: 190s, entry: router.cart-2, from: [front-end], arrivals: {users: 167, think: 7s}}
    - {at: 0s, for: 190s, entry: router.cart-3, from: [front-end], arrivals: {users: 166, think: 7s}}
"""

PUBLISHED = {
    "front-end": 0.56, "carts": 0.44, "carts-db": 0.29, "router-a": 0.16, "router-b": 0.16, "catalogue": 0.08,
    "catalogue-db": 0.08,
}  # fmt: skip


def test_the_published_models_utilisations_come_out() -> None:
    runs = [simulation(MODEL, seed=seed).run() for seed in range(5)]
    throughput = sum(run.recorder.sent for run in runs) / len(runs) / 180
    assert throughput == pytest.approx(142.9, rel=0.01)
    for node, published in PUBLISHED.items():
        values = [run.utilisation[node] for run in runs]
        mean = sum(values) / len(values)
        # Student's t for five runs; the published figures have two digits.
        half = 2.776 * sqrt(sum((value - mean) ** 2 for value in values) / 4 / 5)
        assert abs(mean - published) <= half + 0.005, (node, mean, half)


def test_posting_an_order_makes_the_calls_that_the_source_makes() -> None:
    scenario = read_scenario(SockShop(100, full_chains=True).text(), file="full.yaml")
    plan = Planner(scenario.application).plan("front-end", "order")
    visits: dict[str, int] = {}
    for step in plan.steps[1:]:
        name = scenario.application.services[step.service].name
        visits[name] = visits.get(name, 0) + 1
    databases = {name: count for name, count in visits.items() if name.endswith("-db")}
    assert databases == {"session-db": 2, "user-db": 14, "carts-db": 2, "orders-db": 1}
    assert visits["rabbitmq"] == visits["queue-master"] == 1
    http = sum(visits[name] for name in ("user", "orders", "carts", "payment", "shipping"))
    assert http == 10


def test_posting_an_order_takes_the_critical_path() -> None:
    """One user, all on one node with constant demands: the longest branches add up, the short ones hide."""
    text = SockShop(100, users=1, full_chains=True).text()
    start = text.index("  load:")
    load = (
        "  load: [{at: 30s, for: 1s, entry: front-end.order, from: [cloud-1], arrivals: {users: 1, every: 1s}}]\n"
        "  control: {scrape: 15s}\n"
    )
    text = text[:start] + load
    import re

    text = re.sub(r"cpu: ([0-9.]+ms)", r"cpu: {mean: \1, distribution: constant}", text)
    outcome = Simulation(read_scenario(text, file="full.yaml"), FirstFit(), seed=1).run()
    db = 0.3 + 0.98  # a round trip to a database outside, and its work
    customer = 0.98 + 3 * db
    cart = 2.9469 + 2 * (0.3 + 4.0355)
    expected = 2.1319 + 0.36 + customer + customer + 2.17 + max(customer, cart) + 0.57 + 0.85 + db + 0.36
    # Two addresses and cards in parallel, and four calls by orders, all fit on the four cores.
    assert 1000 * outcome.recorder.samples.total == pytest.approx(expected, rel=1e-6)


def test_users_come_when_slow_pods_are_ready() -> None:
    scenario = read_scenario(SockShop(10, users=3, stock_readiness=True).text(), file="sock-shop.yaml")
    assert (scenario.warmup, scenario.load[0].at, scenario.duration) == (210.0, 210.0, 2610.0)
    outcome = Simulation(replace(scenario, duration=260.0), Engine("kube-default"), seed=1).run()
    assert outcome.recorder.sent == 150
    assert outcome.recorder.failed == 0
