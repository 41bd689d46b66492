"""Prints what runs of several scenarios come to, to the last digit: run it compiled and in pure Python, and compare.

    python tests/sim/bytes_of_runs.py

Between them the scenarios use every way a request can go: queues and limits, parallel branches, chance, messages kept for
a consumer, proxies, jitter, loss, bandwidth over several hops, near pods first, moves, failures and traces.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from ecotone.experiments.campaign.runs import figures
from ecotone.sim import COMPILED
from ecotone.sim.control.engine import Engine
from ecotone.sim.scenario import Scenario, load_scenario, read_scenario
from ecotone.sim.simulation import Simulation

ROUGH = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: rough}
spec:
  duration: 150s
  warmup: 10s
  cluster:
    nodes:
      - {name: a, cpu: "1", memory: 4Gi, labels: {topology.kubernetes.io/zone: near}}
      - {name: b, cpu: "1500m", memory: 4Gi, labels: {topology.kubernetes.io/zone: near}}
      - {name: c, cpu: "4", memory: 4Gi}
    network:
      default: {rtt: 20ms, jitter: 3ms, loss: 1%}
      links:
        - {between: [a, b], rtt: 4ms, bandwidth: 8Mbit}
        - {between: [b, c], rtt: 30ms, bandwidth: 20Mbit, jitter: 1ms}
      routing: shortest-path
  application:
    name: rough
    services:
      - name: web
        replicas: 2
        requests: {cpu: 100m, memory: 64Mi}
        limits: {cpu: 400m}
        balance: same-node
        endpoints:
          - name: get
            cpu: {mean: 9ms}
            stages:
              - [{call: left.do, request: 20kB, response: 8kB}, {call: right.do, count: 2, probability: 0.6, connection: new}]
              - [{call: log.write, async: true, protocol: AMQP, request: 2kB}]
      - {name: left, replicas: 2, balance: same-zone, requests: {cpu: 50m}, startup: 3s, endpoints: [{name: do, cpu: {mean: 6ms, distribution: constant}}]}
      - {name: right, requests: {cpu: 50m}, endpoints: [{name: do, cpu: {mean: 4ms}, stages: [[{call: out.query}]]}]}
      - {name: log, requests: {cpu: 20m}, startup: 20s, endpoints: [{name: write, cpu: {mean: 2ms}}]}
      - {name: out, external: true, requests: {cpu: 20m}, proxy: {cpu: 1ms, rtt: 2ms}, endpoints: [{name: query, cpu: {mean: 1ms}}]}
    traces: {left: [[0s, 2], [60s, 3], [100s, 1]]}
  load:
    - {at: 0s, for: 90s, entry: web.get, from: all, arrivals: {poisson: 25}, request: 1kB, response: 2kB, connection: new}
    - {at: 40s, for: 110s, entry: web.get, from: [a, c], arrivals: {users: 12, think: 400ms}}
  events:
    - {at: 50s, link: [b, c], rtt: 90ms}
    - {at: 70s, node: a, state: down}
    - {at: 110s, node: a, state: up}
"""  # noqa: E501 - a scenario reads better unwrapped


def cut(scenario: Scenario, seconds: float) -> Scenario:
    """The first part of a scenario."""
    load = tuple(each for each in scenario.load if each.at < seconds)
    return replace(scenario, duration=seconds, warmup=min(scenario.warmup, seconds / 4), load=load)


def runs() -> list[tuple[Scenario, str]]:
    return [
        (read_scenario(ROUGH, file="rough.yaml"), "sophos"),
        (read_scenario(ROUGH, file="rough.yaml"), "kube-default"),
        (cut(load_scenario("sock-shop-100ms"), 90.0), "sophos"),
        (cut(load_scenario("dag-workflow"), 150.0), "ecotone"),
        (cut(load_scenario("messaging"), 60.0), "kube-default"),
        (cut(load_scenario("replicas-2-moving"), 150.0), "ecotone"),
        (cut(load_scenario("pogonip-1"), 60.0), "kube-default"),
    ]


def main() -> None:
    sys.stderr.write("compiled" if COMPILED is not None else "pure")
    for scenario, policy in runs():
        simulation = Simulation(scenario, Engine(policy), seed=3)
        outcome = simulation.run()
        run = figures(scenario, outcome, policy=policy, trial=0)
        recorder = outcome.recorder
        whole = recorder.spectrum.whole
        exact = (recorder.samples.total, recorder.totals, whole.network, whole.work, whole.waiting, whole.disruption)
        sys.stdout.write(f"{scenario.name} {json.dumps(run.plain())} {exact}\n")


if __name__ == "__main__":
    main()
