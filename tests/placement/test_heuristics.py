"""Heuristics, checker and channel requirements on instances of every kind."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.experiments.pogonip.instances import edge_cluster, random_small
from ecotone.experiments.pogonip.kubernetes import scheduled
from ecotone.model.errors import InputError
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.heuristic.pogonip import Order, Tie, pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication
from ecotone.placement.problem.links import Link, LinkGraph, QosRequirement
from ecotone.placement.problem.solution import Placement, figures
from ecotone.placement.problem.taxi import scenario_1, scenario_2


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 100_000),
    st.sampled_from(["queues-first", "application"]),
    st.sampled_from(["name", "latency", "random"]),
)
def test_every_heuristic_placement_is_valid(seed: int, order: Order, tie: Tie) -> None:
    instance = random_small(seed)
    assert violations(instance, pogonip(instance, order=order, tie=tie, seed=seed)) == []
    assert violations(instance, improved_greedy(instance, tie=tie, seed=seed)) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_permuting_the_hosts_permutes_the_answer(seed: int, shuffle) -> None:
    instance = random_small(seed)
    order = list(range(len(instance.hosts)))
    shuffle.shuffle(order)
    permuted = replace(
        instance, hosts=tuple(instance.hosts[k] for k in order), distance=instance.distance[np.ix_(order, order)]
    )
    for tie in ("name", "latency", "random"):
        one, other = pogonip(instance, tie=tie), pogonip(permuted, tie=tie)
        assert named(instance, one) == named(permuted, other)


def named(instance: Instance, placement: Placement) -> list[list[str] | None]:
    return [None if row is None else [instance.hosts[h].name for h in row] for row in placement.hosts]


def test_a_large_cluster_is_placed_validly() -> None:
    instance = edge_cluster(nodes=120, applications=60, classes=3, bound_ms=80.0)
    for placement in (pogonip(instance), improved_greedy(instance)):
        assert violations(instance, placement) == []
        assert figures(instance, placement).apps_placed > 0


def test_a_discarded_application_leaves_no_trace() -> None:
    hosts = (Host("e", "edge", (1000, 1000)),)
    big, fits = Component("m", (900, 900)), Component("m", (100, 100))
    queue = Component("q", (500, 500))
    applications = (QueueApplication("a", queue, (big,), 1.0), QueueApplication("b", queue, (fits,), 2.0))
    instance = Instance(hosts, applications, ("e",), np.zeros((1, 1)))
    placement = pogonip(instance)
    assert placement.hosts == (None, (0, 0))
    assert "microservice m" in placement.reasons["a"] and "there is no cloud node" in placement.reasons["a"]


CHANGES = [
    (lambda hosts, i: (hosts[0], i.index["small-0"], *hosts[2:]), None),
    (lambda hosts, i: (i.index["small-0"], *hosts[1:]), "not an edge node"),
    (lambda hosts, i: (i.index["w2"], *hosts[1:]), "from the control node"),
    (lambda hosts, i: (hosts[0], i.index["w2"], *hosts[2:]), "from its queue"),
    (lambda hosts, i: hosts[:-1], "all or nothing"),
]


@pytest.mark.parametrize(("change", "complaint"), CHANGES)
def test_the_checker_finds_what_is_wrong(change, complaint: str | None) -> None:
    instance = scenario_2(1)
    hosts = pogonip_opt(instance).placement.hosts[0]
    found = violations(instance, Placement(hosts=(change(hosts, instance),)))
    assert found == [] if complaint is None else any(complaint in each for each in found)


def test_the_checker_counts_what_lands_on_a_node() -> None:
    instance = scenario_1()
    all_on_one = Placement(hosts=((0, 0, 0, 0, 0),))
    assert any("memory placed" in each for each in violations(instance, all_on_one))
    assert violations(instance, Placement(hosts=(None,))) == ["taxi-0: rejected without a reason"]


def test_a_channels_bandwidth_decides_where_a_microservice_may_run() -> None:
    hosts = tuple(Host(name, "edge", free) for name, free in (("q", (100, 100)), ("near", (50, 50)), ("far", (50, 50))))
    links = LinkGraph(
        ["q", "near", "far"], [Link("q", "near", 1.0, bandwidth=1e6), Link("q", "far", 30.0, bandwidth=1e9)]
    )
    wide = Component("m", (50, 50), qos=QosRequirement(min_bandwidth=1e8))
    application = QueueApplication("a", Component("q", (100, 100)), (wide,), 50.0)
    instance = Instance(hosts, (application,), ("q",), links.matrix(["q", "near", "far"]), links=links)
    for placement in (pogonip(instance), improved_greedy(instance), pogonip_opt(instance).placement):
        assert placement.hosts == ((0, 2),) and violations(instance, placement) == []
    assert violations(instance, Placement(hosts=((0, 1),))) != []


def test_running_components_stay_and_cost_nothing() -> None:
    instance = scenario_1()
    application = instance.applications[0]
    pinned = replace(application, queue=replace(application.queue, pinned="w3"))
    hosts = tuple(replace(h, free=(2000, 0), in_use=True) if h.name == "w3" else h for h in instance.hosts)
    running = replace(instance, applications=(pinned,), hosts=hosts)
    for placement in (pogonip(running), pogonip_opt(running).placement):
        assert placement.hosts[0] is not None and placement.hosts[0][0] == running.index["w3"]
        assert violations(running, placement) == []


def test_requests_of_zero_are_refused() -> None:
    instance = scenario_1()
    application = instance.applications[0]
    empty = replace(application, queue=replace(application.queue, demand=(0, 1)))
    with pytest.raises(InputError, match="cpu request must be more than zero"):
        replace(instance, applications=(empty,))


def test_first_fit_leaves_an_application_half_placed_and_does_not_count_it() -> None:
    instance = scenario_2(8)
    run = scheduled(instance, "first-fit")
    assert any(-1 in row for row in run.hosts)
    assert figures(instance, run.placement(instance)).apps_placed < 8


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.data())
def test_hosts_that_cannot_be_reached_are_never_used(seed: int, data: st.DataObject) -> None:
    """Some hosts are cut off, the cloud among them now and then: every solver works around them."""
    instance = random_small(seed)
    cut = data.draw(st.sets(st.integers(0, len(instance.hosts) - 1), max_size=3))
    distance = instance.distance.copy()
    for host in cut:
        distance[host, :] = distance[:, host] = np.inf
    np.fill_diagonal(distance, 0.0)
    broken = replace(instance, distance=distance)
    for placement in (pogonip(broken), improved_greedy(broken), pogonip_opt(broken, time_limit=None).placement):
        assert violations(broken, placement) == []


def test_a_cluster_without_edge_nodes_rejects_everything_with_a_reason() -> None:
    instance = scenario_2(2)
    cloud = [k for k in range(len(instance.hosts)) if not instance.is_edge[k]]
    bare = replace(
        instance,
        hosts=tuple(instance.hosts[k] for k in cloud),
        distance=instance.distance[np.ix_(cloud, cloud)],
        control=(instance.hosts[cloud[0]].name,),
        links=None,
    )
    for placement in (pogonip(bare), improved_greedy(bare), pogonip_opt(bare).placement):
        assert placement.hosts == (None, None) and len(placement.reasons) == 2
