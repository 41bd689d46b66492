"""Pods come, become ready, move, die with their nodes, and are replaced."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from ecotone.model import Decisions, Snapshot
from ecotone.model.decisions import DeletionCost
from ecotone.scheduling import POLICIES
from ecotone.sim.control.engine import Engine
from ecotone.sim.simulation import Outcome
from sim.firstfit import FirstFit, Mover
from sim.scenarios import run, simulation

CLUSTER = """
  duration: 300s
  cluster:
    nodes: [{name: a, cpu: "1", memory: 4Gi}, {name: b, cpu: "1", memory: 4Gi}]
    network: {default: {rtt: 10ms}}
"""


def app(service: str) -> str:
    return f"  application: {{name: shop, services: [{service}]}}\n"


def load(users: int = 10) -> str:
    return f"  load: [{{at: 0s, for: 300s, entry: web.get, from: [a], arrivals: {{users: {users}, every: 1s}}}}]\n"


WEB = "endpoints: [{name: get, cpu: {mean: 1ms, distribution: constant}}]"


def test_pods_take_requests_only_when_ready() -> None:
    recorder = run(CLUSTER + app("{name: web, startup: 20s, " + WEB + "}") + load()).recorder
    # Ten users with one tick a second: twenty ticks each fall into the start-up.
    assert (recorder.sent, recorder.failed) == (3000, 200)


def test_an_evicted_single_replica_is_missed_for_its_start_up_time() -> None:
    outcome = run(
        CLUSTER + app("{name: web, startup: 5s, " + WEB + "}") + load(), orchestrator=Mover("web-1", "b", at=90)
    )
    assert outcome.evictions == 1
    assert outcome.recorder.failed == 50 + 50
    assert [(move.pod, move.origin, move.target) for move in outcome.moves] == [("web-1", "a", "b")]


def test_no_request_is_lost_to_an_eviction_where_another_replica_is_ready() -> None:
    service = (
        "{name: web, replicas: 2, startup: 5s, endpoints: [{name: get, cpu: {mean: 20ms, distribution: constant}}]}"
    )
    warm = "  warmup: 10s\n"
    outcome = run(warm + CLUSTER + app(service) + load(40), orchestrator=Mover("web-1", "b", at=90))
    assert outcome.evictions == 1
    assert outcome.recorder.failed == 0
    assert outcome.lost_to_evictions == 0


def test_an_evicted_pod_finishes_what_it_has_in_hand_but_not_beyond_its_grace() -> None:
    slow = "{name: web, grace: %s, endpoints: [{name: get, cpu: {mean: 20s, distribution: constant}}]}"
    one = "  load: [{at: 25s, for: 1s, entry: web.get, from: [a], arrivals: {users: 1, every: 1s}}]\n"
    kept = run(CLUSTER + app(slow % "30s") + one, orchestrator=Mover("web-1", "b", at=30))
    assert (kept.recorder.failed, kept.recorder.samples.count) == (0, 1)
    lost = run(CLUSTER + app(slow % "5s") + one, orchestrator=Mover("web-1", "b", at=30))
    assert (lost.recorder.failed, lost.lost_to_evictions) == (1, 1)


def test_a_pod_on_its_way_out_holds_its_requests() -> None:
    """The replacement of a slow pod does not fit beside it and goes to the other node."""
    slow = "{name: web, requests: {cpu: 800m}, endpoints: [{name: get, cpu: {mean: 20s, distribution: constant}}]}"
    one = "  load: [{at: 25s, for: 1s, entry: web.get, from: [a], arrivals: {users: 1, every: 1s}}]\n"
    outcome = run(CLUSTER + app(slow) + one, orchestrator=Mover("web-1", "a", at=30))
    assert dict(outcome.placement)[45.0] == {"web": {"b": 1}}


AT_ONCE = "  control: {node-grace: 0s, toleration: 0s}\n"


def test_a_failed_node_takes_its_pods_along_and_they_come_back_elsewhere() -> None:
    events = AT_ONCE + "  events: [{at: 100.5s, node: a, state: down}, {at: 200s, node: a, state: up}]\n"
    body = CLUSTER + app("{name: web, startup: 5s, " + WEB + "}") + events
    outcome = run(body + load().replace("[a]", "[b]"))
    placement = dict(outcome.placement)
    assert placement[90.0] == {"web": {"a": 1}}
    assert placement[105.0] == {"web": {"b": 1}}
    assert outcome.evictions == 0
    # Fifty in each start-up, and whoever was being served when the node failed.
    assert 100 <= outcome.recorder.failed <= 102


def test_users_of_a_failed_node_fail() -> None:
    events = "  events: [{at: 100s, node: a, state: down}, {at: 200s, node: a, state: up}]\n"
    body = CLUSTER + app("{name: web, pinned: b, " + WEB + "}") + events
    assert run(body + load()).recorder.failed == 1000


def test_a_pinned_pod_waits_for_its_node() -> None:
    events = AT_ONCE + "  events: [{at: 100s, node: a, state: down}, {at: 200s, node: a, state: up}]\n"
    outcome = run(CLUSTER + app("{name: web, pinned: a, " + WEB + "}") + events + load())
    placement = dict(outcome.placement)
    assert placement[150.0] == {}
    assert placement[210.0] == {"web": {"a": 1}}


def failing(control: str, *, up: str = "900s") -> Outcome:
    """Ten users at b, their only pod on a, which fails at 100.5 s."""
    events = f"  events: [{{at: 100.5s, node: a, state: down}}, {{at: {up}, node: a, state: up}}]\n"
    body = CLUSTER.replace("300s", "600s") + app("{name: web, startup: 5s, " + WEB + "}") + control + events
    return run(body + load().replace("[a]", "[b]").replace("for: 300s", "for: 600s"))


def test_a_dead_node_is_noticed_and_given_up_after_kubernetes_own_times() -> None:
    outcome = failing("")
    placement, phases = dict(outcome.placement), dict(outcome.phases)
    assert placement[435.0] == {"web": {"a": 1}} and placement[465.0] == {"web": {"b": 1}}  # 100.5 + 50 + 300
    assert phases[105.0] == phases[435.0] == {"unreachable": 1}
    assert 465.0 not in phases
    assert outcome.recorder.causes["starting"] == 2 * 50


def test_until_a_dead_node_is_noticed_its_pods_take_requests_that_nobody_answers() -> None:
    outcome = failing("  control: {node-grace: 20s, toleration: 40s, timeout: 2s}\n")
    placement = dict(outcome.placement)
    assert placement[150.0] == {"web": {"a": 1}} and placement[165.0] == {"web": {"b": 1}}
    # For 20 s each of ten users waits 2 s for nothing and misses ticks meanwhile; for 40 s there is no endpoint.
    first = outcome.recorder.causes["unreachable"] - 400
    assert 10 * 20 / 3 - 10 <= first <= 10 * 20 / 3 + 20
    assert outcome.recorder.causes["starting"] == 2 * 50
    assert outcome.recorder.causes["killed"] == 0


def test_a_node_that_comes_back_in_time_starts_its_pods_again() -> None:
    outcome = failing("  control: {timeout: 1s}\n", up="130s")
    placement, phases = dict(outcome.placement), dict(outcome.phases)
    assert placement[120.0] == placement[180.0] == {"web": {"a": 1}}
    assert phases[120.0] == {"unreachable": 1} and 135.0 not in phases
    # Five seconds of start-up twice; whoever still waited for the dead pod when it was started again missed a tick.
    assert 50 + 40 <= outcome.recorder.causes["starting"] <= 2 * 50


def test_the_policy_learns_of_a_dead_node_when_it_is_noticed() -> None:
    """A pod that is bound in between waits on the dead node until it is given up."""
    events = "  events: [{at: 50.5s, node: a, state: down}]\n  control: {node-grace: 20s, toleration: 30s}\n"
    traces = "traces: {web: [[0s, 1], [60s, 2], [80s, 3]]}"
    body = CLUSTER + f"  application: {{name: shop, services: [{{name: web, {WEB}}}], {traces}}}\n" + events
    placement = dict(run(body).placement)
    assert placement[75.0] == {"web": {"a": 2}}
    assert placement[90.0] == {"web": {"a": 2, "b": 1}}
    assert placement[105.0] == {"web": {"b": 3}}


def test_an_image_is_pulled_once_for_each_node_one_after_the_other() -> None:
    """25 MB at 10 Mbit are 20 s, twice on the first node; the third pod of a service finds its image there."""
    registry = CLUSTER.replace("    network", "    registry: {bandwidth: 10Mbit}\n    network")
    services = ", ".join(f"{{name: {name}, image: 25MB, startup: 5s, {WEB}}}" for name in ("web", "db"))
    body = registry + f"  application: {{name: shop, services: [{services}], traces: {{web: [[0s, 1], [100s, 2]]}}}}\n"
    running = simulation(body)
    outcome = running.run()
    first, second = sorted(running.services, key=lambda service: service.pods[0].ready_at or 0.0)
    assert (first.pods[0].ready_at, second.pods[0].ready_at) == (25.0, 45.0)
    assert running._by_name["web"].pods[1].ready_at == 105.0
    phases = dict(outcome.phases)
    assert phases[15.0] == {"pulling": 2} and phases[30.0] == {"pulling": 1} and 45.0 not in phases


def test_nothing_is_pulled_without_an_image() -> None:
    assert dict(run(CLUSTER + app("{name: web, startup: 20s, " + WEB + "}")).phases) == {
        0.0: {"starting": 1},
        15.0: {"starting": 1},
    }


def test_nothing_new_comes_to_a_cordoned_node() -> None:
    events = "  events: [{at: 50s, node: a, state: cordoned}, {at: 100s, node: a, state: uncordoned}]\n"
    traces = "traces: {web: [[0s, 1], [60s, 2], [120s, 3]]}"
    body = CLUSTER + f"  application: {{name: shop, services: [{{name: web, {WEB}}}], {traces}}}\n" + events
    placement = dict(run(body).placement)
    assert placement[45.0] == {"web": {"a": 1}}
    assert placement[75.0] == {"web": {"a": 1, "b": 1}}
    assert placement[135.0] == {"web": {"a": 2, "b": 1}}


def test_replicas_follow_their_trace_at_the_second() -> None:
    body = CLUSTER + (
        f"  application: {{name: shop, services: [{{name: web, {WEB}}}], traces: {{web: [[0s, 2], [30s, 5], [60s, 1]]}}}}\n"
    )
    counts = {at: sum(where.get("web", {}).values()) for at, where in run(body).placement}
    assert [counts[at] for at in (0.0, 15.0, 30.0, 45.0, 60.0)] == [2, 2, 5, 5, 1]


def test_a_scale_down_takes_what_the_replica_set_controller_would() -> None:
    world = simulation(CLUSTER + app("{name: web, replicas: 4, " + WEB + "}"))
    world.kernel.run(10.0)
    pods = world.services[0].pods
    node_a, node_b = world.nodes
    for pod, node in zip(pods, (node_a, node_a, node_b, node_a), strict=True):
        pod.node = node
    pods[1].ready = False
    pods[2].deletion_cost = -5
    pods[3].ready_at = 9.0
    order = [pod.name for pod in world.lifecycle.victims(world.services[0])]
    # Not ready, then the cheapest to delete, then the crowded node with the younger first.
    assert order == ["web-2", "web-3", "web-4", "web-1"]


def test_the_autoscaler_reaches_its_target_and_comes_back_slowly() -> None:
    body = """
  duration: 1200s
  cluster: {nodes: [{name: a, cpu: "16", memory: 4Gi}]}
  application:
    name: shop
    services: [{name: web, requests: {cpu: 100m}, endpoints: [{name: get, cpu: {mean: 10ms, distribution: constant}}]}]
    autoscale: {web: {cpu: 50%, min: 1, max: 8}}
  load: [{at: 0s, for: 600s, entry: web.get, from: [a], arrivals: {users: 28, every: 1s}}]
