"""Every published formula, and our own cost, against straightforward loops over pods on random clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.model.objects import Pod
from ecotone.scheduling.costs import cost
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.ecotone.response_time import ResponseTime
from ecotone.scheduling.plugins.published.communication_aware import CommunicationAware
from ecotone.scheduling.plugins.published.nas import Nas
from ecotone.scheduling.plugins.published.netmarks import NetMarks
from ecotone.scheduling.plugins.published.network_aware import NetworkAware
from ecotone.scheduling.plugins.published.resource_aware import ResourceAware
from reference import communication, ecotone, nas, netmarks, sophos
from reference.random_worlds import new_pod, worlds
from reference.world import World

Loop = Callable[[World, Pod], list[float]]

FORMULAS: dict[str, tuple[Any, Loop]] = {
    "ra": (ResourceAware(), sophos.ra),
    "ra, memory only": (ResourceAware(alpha=0), lambda w, p: sophos.ra(w, p, alpha=0, beta=1)),
    "na": (NetworkAware(), sophos.na),
    "na, DAG paper": (
        NetworkAware(static=False, proxies=False, perPod=True),
        lambda w, p: sophos.na(w, p, static=False, proxies=False, per_pod=True),
    ),
    "na, static only": (NetworkAware(dynamic=False), lambda w, p: sophos.na(w, p, dynamic=False)),
    "na, literal sum": (NetworkAware(perPod=True), lambda w, p: sophos.na(w, p, per_pod=True)),
    "communication-aware": (
        CommunicationAware(alpha=2.0, beta=0.5, gamma=3.0),
        lambda w, p: communication.score(w, p, alpha=2.0, beta=0.5, gamma=3.0),
    ),
    "communication-aware, gamma of the cluster": (CommunicationAware(), communication.score),
    "netmarks": (NetMarks(), netmarks.score),
    "nas": (Nas(), nas.score),
    "ecotone": (ResponseTime(), lambda w, p: [-each for each in ecotone.cost(w, p)]),
}


@pytest.mark.parametrize("formula", FORMULAS)
@settings(max_examples=100)
@given(world=worlds, pick=st.data())
def test_columns_equal_loops_over_pods(formula: str, world: World, pick: Any) -> None:
    plugin, loop = FORMULAS[formula]
    pod, state = new_pod(world), world.state()
    expected = loop(world, pod)
    scored = plugin.score(Cycle(state, pod), state.nodes.all_rows)
    np.testing.assert_allclose(scored, expected, rtol=1e-9, atol=1e-12)
    rows = np.array(sorted(pick.draw(st.sets(st.sampled_from(range(len(world.nodes))), min_size=1))))
    np.testing.assert_allclose(plugin.score(Cycle(state, pod), rows), np.array(expected)[rows], rtol=1e-9, atol=1e-12)


@settings(max_examples=60)
@given(world=worlds)
def test_the_shared_cost_is_the_sum_of_its_parts(world: World) -> None:
    pod, state = new_pod(world), world.state()
    whole = cost.cost(state, pod.kind)
    np.testing.assert_allclose(whole, ecotone.cost(world, pod), rtol=1e-9)
    some = state.nodes.all_rows[::2]
    np.testing.assert_array_equal(cost.cost(state, pod.kind, some), whole[::2])
