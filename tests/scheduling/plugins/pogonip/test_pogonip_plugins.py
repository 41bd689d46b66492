"""Pogonip pod by pod: the prototype's plugins in the scheduling framework."""

from dataclasses import replace

import pytest

from builders import cluster, pod
from ecotone.model.decisions import Bind, Wait
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.placement.policy import objective
from ecotone.placement.problem.taxi import scenario_1, scenario_2
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugins.pogonip.node_cost import price_scores
from ecotone.scheduling.profiles.policies import resolve
from placement.kubernetes import first, nodes_of, second, taxi_pods

POLICY = "pogonip-plugins"


def binds(snapshot: Snapshot) -> dict[str, str]:
    return {each.pod: each.node for each in decide(snapshot, POLICY).decisions if isinstance(each, Bind)}


def test_the_second_scenario_is_deployed_as_the_heuristic_deploys_it() -> None:
    snapshot = second()
    decisions = decide(snapshot, POLICY).decisions
    found = objective(snapshot, decisions)
    assert (found["apps_placed"], found["edge_nodes_used"], found["forwarded_to_cloud"]) == (8, 5, 25)
    assert found["cloud_cost_per_hour"] == 8.0


def test_the_first_scenario_ends_in_one_of_the_six_outcomes() -> None:
    snapshot, instance = first(), scenario_1()
    where = binds(snapshot)
    queue = instance.index[where.pop("default/taxi-queue-0")]
    delays = sorted(float(instance.distance[queue, instance.index[node]]) for node in where.values())
    assert delays in ([10, 10, 15, 30], [10, 15, 15, 30], [10, 15, 30, 30], [10, 10, 30, 35], [10, 30, 30, 35],
                      [10, 30, 35, 35])  # fmt: skip


def test_queues_come_before_microservices_and_strict_bounds_before_loose_ones() -> None:
    snapshot = cluster(nodes_of(scenario_2()), [*taxi_pods("loose", bound=80.0), *taxi_pods("strict", created=9.0)])
    order = [each.pod for each in decide(snapshot.freeze(), "pogonip-plugins").decisions if isinstance(each, Bind)]
    assert order[0].startswith("default/strict-queue") and all("strict" in name for name in order[:5])


def test_an_application_that_fits_nowhere_waits_as_a_whole_and_no_other_waits_for_it() -> None:
    giant = [pod("giant-queue-0", cpu="64", memory="2Gi", app_group="giant", role="message-queue", max_latency_ms=20.0,
                 labels={"app-group": "giant"}),
             pod("giant-work-0", cpu="100m", memory="64Mi", app_group="giant", max_latency_ms=20.0,
                 labels={"app-group": "giant"})]  # fmt: skip
    pods = [*giant, *(each for k in range(8) for each in taxi_pods(f"taxi{k}"))]
    decisions = decide(cluster(nodes_of(scenario_2()), pods).freeze(), POLICY).decisions
    waits = {each.pod: each for each in decisions if isinstance(each, Wait)}
    assert set(waits) == {"default/giant-queue-0", "default/giant-work-0"}
    assert "Insufficient cpu" in waits["default/giant-queue-0"].why
    assert waits["default/giant-work-0"].why.startswith("default/giant waits as a whole: default/giant-queue-0 fits")
    assert sum(isinstance(each, Bind) for each in decisions) == 40


def test_places_held_for_an_incomplete_application_are_given_to_the_others() -> None:
    """Without a cloud the first application's storage has no room; the second application needs what it would hold."""
    nodes = nodes_of(scenario_1())
    greedy = taxi_pods("greedy", bound=40.0)
    huge = pod("greedy-huge-0", cpu="1", memory="64Gi", app_group="greedy", max_latency_ms=40.0,
               labels={"app-group": "greedy"})  # fmt: skip
    decisions = decide(cluster(nodes, [*greedy, huge, *taxi_pods("taxi")]).freeze(), POLICY).decisions
    bound = {each.pod for each in decisions if isinstance(each, Bind)}
    assert bound == {each.key for each in taxi_pods("taxi")}


