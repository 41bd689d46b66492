"""The deschedulers at work: what they gain, what they cost, and that ours does not wander."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ecotone.experiments.campaign.record import Move, Run
from ecotone.experiments.campaign.runs import Job, execute
from ecotone.experiments.sophos.evaluation import moves_undone
from experiments.campaign.records import record
from sim.scenarios import HEAD

CHAIN = """
  duration: 480s
  warmup: 30s
  cluster:
    nodes:
      - {name: cloud-1, tier: cloud, cpu: "4", memory: 16Gi}
      - {name: edge-1, tier: edge, cpu: "1", memory: 4Gi}
      - {name: edge-2, tier: edge, cpu: "1", memory: 4Gi}
    network: {default: {rtt: %(rtt)dms}}
  application:
    name: shop
    services:
      - name: web
        index: 0
        replicas: %(replicas)d
        requests: {cpu: 100m, memory: 64Mi}
        startup: 5s
        endpoints: [{name: get, cpu: 2ms, stages: [[{call: api.get, count: 2, request: 1kB, response: 2kB}]]}]
      - name: api
        index: 1
        requests: {cpu: 100m, memory: 64Mi}
        startup: 5s
        endpoints: [{name: get, cpu: 2ms, stages: [[{call: store.get, count: 2, request: 1kB, response: 2kB}]]}]
      - {name: store, index: 2, requests: {cpu: 100m, memory: 64Mi}, startup: 5s, endpoints: [{name: get, cpu: 1ms}]}
  load:
    - {at: 30s, for: %(first)ds, entry: web.get, from: [edge-1], request: 1kB, response: 2kB, arrivals: {users: %(users)d, every: 1s}}
    - {at: %(turn)ds, for: %(second)ds, entry: web.get, from: [edge-2], request: 1kB, response: 2kB, arrivals: {users: %(users)d, every: 1s}}
"""  # noqa: E501


def simulate(policy: str, *, rtt: int = 40, users: int = 10, replicas: int = 1, turn: int = 240, seed: int = 1) -> Run:
    first, second = turn - 30, 480 - turn
    text = HEAD + CHAIN % {
        "rtt": rtt, "users": users, "replicas": replicas, "first": first, "turn": turn, "second": second,
    }  # fmt: skip
    return execute(Job(text, "chain.yaml", policy, 0, seed))


def where(run: Run, at: float) -> dict[str, set[str]]:
    return {service: set(nodes) for service, nodes in dict(run.placement)[at].items()}


def test_a_settled_chain_follows_its_users_together() -> None:
    """One pod at a time nobody would go: each has more round trips to the others than to the users."""
    run = simulate("ecotone")
    assert where(run, 210) == {name: {"edge-1"} for name in ("web", "api", "store")}
    assert where(run, 465) == {name: {"edge-2"} for name in ("web", "api", "store")}
    last = run.series[-1][1]
    assert last is not None and last < 40, "the round trip to the users is gone"


def test_a_move_is_told_in_milliseconds_per_request() -> None:
    moves = [move for move in simulate("ecotone").moves if (move.at or 0) > 240]
    assert len(moves) == 3
    assert len({move.at for move in moves}) == 1
    assert all("ms instead of" in move.why for move in moves)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rtt=st.sampled_from([1, 10, 40, 200]),
    users=st.sampled_from([1, 5, 20, 60]),
    replicas=st.integers(1, 3),
    seed=st.integers(0, 50),
)
def test_ours_undoes_no_move_within_ten_periods_on_a_stationary_load(
    rtt: int, users: int, replicas: int, seed: int
) -> None:
    run = simulate("ecotone", rtt=rtt, users=users, replicas=replicas, turn=470, seed=seed)
    assert moves_undone(run) == 0
    # And it comes to rest: nothing moves in the second half of a load that does not change.
    assert [move for move in run.moves if 250 < (move.at or 0) < 470] == []


def test_churn_is_counted_as_coming_back_to_a_node_left_lately() -> None:
    move = Move(at=0.0, pod="web-1", service="web", origin="a", target="b", why="")
    back = Move(at=299.0, pod="web-2", service="web", origin="b", target="a", why="")
    assert moves_undone(record(1.0, moves=[move, back])) == 1
    assert moves_undone(record(1.0, moves=[move, replace(back, at=301.0)])) == 0
    assert moves_undone(record(1.0, moves=[move, replace(back, service="api")])) == 0


def test_no_request_is_lost_to_an_eviction_where_a_replica_was_ready() -> None:
    """Only the entry point is replicated here; what fails, fails for want of the others, never in an evicted pod."""
    for seed in range(3):
        run = simulate("ecotone", replicas=2, seed=seed)
        assert run.lost_to_evictions == 0
