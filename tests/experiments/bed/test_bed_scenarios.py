"""What is played on a bed is what is simulated beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ecotone.experiments.bed.agreement import Played, placements, visit_costs
from ecotone.experiments.bed.fitting import asking_for
from ecotone.experiments.bed.overhead import cost, per_visit, with_overhead
from ecotone.experiments.bed.playing.contenders import ALL, upstream_policy
from ecotone.experiments.bed.scenarios import Schedule, pinned, scaled, sock_shop
from ecotone.model.quantity import milli
from ecotone.services.install import installation
from ecotone.testbed.application.users import Sent, plans
from ecotone.testbed.application.workload import application_objects
from ecotone.testbed.layout import quota_share, topology_of

SCHEDULE = Schedule(warmup=40.0, phase=60.0, users=7)
SCENARIO = sock_shop(100, SCHEDULE)


def test_phases_follow_each_other_and_the_first_begins_with_the_warm_up() -> None:
    ends = [load.at + load.length for load in SCENARIO.load]
    assert [load.at for load in SCENARIO.load] == [0.0, *ends[:-1]]
    assert ends[0] == SCHEDULE.warmup + SCHEDULE.phase
    assert SCENARIO.duration == ends[-1]
    assert len({load.sources for load in SCENARIO.load}) == len(SCENARIO.load)


def test_the_simulator_gets_the_cpu_that_the_nodes_really_have_and_the_same_demands() -> None:
    share = quota_share(topology_of(SCENARIO).nodes, cores=1.2)
    real = scaled(SCENARIO, share)
    assert abs(sum(node.cpu for node in real.nodes) - 1200) <= len(real.nodes)
    assert real.application.endpoint("front-end", "cart") == SCENARIO.application.endpoint("front-end", "cart")
    asked = {each.name: each.cpu_request for each in SCENARIO.application.services}
    for each in real.application.services:
        whole = asked[each.name]
        assert each.cpu_request == (None if whole is None else max(1, int(whole * share)))


def test_what_is_in_use_before_users_come_is_taken_off_and_everything_still_fits() -> None:
    real = scaled(SCENARIO, 0.15, {"edge-1": 0.05})
    cpu = {node.name: node.cpu for node in real.nodes}
    assert (cpu["edge-1"], cpu["edge-2"]) == (100, 150)
    asked = sum(each.cpu_request or 0 for each in SCENARIO.application.services)
    assert sum(each.cpu_request or 0 for each in real.application.services) / cpu["edge-1"] <= asked / 1000


def test_placements_put_every_service_somewhere_and_leave_databases_in_the_cloud() -> None:
    for placement in placements(SCENARIO).values():
        services = pinned(SCENARIO, placement).application.services
        assert all(each.pinned is not None for each in services)
        assert {each.pinned for each in services if each.external} == {"cloud-1"}


def test_every_user_enters_once_per_phase_at_the_node_that_the_scenario_says() -> None:
    found = plans(SCENARIO, lambda node, service: f"http://{node}/{service}")
    for number, load in enumerate(SCENARIO.load):
        streams = [(node, each) for node, plan in found.items() for each in plan.streams if each.phase == number]
        assert sum(each.users for _, each in streams) == load.users == 7
        assert {node for node, _ in streams} == set(load.sources)
        assert all(each.url == f"http://{node}/{load.service}/call/{load.endpoint}" for node, each in streams)


def test_an_open_loop_is_shared_out_over_its_sources() -> None:
    load = replace(SCENARIO.load[0], poisson=9.0, users=0, sources=("edge-1", "edge-2", "edge-3"))
    found = plans(replace(SCENARIO, load=(load,)), lambda _, __: "")
    assert {node: plan.streams[0].poisson for node, plan in found.items()} == dict.fromkeys(load.sources, 3.0)
    assert len({plan.streams[0].seed for plan in found.values()}) == 3


def test_peers_use_kube_scheduler_and_are_not_predicted() -> None:
    for each in ALL.values():
        assert (each.simulated is None) == (each.strategy is not None)
        assert (each.scheduler == "default-scheduler") == (each.policy is None)
        if each.strategy is not None:
            (profile,) = upstream_policy(each.strategy, spared=["kube-system"])["profiles"]
            assert profile["plugins"]["balance"]["enabled"] == [each.strategy]
            assert profile["pluginConfig"][0]["args"]["evictableNamespaces"] == {"exclude": ["kube-system"]}


def test_what_a_visit_to_each_service_costs_beyond_its_demand_is_found_again() -> None:
    """front-end, carts and their database: three visits."""
    whole = cost(SCENARIO.application, "front-end", "cart")
    assert [visits for _, visits in whole.values()] == [1, 1, 1]
    assert SCENARIO.load[0].endpoint == "cart"
    sent = [Sent(float(at), 0.1, True, 0) for at in range(50)]
    overhead = {name: 0.001 * (1 + number) for number, name in enumerate(whole)}
    dearer = cost(with_overhead(SCENARIO, overhead).application, "front-end", "cart")
    found = per_visit(SCENARIO, sent, {name: 50 * seconds for name, (seconds, _) in dearer.items()})
    assert found == pytest.approx(overhead)


def test_services_that_were_not_measured_cost_what_the_others_do_on_average_and_nothing_costs_less_than_nothing() -> (
    None
):
    told = with_overhead(SCENARIO, {"front-end": 0.003, "carts": -1.0}).application
    before = SCENARIO.application
    assert told.endpoint("front-end", "cart").cpu_mean == before.endpoint("front-end", "cart").cpu_mean + 0.003
    assert {each.cpu_mean for each in told.service("carts").endpoints.values()} == {0.0}
    assert {each.cpu_mean for each in told.service("user").endpoints.values()} == {
        0.0
    }  # on average less than its demand


def one(trial: int, spent: float, **more: Any) -> Played:
    return Played(
        trial=trial, mean_ms=1.0, p95_ms=2.0, requests=100, failed=0, spent_seconds={"web": spent},
        demand_seconds={"web": 0.1}, visits={"web": 100.0}, idle_cores={}, utilisation={}, machine={}, **more,
    )  # fmt: skip


def test_what_a_visit_costs_is_taken_over_all_runs() -> None:
    assert visit_costs([one(0, 0.3), one(1, 0.5)]) == pytest.approx({"web": 0.003})
    assert visit_costs([]) == {}


def _asked(objects: list[dict[str, Any]]) -> list[tuple[str, str, int, str]]:
    """Workload, container, millicores and memory of everything that asks for CPU."""
    found = []
    for each in objects:
        pod = each.get("spec", {}).get("template", {}).get("spec", {})
        for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
            amounts = container.get("resources", {}).get("requests", {})
            if "cpu" in amounts:
                name = each["metadata"]["name"]
                found.append((name, container["name"], milli(amounts["cpu"]), amounts["memory"]))
    return found


def test_where_nodes_offer_an_eighth_everything_asks_for_an_eighth_of_the_cpu_and_for_all_of_the_memory() -> None:
    objects = [
        *application_objects(SCENARIO, namespace="shop", scheduler="ecotone"),
        *installation(("monitor", "probe", "scheduler"), image="ecotone"),
    ]
    whole, less = _asked(objects), _asked([asking_for(0.125, each) for each in objects])
    assert len(whole) > len(SCENARIO.application.services)
    expected = [(name, container, max(1, round(cpu / 8)), memory) for name, container, cpu, memory in whole]
    assert less == expected
    assert _asked([asking_for(1.0, each) for each in objects]) == whole
