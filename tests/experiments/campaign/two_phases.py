# ruff: noqa: E501 - scenarios read better unwrapped
"""A small scenario with two phases of load, each of which has a best placement of its own."""

TEXT = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: two-phases}
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
"""
