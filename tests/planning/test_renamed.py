"""A profile's name is nothing but a name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from ecotone.model import ClusterState, Evict, Wait
from ecotone.planning.plan import make_plan, plan_document
from ecotone.scheduling import POLICIES, Framework, Profile, decide
from talking_clusters import talking_clusters


def as_another(profile: Profile) -> Profile:
    """The same under the name of a policy that decides quite differently."""
    return replace(profile, name="first-fit" if profile.name == "ecotone" else "ecotone")


@pytest.mark.parametrize("name", POLICIES)
@given(state=talking_clusters())
@settings(max_examples=12, deadline=None)
def test_a_renamed_profile_decides_plans_and_groups_the_same(name: str, state: ClusterState) -> None:
    profile = POLICIES[name]
    renamed = as_another(profile)
    snapshot = state.freeze()
    assert decide(snapshot, renamed) == decide(snapshot, profile)
    before, after = make_plan(snapshot, profile, moves=True), make_plan(snapshot, renamed, moves=True)
    assert {**plan_document(after), "policy": name} == plan_document(before)
    for pod in snapshot.pending.values():
        assert Framework(renamed).groups_of(pod) == Framework(profile).groups_of(pod)


def test_the_clusters_of_this_test_give_the_descheduler_and_the_groups_something_to_do() -> None:
    moved: set[str] = set()
    held: set[str] = set()

    @given(state=talking_clusters())
    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    def look(state: ClusterState) -> None:
        for name in ("sophos", "ecotone", "pogonip-plugins"):
            for each in make_plan(state.freeze(), name, moves=True).decisions:
                if isinstance(each, Evict):
                    moved.add(name)
                if isinstance(each, Wait) and each.group:
                    held.add(name)

    look()
    assert moved == {"sophos", "ecotone"}
    assert held == {"pogonip-plugins"}


def test_a_first_fit_profile_called_ecotone_gets_no_descheduler_in_milliseconds() -> None:
    impostor = replace(POLICIES["first-fit"], name="ecotone")
    assert impostor.descheduler is None
    assert impostor.objective.unit == "points"
    assert Framework(impostor).cost is None