"""
    counts = {at: sum(where["web"].values()) for at, where in run(body).placement}
    # 28 requests a second at 10 ms are 280m: six pods at up to 50m.
    assert counts[300.0] == 6
    assert counts[750.0] == 6  # still within five minutes of the load's end
    assert counts[1200.0] == 1


def test_a_disruption_budget_is_told_to_the_policy() -> None:
    seen: list[int] = []

    class Watcher(FirstFit):
        def deschedule(self, snapshot: Snapshot) -> Decisions:
            seen.extend(budget.allowed for budget in snapshot.budgets)
            return Decisions(())

    service = "{name: web, replicas: 3, startup: 40s, disruption: {max-unavailable: 1}, " + WEB + "}"
    run(CLUSTER + app(service), orchestrator=Watcher())
    assert seen[:2] == [0, 1]  # nobody ready at 30 s; three of three at 60 s


def test_pods_that_fit_nowhere_stay_pending_and_are_reported() -> None:
    outcome = run(CLUSTER + app("{name: web, requests: {cpu: 1500m}, " + WEB + "}") + load())
    assert outcome.unplaced == ["web-1"]
    assert outcome.recorder.failed == outcome.recorder.sent == 3000


@pytest.mark.parametrize("seed", range(3))
def test_capacity_is_never_exceeded(seed: int) -> None:
    body = CLUSTER + (
        "  application: {name: shop, services: [{name: web, requests: {cpu: 300m}, startup: 3s, "
        + WEB
        + "}], traces: {web: [[0s, 9], [20s, 2], [40s, 9]]}}\n"
    )
    outcome = run(body, seed=seed)
    for _, placement in outcome.placement:
        assert all(count <= 3 for count in placement.get("web", {}).values())
    assert len(outcome.unplaced) == 3


class Surger(Mover):
    """As `Mover`, but the replacement comes first."""

    def __init__(self, pod: str, target: str, *, at: float) -> None:
        super().__init__(pod, target, at=at)
        self._move = replace(self._move, surge=True)


def test_a_single_replica_whose_replacement_comes_first_is_not_missed() -> None:
    outcome = run(
        CLUSTER + app("{name: web, startup: 5s, " + WEB + "}") + load(), orchestrator=Surger("web-1", "b", at=90)
    )
    assert (outcome.evictions, outcome.recorder.failed) == (1, 50)  # the 50 are the start-up at the beginning
    assert dict(outcome.placement)[90.0]["web"] == {"a": 2}
    assert dict(outcome.placement)[105.0]["web"] == {"a": 1}


def test_a_scale_down_in_the_middle_of_a_surge_leaves_what_is_wanted() -> None:
    text = app("{name: web, startup: 20s, " + WEB + "}").replace(
        "services", "traces: {web: [[0s, 2], [95s, 1]]}, services"
    )
    outcome = run(CLUSTER + text + load(), orchestrator=Surger("web-1", "b", at=90))
    assert sum(dict(outcome.placement)[285.0]["web"].values()) == 1


class Pricer(FirstFit):
    """Says once that the first pod is the one to go."""

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        return Decisions((DeletionCost("default/web-1", -1, "test"),))


def test_a_scale_down_takes_the_pod_of_least_deletion_cost() -> None:
    text = app("{name: web, " + WEB + "}").replace("services", "traces: {web: [[0s, 2], [95s, 1]]}, services")
    sim = simulation(CLUSTER + text + load(), orchestrator=Pricer())
    sim.run()
    assert [pod.name for pod in sim.services[0].pods] == ["web-2"]


@pytest.mark.parametrize("policy", ["kube-default", "communication-aware", "first-fit"])
def test_every_trial_draws_the_order_in_which_pods_come_to_the_scheduler(policy: str) -> None:
    """Pods of one instant keep the order in which they were created, under policies that take the oldest first, too."""
    services = ", ".join(f"{{name: {name}, replicas: 2, {WEB}}}" for name in ("web", "api", "db"))
    orders = set()
    for seed in range(8):
        binds = run(CLUSTER + app(services) + load(), orchestrator=Engine(POLICIES[policy]), seed=seed).binds
        order = [each.service for each in binds]
        assert order[::2] == order[1::2]
        orders.add(tuple(order))
    assert len(orders) > 3


@pytest.mark.parametrize("rescue_after", [60.0, None])
def test_a_descheduler_that_rescues_replaces_the_pods_of_a_dead_node_sooner(rescue_after: float | None) -> None:
    """Missed after 50 s, asked to go after 60 more and at most a period of 30; else deleted after 300."""
    nodes = ", ".join(f'{{name: {name}, cpu: "1", memory: 4Gi}}' for name in "abc")
    body = f"\n  duration: 600s\n  cluster:\n    nodes: [{nodes}]\n    network: {{default: {{rtt: 10ms}}}}\n"
    body += app("{name: web, startup: 5s, " + WEB + "}")
    policy = POLICIES["ecotone"]
    assert policy.descheduler is not None
    profile = dataclasses.replace(
        policy, descheduler=dataclasses.replace(policy.descheduler, rescue_after=rescue_after)
    )
    (home,) = dict(run(body, orchestrator=Engine(profile)).placement)[90.0]["web"]
    outcome = run(body + f"  events: [{{at: 100.5s, node: {home}, state: down}}]\n", orchestrator=Engine(profile))
    placement = dict(outcome.placement)
    assert placement[195.0]["web"] == {home: 1}
    assert (home in placement[255.0]["web"]) == (rescue_after is None)
    assert home not in placement[465.0]["web"]
    assert outcome.evictions == (0 if rescue_after is None else 1)
