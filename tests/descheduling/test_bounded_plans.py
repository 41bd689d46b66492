"""A bound that ends the search before it begins changes no decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.applications import chain, nodes
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import rule
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.policies import resolve
from talking_clusters import talking_clusters


def decided(snapshot: Snapshot, *, searching: bool) -> object:
    """Whoever asks why pods stay makes every application be searched."""
    profile = resolve("ecotone")
    assert profile.descheduler is not None
    told: dict[WorkloadKey, str] = {}
    chosen = replace(profile.descheduler, told=told.__setitem__ if searching else None)
    return deschedule(snapshot, profile, chosen).decisions


@settings(max_examples=60)
@given(talking_clusters())
def test_with_the_bound_the_same_moves_are_made(state: ClusterState) -> None:
    snapshot = state.freeze()
    assert decided(snapshot, searching=False) == decided(snapshot, searching=True)


@settings(max_examples=30)
@given(
    homes=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3),
    users=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([5.0, 40.0]), min_size=1),
    near=st.sampled_from([None, "PreferSameNode"]),
)
def test_with_the_bound_chains_go_where_they_went(homes: list[str], users: dict[str, float], near: str | None) -> None:
    state = nodes("a", "b", "c")
    chain(state, homes, users=users, near=near)
    snapshot = state.freeze()
    assert decided(snapshot, searching=False) == decided(snapshot, searching=True)


def test_an_application_with_its_users_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    state = nodes("a", "b", "c")
    chain(state, ["b", "b"], users={"b": 20.0})

    def refuse(*_: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(rule, "Search", refuse)
    assert decided(state.freeze(), searching=False) == ()
    with pytest.raises(AssertionError, match="searched"):
        decided(state.freeze(), searching=True)
