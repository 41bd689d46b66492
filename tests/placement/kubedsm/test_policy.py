"""`kubedsm` as a policy: binds, plans of moves in the policy's memory, variants by configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import cluster, node, pod
from ecotone.descheduling import deschedule
from ecotone.descheduling.steps import Step, StepPlan, from_memory, plan_in
from ecotone.model.decisions import Bind, Evict, Wait
from ecotone.model.errors import InputError
from ecotone.model.objects import AppGroup, DisruptionBudget, Pod, Reservation, Workload, WorkloadKey
from ecotone.model.selectors import LabelSelector
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.placement.kubedsm.configuration import VARIANTS, configuration
from ecotone.placement.kubedsm.from_snapshot import read
from ecotone.scheduling import decide, resolve
from ecotone.scheduling.profiles.policies import POLICIES
from ecotone.scheduling.profiles.profile import Profile, Solver

GIB = 1024**3


def nodes(*edge: str) -> list[Any]:
    near = [node(f"edge-{i}", cpu=cpu, memory=f"{cpu}Gi", tier="edge") for i, cpu in enumerate(edge)]
    return [*near, node("cloud", cpu="32", memory="32Gi", tier="cloud")]


def of(name: str, where: str | None = None, *, cpu: str = "1", ready: bool = True, **more: Any) -> Pod:
    return pod(
        name, node=where, cpu=cpu, memory=f"{cpu}Gi", ready=ready and where is not None, owner="ReplicaSet/x", **more
    )


def binds(snapshot: Snapshot, policy: Any = "kubedsm") -> dict[str, str]:
    return {each.pod: each.node for each in decide(snapshot, policy).decisions if isinstance(each, Bind)}


def moves(snapshot: Snapshot, policy: Any = "kubedsm") -> list[tuple[str, str, str]]:
    found = deschedule(snapshot, policy).decisions
    return [(each.pod, each.origin, each.target) for each in found if isinstance(each, Evict)]


def variant(**args: Any) -> Profile:
    return replace(resolve("kubedsm"), solver=Solver("kubedsm", args))


def test_new_pods_fill_the_edge_and_the_rest_goes_to_the_cloud() -> None:
    state = cluster(nodes("2"), [of(f"web-{i}") for i in range(3)])
    assert sorted(binds(state.freeze()).values()) == ["cloud", "edge-0", "edge-0"]


def test_more_pods_than_a_batch_are_placed_batch_by_batch() -> None:
    state = cluster(nodes("12"), [of(f"web-{i}") for i in range(25)])
    assert sorted(binds(state.freeze()).values()) == ["cloud"] * 13 + ["edge-0"] * 12


def test_pods_that_fit_nowhere_wait() -> None:
    found = decide(cluster(nodes("2"), [of("huge-0", cpu="64")]).freeze(), "kubedsm").decisions
    assert [type(each) for each in found] == [Wait]


def test_a_cloud_pod_comes_to_the_edge_when_there_is_room() -> None:
    state = cluster(nodes("2"), [of("web-0", "edge-0"), of("web-1", "cloud")])
    assert moves(state.freeze()) == [("default/web-1", "cloud", "edge-0")]


def test_a_services_only_pod_moves_after_its_replacement_has_started() -> None:
    (move,) = deschedule(cluster(nodes("2"), [of("web-0", "cloud")]).freeze(), "kubedsm").decisions
    assert isinstance(move, Evict)
    assert move.surge


def test_offloads_come_first_and_the_rest_of_the_plan_waits_for_the_room() -> None:
    half = Workload(WorkloadKey("default", "half"), replicas=2, edge_share=0.5)
    pods = [
        of("half-0", "edge-0", cpu="2"),
        of("half-1", "edge-1", cpu="2"),
        of("web-0", "edge-1"),
        of("web-1", "cloud"),
    ]
    state = cluster(nodes("2", "3"), pods, workloads=[half])
    first = deschedule(state.freeze(), "kubedsm")
    assert [(each.pod, each.target) for each in first.decisions if isinstance(each, Evict)] in (
        [("default/half-0", "cloud")],
        [("default/half-1", "cloud")],
    )
    left = plan_in(first.memory).steps
    assert [step.workload for step in left] == ["default/web"]

    gone = first.decisions[0].pod
    state.memory = dict(first.memory)
    state.drop_pod(gone)
    state.put_pod(of("half-2", "cloud", cpu="2", ready=False))
    waiting = deschedule(state.freeze(), "kubedsm")
    assert [each.pod for each in waiting.decisions] == ["default/web-1"], "another service need not wait for half-2"
    assert plan_in(waiting.memory).steps == ()


def test_a_move_between_edge_nodes_lets_a_large_pod_in() -> None:
    pods = [of("small-0", "edge-0"), of("small-1", "edge-1"), of("small-2", "edge-1")]
    state = cluster(nodes("4", "3"), [*pods, of("large-0", "cloud", cpu="4"), of("large-1", "cloud", cpu="4")])
    found = deschedule(state.freeze(), "kubedsm")
    assert [(each.pod, each.target) for each in found.decisions if isinstance(each, Evict)] == [
        ("default/small-0", "edge-1")
    ]
    assert [step.target for step in plan_in(found.memory).steps] == ["edge-0"]


def test_nothing_new_is_suggested_while_pods_are_on_their_way() -> None:
    state = cluster(nodes("3"), [of("web-0", "edge-0", ready=False), of("web-1", "cloud"), of("api-0", "cloud")])
    assert moves(state.freeze()) == []


def test_a_plan_whose_pod_has_gone_is_given_up_and_another_one_made() -> None:
    state = cluster(nodes("3"), [of("web-0", "edge-0"), of("web-1", "cloud")])
    state.memory = {
        "plan": StepPlan((Step("default/gone", "cloud", "edge-0"),), since=0.0, gain=1.0, made=1).as_memory()
    }
    assert moves(state.freeze()) == [("default/web-1", "cloud", "edge-0")]


def test_a_plan_that_takes_too_long_is_given_up() -> None:
    pods = [of("web-0", "edge-0"), of("web-1", "cloud"), of("api-0", "edge-0", ready=False)]
    steps = (Step("default/web", "cloud", "edge-0"),)
    state = cluster(nodes("2"), pods, now=500.0)
    state.memory = {"plan": StepPlan(steps, since=0.0, gain=1.0, made=1).as_memory()}
    assert plan_in(deschedule(state.freeze(), "kubedsm").memory).steps == ()


@pytest.mark.parametrize("memory", [None, 3, {"steps": 1}, {"steps": [["a"]], "since": 0, "gain": 0, "made": 1}])
def test_a_memory_that_is_no_plan_is_none(memory: object) -> None:
    assert from_memory(memory) == StepPlan()


def test_disruption_budgets_are_kept() -> None:
    state = cluster(nodes("3"), [of("web-0", "edge-0"), of("web-1", "cloud")])
    state.budgets = (DisruptionBudget("default", "web", LabelSelector.of_labels({"app": "web"}), allowed=0),)
    assert moves(state.freeze()) == []


def test_a_replacement_takes_the_place_reserved_for_it() -> None:
    state = cluster(nodes("2", "4"), [of("web-0", "edge-1"), of("web-1")])
    held = (("cpu", 1000), ("memory", GIB))
    state.reservations = (Reservation("r", "default", WorkloadKey("default", "web"), "", "edge-0", held, "u", 99.0),)
    assert binds(state.freeze()) == {"default/web-1": "edge-0"}


def test_reserved_room_is_not_given_to_others() -> None:
    state = cluster(nodes("1"), [of("web-0")])
    held = (("cpu", 1000), ("memory", GIB))
    state.reservations = (Reservation("r", "default", WorkloadKey("default", "api"), "", "edge-0", held, "u", 99.0),)
    assert binds(state.freeze()) == {"default/web-0": "cloud"}


def shares(state: ClusterState, **args: Any) -> dict[str, float]:
    found = read(state.freeze(), (), configuration(args)).cluster.services
    return {service.name: service.share for service in found}


def test_promises_come_from_arguments_then_annotations_then_the_default() -> None:
    workloads = [
        Workload(WorkloadKey("default", "a"), edge_share=0.3),
        Workload(WorkloadKey("default", "b"), target_latency_ms=100.0, app_group="shop"),
        Workload(WorkloadKey("default", "c"), edge_share=0.2),
    ]
    pods = [of(f"{name}-0", "cloud", app_group="shop") for name in "abcd"]
    state = cluster(nodes("2"), pods, workloads=workloads)
    state.app_groups = (AppGroup("default", "shop", tier_latency_ms={"edge": 0.0, "cloud": 400.0}),)
    assert shares(state, edgeShares={"c": 0.9}) == {
        "default/a": 0.3,
        "default/b": 0.75,
        "default/c": 0.9,
        "default/d": 1.0,
    }
    assert set(shares(state, ownShares=False, edgeShare=0.5).values()) == {0.5}


def test_without_migrations_nothing_that_runs_is_moved() -> None:
    state = cluster(nodes("2"), [of("web-0", "edge-0"), of("web-1", "cloud")])
    assert moves(state.freeze(), variant(**VARIANTS["NoMigration"])) == []
    assert moves(state.freeze(), variant(**VARIANTS["NoEdgeMigration"])) != []


@pytest.mark.parametrize("name", VARIANTS)
def test_every_published_variant_is_a_valid_configuration(name: str) -> None:
    assert configuration(VARIANTS[name]) != configuration({})


@pytest.mark.parametrize(
    "args",
    [{"batchsize": 3}, {"qos": "best"}, {"edgeShare": 2}, {"edgeShares": {"a": "x"}}, {"edgeMs": 9, "cloudMs": 3}],
)
def test_wrong_arguments_are_told_in_one_line(args: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        configuration(args)


def test_pods_of_several_namespaces_with_the_same_name_are_told_apart() -> None:
    state = cluster(nodes("1"), [of("web-0", "cloud"), of("web-1", "cloud", namespace="other")])
    assert len(moves(state.freeze())) == 1


def test_the_policy_moves_by_a_rule_that_any_profile_may_name() -> None:
    assert POLICIES["kubedsm"].descheduler is not None
    renamed = replace(POLICIES["kubedsm"], name="mine")
    state = cluster(nodes("2"), [of("web-0", "edge-0"), of("web-1", "cloud")])
    assert moves(state.freeze(), renamed) == moves(state.freeze())
