"""A round about one application: `only` spares the way through the whole cluster and changes no decision."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from descheduling.applications import nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.costs import request_cost
from ecotone.model import ClusterState, Pod
from ecotone.scheduling.profiles.policies import resolve

NAMES = ("a", "b", "c", "d")


def two_applications(seed: int) -> ClusterState:
    """Workloads of two groups anywhere; now and then one calls into the other group."""
    draw = random.Random(seed)
    state = nodes(*NAMES, rtt=draw.uniform(5.0, 90.0))
    for group in ("shop", "bank"):
        other = "bank" if group == "shop" else "shop"
        names = [f"{group}-{number}" for number in range(draw.randint(2, 4))]
        for number, name in enumerate(names):
            calls = {peer: draw.uniform(1.0, 50.0) for peer in names[number + 1 :] if draw.random() < 0.7}
            if draw.random() < 0.2:
                calls[f"{other}-1"] = draw.uniform(1.0, 20.0)
            users = {draw.choice(NAMES): draw.uniform(5.0, 50.0)} if number == 0 or draw.random() < 0.1 else {}
            homes = [draw.choice(NAMES) for _ in range(draw.randint(1, 3))]
            put(state, name, homes, calls=calls, users=users, group=group)
    return state


def belongs_elsewhere(pod: Pod) -> str | None:
    return None if pod.kind.app_group == "shop" else "it belongs to another application"


def test_looking_at_one_application_alone_decides_the_same() -> None:
    settings = resolve("ecotone").descheduler
    assert settings is not None
    moved = 0
    for seed in range(60):
        view = two_applications(seed).freeze()
        only = frozenset(kind.workload for kinds in view.named.values() for kind in kinds if kind.app_group == "shop")
        scoped = replace(settings, stays=belongs_elsewhere)
        whole = deschedule(view, "ecotone", scoped)
        narrow = deschedule(view, "ecotone", replace(scoped, only=only))
        assert narrow.decisions == whole.decisions, f"seed {seed}"
        moved += len(whole.decisions)
    assert moved > 60


def test_what_a_request_costs_is_what_the_plan_said_it_would() -> None:
    state = nodes("a", "b", rtt=50.0)
    put(state, "web", ["b"], calls={"store": 10.0}, users={"a": 10.0})
    put(state, "store", ["b"])
    cost = request_cost(state.freeze(), resolve("ecotone"), {("default", "web")})
    assert cost is not None
    assert 50.0 <= cost < 51.0
    assert request_cost(state.freeze(), resolve("ecotone"), {("default", "nobody")}) is None


def test_a_missed_deadline_costs_what_the_profile_charges_for_it() -> None:
    state = nodes("a", "b", rtt=50.0)
    put(state, "web", ["a"], calls={"store": 10.0}, users={"a": 10.0})
    put(state, "store", ["b"])
    web = next(each for key, each in state.workloads.items() if key.name == "web")
    state.put_workload(replace(web, soft_deadlines={"store": 20.0}))
    costs = [
        request_cost(
            state.freeze(), resolve("ecotone").with_args("ResponseTime", latePerMs=price), {("default", "web")}
        )
        for price in (0.0, 2.0)
    ]
    assert costs[0] is not None and costs[1] is not None
    assert costs[1] - costs[0] == pytest.approx(2.0 * 30.0)


def test_an_application_that_nobody_uses_has_no_cost() -> None:
    state = nodes("a", "b")
    put(state, "web", ["a"], calls={"store": 10.0})
    put(state, "store", ["b"])
    assert request_cost(state.freeze(), resolve("ecotone"), {("default", "web")}) is None
