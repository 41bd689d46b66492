# ruff: noqa: E501 - scenarios read better unwrapped
"""Response times of constant chains, exactly."""

from __future__ import annotations

import pytest

from sim.scenarios import run, simulation

CLUSTER = """
  cluster:
    nodes:
      - {name: a, cpu: "4", memory: 4Gi}
      - {name: b, cpu: "4", memory: 4Gi}
      - {name: c, cpu: "4", memory: 4Gi}
    network:
      default: {rtt: 10ms}
      links: [{between: [a, b], rtt: 40ms}]
"""

ONE = "  load: [{at: 0s, for: 10s, entry: web.get, from: [a], arrivals: {users: 1, every: 10s}}]\n"


def answer_ms(body: str) -> float:
    """The response time of the only request."""
    recorder = run(body).recorder
    assert (recorder.sent, recorder.failed, recorder.samples.count) == (1, 0, 1)
    return 1000 * recorder.samples.total


def test_a_chain_is_the_sum_of_its_round_trips_and_work() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: b, endpoints: [{name: get, cpu: {mean: 5ms, distribution: constant}, stages: [[{call: db.query}]]}]}
      - {name: db, pinned: c, endpoints: [{name: query, cpu: {mean: 3ms, distribution: constant}}]}
"""
    assert answer_ms(app + CLUSTER + ONE) == pytest.approx(40 + 5 + 10 + 3)


def test_within_a_node_messages_take_no_time() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, cpu: {mean: 5ms, distribution: constant}, stages: [[{call: db.query, count: 3}]]}]}
      - {name: db, pinned: a, endpoints: [{name: query, cpu: {mean: 3ms, distribution: constant}}]}
"""
    assert answer_ms(app + CLUSTER + ONE) == pytest.approx(5 + 3 * 3)


def test_calls_of_a_stage_run_in_parallel_and_stages_one_after_the_other() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - name: web
        pinned: a
        endpoints:
          - name: get
            cpu: {mean: 1ms, distribution: constant}
            stages:
              - [{call: far.work}, {call: near.work, count: 3}]
              - [{call: near.work}]
      - {name: far, pinned: b, endpoints: [{name: work, cpu: {mean: 2ms, distribution: constant}}]}
      - {name: near, pinned: c, endpoints: [{name: work, cpu: {mean: 4ms, distribution: constant}}]}
"""
    # far: 40 + 2; near three times: 3 x (10 + 4); both 42. Then 14.
    assert answer_ms(app + CLUSTER + ONE) == pytest.approx(1 + 42 + 14)


def test_a_new_connection_costs_one_round_trip_more() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, stages: [[{call: db.query, connection: new}]]}]}
      - {name: db, pinned: b, endpoints: [{name: query, cpu: {mean: 3ms, distribution: constant}}]}
"""
    assert answer_ms(app + CLUSTER + ONE) == pytest.approx(40 + 40 + 3)


def test_an_asynchronous_call_is_not_waited_for_but_its_work_is_done() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, cpu: {mean: 2ms, distribution: constant}, stages: [[{call: slow.work, async: true}]]}]}
      - {name: slow, pinned: b, endpoints: [{name: work, cpu: {mean: 6s, distribution: constant}}]}
"""
    outcome = run(app + CLUSTER + ONE)
    assert 1000 * outcome.recorder.samples.total == pytest.approx(2)
    assert outcome.utilisation["b"] == pytest.approx(6 / 60 / 4)


def test_an_asynchronous_message_waits_for_a_ready_consumer() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, cpu: {mean: 2ms, distribution: constant}, stages: [[{call: slow.work, async: true}]]}]}
      - {name: slow, pinned: b, startup: 30s, endpoints: [{name: work, cpu: {mean: 6s, distribution: constant}}]}
"""
    outcome = run(app + CLUSTER + ONE)
    assert outcome.recorder.failed == 0
    assert outcome.utilisation["b"] == pytest.approx(6 / 60 / 4)


def test_an_external_service_is_reached_through_its_proxy_and_costs_no_cluster_cpu() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, stages: [[{call: db.query, count: 2}]]}]}
      - {name: db, pinned: b, external: true, proxy: {rtt: 1ms}, endpoints: [{name: query, cpu: {mean: 3ms, distribution: constant}}]}
"""
    outcome = run(app + CLUSTER + ONE)
    assert 1000 * outcome.recorder.samples.total == pytest.approx(2 * (40 + 1 + 3))
    assert outcome.utilisation["b"] == 0


def test_a_proxy_with_a_cpu_spends_it_on_its_node() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, stages: [[{call: db.query}]]}]}
      - {name: db, pinned: b, external: true, proxy: {cpu: 2ms}, endpoints: [{name: query, cpu: {mean: 3ms, distribution: constant}}]}
"""
    outcome = run(app + CLUSTER + ONE)
    assert 1000 * outcome.recorder.samples.total == pytest.approx(40 + 2 + 3)
    assert outcome.utilisation["b"] == pytest.approx(0.002 / 60 / 4)