@pytest.mark.parametrize("policy", [POLICY, "pogonip", "pogonip-greedy", "pogonip-opt"])
def test_pods_not_created_yet_are_waited_for(policy: str) -> None:
    pods = taxi_pods("taxi")[:3]
    promised = [Workload(WorkloadKey("default", f"taxi-{k}"), replicas=1, app_group="taxi") for k in range(5)]
    decisions = decide(cluster(nodes_of(scenario_1()), pods, workloads=promised).freeze(), policy).decisions
    assert [type(each) for each in decisions] == [Wait] * 3
    assert isinstance(decisions[0], Wait) and decisions[0].seconds is not None, "to be asked again, not refused"
    told = "3 of 5 pods have a place" if policy == POLICY else "more pods are expected"
    assert told in decisions[0].why


def test_a_queue_never_goes_to_the_cloud() -> None:
    crowded = [each for k in range(11) for each in taxi_pods(f"taxi{k}")]
    where = binds(cluster(nodes_of(scenario_2()), crowded).freeze())
    instance = scenario_2()
    queues = [node for name, node in where.items() if "queue" in name]
    assert len(queues) == 10 and all(instance.is_edge[instance.index[node]] for node in queues)


def test_pods_without_an_application_are_scheduled_as_usual() -> None:
    assert binds(cluster(nodes_of(scenario_1()), [pod("plain-0", cpu="100m", memory="64Mi")]).freeze())


def test_edge_nodes_score_a_hundred_and_cloud_prices_step_down() -> None:
    table = cluster(nodes_of(scenario_2())).nodes
    scores = dict(zip(table.names, price_scores(table), strict=True))
    assert [scores[name] for name in ("cn", "small-0", "medium-0", "large-0")] == pytest.approx([100, 75, 50, 25])


def test_edge_prices_step_down_above_every_cloud_node() -> None:
    nodes = nodes_of(scenario_2())
    priced = [
        replace(each, price_per_hour={"cn": 0.5, "w1": 0.9}.get(each.name, each.price_per_hour)) for each in nodes
    ]
    table = cluster(priced).nodes
    scores = dict(zip(table.names, price_scores(table), strict=True))
    assert scores["w2"] == 100.0, "no price at all"
    assert scores["w2"] > scores["cn"] > scores["w1"] > scores["small-0"] == pytest.approx(75.0)


def test_an_application_that_lacks_pods_takes_no_place_from_a_complete_one() -> None:
    """The edge has room for ten queues, and ten applications that are one pod short come first."""
    early = [each for k in range(10) for each in taxi_pods(f"early{k}")]
    late = taxi_pods("late", created=99.0)
    promised = [
        Workload(WorkloadKey("default", f"early{k}-{part}"), replicas=1, app_group=f"early{k}")
        for k in range(10)
        for part in range(6)
    ]
    decisions = decide(cluster(nodes_of(scenario_2()), [*early, *late], workloads=promised).freeze(), POLICY).decisions
    assert {each.pod for each in decisions if isinstance(each, Bind)} == {each.key for each in late}
    waits = [each for each in decisions if isinstance(each, Wait)]
    assert len(waits) == 50 and all("5 of 6 pods have a place" in each.why for each in waits)


@pytest.mark.parametrize("policy", [POLICY, "pogonip", "pogonip-greedy", "pogonip-opt"])
def test_a_complete_application_waits_for_those_that_still_arrive_but_not_for_ever(policy: str) -> None:
    patient = resolve(policy).with_args("AtomicDeployment", settleSeconds=2.0)

    def placed(now: float) -> set[str]:
        pods = [*taxi_pods("early"), *taxi_pods("late", created=8.5)]
        state = cluster(nodes_of(scenario_2()), pods, now=now)
        return {
            each.pod.split("/")[1].split("-")[0]
            for each in decide(state.freeze(), patient).decisions
            if isinstance(each, Bind)
        }

    assert placed(9.0) == set()
    assert placed(10.1) == {"early"}, "five times the settling time is enough"
    assert placed(10.6) == {"early", "late"}
