"""One application makes room for another of its namespace if all of their users together gain by it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState, Evict, Pod, WorkloadKey
from ecotone.model.columns.nodes import CPU
from ecotone.model.objects import DisruptionBudget
from ecotone.model.selectors import LabelSelector

MAIL = WorkloadKey("default", "mail")


def cluster(*, mails: float = 0.5, tenant: str = "default") -> ClusterState:
    """web serves users at `near` from `far`, because mail, another application of theirs that they seldom ask, fills `near`."""
    state = nodes("near", "far", "other", cpu=1000)
    put(state, "web", ["far"], users={"near": 10.0}, cpu=600, use=20.0, group="shop")
    put(state, "mail", ["near"], users={"near": mails}, cpu=700, use=20.0, group="post", namespace=tenant)
    return state


def moves(state: ClusterState) -> list[tuple[str, str]]:
    found = deschedule(state.freeze(), "ecotone").decisions
    return [(each.pod, each.target) for each in found if isinstance(each, Evict)]


def carried_out(state: ClusterState, found: list[Evict], memory: dict[str, object]) -> None:
    """All at once: plain moves leave, replacements come, those that waited for them leave; nothing ever exceeds a node."""
    state.memory = memory
    pods = [(each, pod) for each in found if (pod := state.find_pod(each.pod)) is not None]
    assert len(pods) == len(found)
    for each, pod in pods:
        if not each.surge:
            state.drop_pod(pod.key)
    for each, pod in pods:
        state.put_pod(replace(pod, name=f"{pod.name}x", uid=f"{pod.uid}x", node=each.target))
    assert (state.usage.requested[:, CPU] <= state.nodes.allocatable[:, CPU]).all()
    for each, pod in pods:
        if each.surge:
            state.drop_pod(pod.key)


def test_the_application_that_loses_less_goes_and_the_other_one_follows() -> None:
    state = cluster()
    decisions, memory = deschedule(state.freeze(), "ecotone")
    found = [each for each in decisions if isinstance(each, Evict)]
    assert [each.pod for each in found] == ["default/mail-0"]
    carried_out(state, found, dict(memory))
    assert moves(state) == [("default/web-0", "near")]


def test_nobody_goes_for_one_who_gains_less() -> None:
    assert moves(cluster(mails=10.0)) == []


def test_pods_of_another_namespace_stay() -> None:
    assert moves(cluster(tenant="others")) == []


def test_a_budget_that_allows_nothing_is_kept() -> None:
    state = cluster()
    state.budgets = (DisruptionBudget("default", "mail", LabelSelector.of_labels({"app": "mail"}), allowed=0),)
    assert moves(state) == []


def test_one_that_moved_a_moment_ago_is_asked_later_though_no_figure_changes() -> None:
    state = cluster()
    state.last_moves = {MAIL: NOW - 10.0}
    decisions, memory = deschedule(state.freeze(), "ecotone")
    assert decisions == ()
    state.memory = dict(memory)
    state.now = NOW + 51.0
    assert [pod for pod, _ in moves(state)] == ["default/mail-0"]


def crowd(seed: int) -> ClusterState:
    """Applications of a gateway, a store and a consumer that nobody waits for, on two near nodes and two far ones."""
    draw = random.Random(seed)
    state = nodes("near", "next", "far", "cloud", cpu=2000, small={"cloud": 16000}, rtt=40.0)
    left = {"near": 2000, "next": 2000, "far": 2000, "cloud": 16000}
    for number in range(draw.randint(2, 4)):
        rate = draw.choice([2.0, 10.0, 30.0])
        sizes = {name: draw.choice([200, 500, 900]) for name in ("gate", "store", "reader")}
        homes: dict[str, list[str]] = {}
        for name, size in sizes.items():
            replicas = draw.randint(1, 2)
            homes[name] = []
            for _ in range(replicas):
                home = draw.choice([each for each, room in left.items() if room >= size])
                left[home] -= size
                homes[name].append(home)
        own = {name: f"{name}{number}" for name in sizes}
        put(state, own["gate"], homes["gate"], calls={own["store"]: rate}, users={"near": rate},
            cpu=sizes["gate"], group=f"g{number}")  # fmt: skip
        put(state, own["store"], homes["store"], calls={own["reader"]: rate}, waited=False,
            cpu=sizes["store"], group=f"g{number}")  # fmt: skip
        put(state, own["reader"], homes["reader"], cpu=sizes["reader"], group=f"g{number}")
    return state


@pytest.mark.parametrize("seed", range(12))
def test_room_pods_and_budgets_are_kept_whatever_makes_way_for_whom(seed: int) -> None:
    state = crowd(seed)
    for step in range(12):
        workloads: dict[WorkloadKey, list[Pod]] = {}
        for pod in state.usage.pods():
            workloads.setdefault(pod.kind.workload, []).append(pod)
        state.budgets = tuple(
            DisruptionBudget("default", key.name, LabelSelector.of_labels({"app": key.name}), allowed=len(own) - 1 or 1)
            for key, own in workloads.items()
        )
        decisions, memory = deschedule(state.freeze(), "ecotone")
        found = [each for each in decisions if isinstance(each, Evict)]
        for key, own in workloads.items():
            going = [each for each in found if not each.surge and each.pod in {pod.key for pod in own}]
            assert len(going) < len(own), f"{key.name} would be left without a pod in step {step}"
        carried_out(state, found, dict(memory))
        state.now += 5.0