def test_bandwidth_is_first_in_first_out_per_direction() -> None:
    body = """
  duration: 60s
  cluster:
    nodes: [{name: a, cpu: "4", memory: 4Gi}, {name: b, cpu: "4", memory: 4Gi}]
    network: {links: [{between: [a, b], rtt: 10ms, bandwidth: 8Mbit}]}
  application:
    name: shop
    services:
      - {name: web, pinned: a, endpoints: [{name: get, stages: [[{call: db.x, request: 10kB, response: 1kB}, {call: db.y, request: 20kB, response: 1kB}]]}]}
      - {name: db, pinned: b, endpoints: [{name: x}, {name: y}]}
"""
    # 1 MB/s: x is there after 10 + 5, y after 10 + 20 + 5, and answers in 1 + 5.
    assert answer_ms(body + ONE) == pytest.approx(10 + 20 + 5 + 1 + 5)


def test_a_message_under_way_keeps_its_latency_when_the_link_changes() -> None:
    body = """
  duration: 60s
  cluster:
    nodes: [{name: a, cpu: "4", memory: 4Gi}, {name: b, cpu: "4", memory: 4Gi}]
    network: {links: [{between: [a, b], rtt: 20s}]}
  application:
    name: shop
    services: [{name: web, pinned: b, endpoints: [{name: get}]}]
  events: [{at: 10s, link: [a, b], rtt: 1s}]
"""
    # Sent at the user's offset within the first ten seconds with 10 s one way; the answer comes back at the new 0.5 s.
    assert answer_ms(body + ONE) == pytest.approx(10_000 + 500)


def test_shortest_paths_are_used_when_asked_for_and_the_default_without_a_path() -> None:
    body = """
  duration: 60s
  cluster:
    nodes: [{name: a, cpu: "4", memory: 4Gi}, {name: b, cpu: "4", memory: 4Gi}, {name: c, cpu: "4", memory: 4Gi}, {name: d, cpu: "4", memory: 4Gi}]
    network:
      routing: shortest-path
      default: {rtt: 70ms}
      links: [{between: [a, b], rtt: 100ms}, {between: [a, c], rtt: 20ms}, {between: [c, b], rtt: 30ms}]
  application:
    name: shop
    services:
      - {name: web, pinned: b, endpoints: [{name: get, stages: [[{call: db.query}]]}]}
      - {name: db, pinned: d, endpoints: [{name: query}]}
"""
    assert answer_ms(body + ONE) == pytest.approx(50 + 70)


def test_users_skip_the_ticks_they_miss() -> None:
    body = """
  duration: 60s
  cluster: {nodes: [{name: a, cpu: "1", memory: 4Gi}]}
  application:
    name: shop
    services: [{name: web, endpoints: [{name: get, cpu: {mean: 2500ms, distribution: constant}}]}]
  load: [{at: 0s, for: 30s, entry: web.get, from: all, arrivals: {users: 1, every: 1s}}]
"""
    # An answer after 2.5 s: the next own tick is the third.
    assert run(body).recorder.sent == 10


def test_users_who_think_wait_after_each_answer() -> None:
    body = """
  duration: 60s
  cluster: {nodes: [{name: a, cpu: "1", memory: 4Gi}]}
  application:
    name: shop
    services: [{name: web, endpoints: [{name: get, cpu: {mean: 2s, distribution: constant}}]}]
  load: [{at: 0s, for: 30s, entry: web.get, from: all, arrivals: {users: 1, think: 1s}}]
"""
    assert run(body).recorder.sent == 10


def test_no_ready_endpoint_fails_at_once_and_unanswered_requests_fail_at_the_end() -> None:
    body = """
  duration: 20s
  cluster: {nodes: [{name: a, cpu: "1", memory: 4Gi}]}
  application:
    name: shop
    services: [{name: web, startup: 10s, endpoints: [{name: get, cpu: {mean: 1000s, distribution: constant}}]}]
  load: [{at: 0s, for: 20s, entry: web.get, from: all, arrivals: {users: 1, every: 1s}}]
"""
    recorder = run(body).recorder
    # Ten ticks find nobody; the first one after start-up is never answered and its user waits for ever.
    assert recorder.sent == recorder.failed == 11
    assert recorder.samples.quantile(0.95, failures=recorder.failed) == 60.0


def test_only_requests_sent_after_the_warm_up_count() -> None:
    body = """
  duration: 20s
  warmup: 10s
  cluster: {nodes: [{name: a, cpu: "1", memory: 4Gi}]}
  application:
    name: shop
    services: [{name: web, endpoints: [{name: get, cpu: {mean: 1ms, distribution: constant}}]}]
  load: [{at: 0s, for: 20s, entry: web.get, from: all, arrivals: {users: 4, every: 1s}}]
"""
    assert run(body).recorder.sent == 40


def test_requests_spread_over_the_ready_replicas() -> None:
    body = """
  duration: 100s
  cluster: {nodes: [{name: a, cpu: "8", memory: 4Gi}]}
  application:
    name: shop
    services: [{name: web, replicas: 4, endpoints: [{name: get, cpu: {mean: 1ms, distribution: constant}}]}]
  load: [{at: 0s, for: 100s, entry: web.get, from: all, arrivals: {users: 40, every: 1s}}]
"""
    world = simulation(body)
    world.run()
    served = [round(1000 * pod.share.used) for pod in world.services[0].pods if pod.share is not None]
    assert sum(served) == 4000
    # Binomial(4000, 1/4): five standard deviations.
    assert all(abs(each - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5 for each in served)


def test_a_call_with_a_probability_happens_that_often() -> None:
    body = """
  duration: 100s
  cluster: {nodes: [{name: a, cpu: "8", memory: 4Gi}]}
  application:
    name: shop
    services:
      - {name: web, endpoints: [{name: get, stages: [[{call: db.query, probability: 0.3}]]}]}
      - {name: db, endpoints: [{name: query, cpu: {mean: 1ms, distribution: constant}}]}
  load: [{at: 0s, for: 100s, entry: web.get, from: all, arrivals: {users: 40, every: 1s}}]
"""
    world = simulation(body)
    assert world.run().recorder.sent == 4000
    calls = world.planner.channels[("web", "db")].calls
    assert abs(calls - 1200) < 5 * (4000 * 0.3 * 0.7) ** 0.5


def test_loss_delays_by_retransmissions() -> None:
    body = """
  duration: 400s
  cluster:
    nodes: [{name: a, cpu: "4", memory: 4Gi}, {name: b, cpu: "4", memory: 4Gi}]
    network: {links: [{between: [a, b], rtt: 10ms, loss: 10%}]}
  application:
    name: shop
    services: [{name: web, pinned: b, endpoints: [{name: get}]}]
  load: [{at: 0s, for: 400s, entry: web.get, from: [a], arrivals: {users: 20, every: 1s}}]
"""
    recorder = run(body).recorder
    # Two messages, each lost a geometric number of times (mean 1/9), 200 ms each time.
    mean = 0.010 + 2 * 0.2 / 9
    spread = 0.2 * (2 * 0.1 / 0.9**2) ** 0.5 / recorder.samples.count**0.5
    assert abs((recorder.samples.mean or 0) - mean) < 5 * spread


def test_jitter_has_the_standard_deviation_given() -> None:
    body = """
  duration: 400s
  cluster:
    nodes: [{name: a, cpu: "4", memory: 4Gi}, {name: b, cpu: "4", memory: 4Gi}]
    network: {links: [{between: [a, b], rtt: 100ms, jitter: 5ms}]}
  application:
    name: shop
    services: [{name: web, pinned: b, endpoints: [{name: get}]}]
  load: [{at: 0s, for: 400s, entry: web.get, from: [a], arrivals: {users: 20, every: 1s}}]
"""
    samples = run(body).recorder.samples
    low, high = samples.quantile(0.1587), samples.quantile(0.8413)
    assert low is not None and high is not None
    assert (high - low) / 2 == pytest.approx(0.005 * 2**0.5, rel=0.05)


def test_the_parts_of_a_response_time_add_up_when_nothing_queues() -> None:
    app = """
  duration: 60s
  application:
    name: shop
    services:
      - {name: web, pinned: b, endpoints: [{name: get, cpu: {mean: 5ms, distribution: constant}, stages: [[{call: db.query, count: 2}, {call: db.other}]]}]}
      - {name: db, pinned: c, endpoints: [{name: query, cpu: {mean: 3ms, distribution: constant}}, {name: other, cpu: {mean: 1ms, distribution: constant}}]}
"""
    parts = run(app + CLUSTER + ONE).recorder.intervals[0].spectrum.whole
    assert 1000 * parts.network == pytest.approx(40 + 2 * 10)
    assert 1000 * parts.work == pytest.approx(5 + 2 * 3)
    assert parts.total == pytest.approx(parts.network + parts.work)
