"""Pods of an application that nobody has measured yet: placed together, by what their channels declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from ecotone.model import ClusterState, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.decisions import Bind
from ecotone.model.objects import ServiceSelector
from ecotone.model.selectors import LabelSelector, NodeAffinity, NodeTerm, Requirement
from ecotone.scheduling import decide

NOW = 100.0
SMALL, LARGE = 1 << 30, 3 << 30
Channels = Mapping[str, Sequence[str]]
DEEP: Channels = {"web": ["m1", "m2", "m3"], "m1": ["m4"], "m3": ["m5"], "m4": ["db-1"], "m2": ["db-2"]}


def cluster(
    links: Mapping[tuple[str, str], float],
    names: Sequence[str],
    *,
    rtt: float = 40.0,
    tiers: Mapping[str, str] | None = None,
    cpu: Mapping[str, int] | None = None,
    memory: int = 2 * SMALL,
) -> ClusterState:
    """Idle nodes whose distances are known."""
    state = ClusterState(now=NOW)
    state.set_nodes(
        Node(
            name, {"cpu": size, "memory": memory, "pods": 50}, available_cpu=float(size), available_memory=float(memory),
            latencies={
                other: links.get((name, other), links.get((other, name), rtt)) for other in names if other != name
            },
            tier=(tiers or {}).get(name), measured_at=NOW,
        )
        for name in names
        for size in ((cpu or {}).get(name, 2000),)
    )  # fmt: skip
    return state


def declare(
    state: ClusterState,
    channels: Channels,
    *,
    replicas: int = 1,
    memory: Mapping[str, int] | None = None,
    pinned: Mapping[str, str] | None = None,
    measured: bool = False,
) -> None:
    """Workloads that call each other, with waiting pods, in the order of their names."""
    names = list(dict.fromkeys([*channels, *(peer for peers in channels.values() for peer in peers)]))
    for index, name in enumerate(names):
        callers = [own for own, peers in channels.items() if name in peers]
        peers = [*channels.get(name, ()), *callers]
        key = WorkloadKey("default", name)
        state.put_workload(
            Workload(
                key, replicas=replicas, app_group="shop", affinity=dict.fromkeys(peers, 100.0),
                synchronous=dict.fromkeys(channels.get(name, ()), True), index=index,
                traffic={} if measured else None, measured_at=NOW if measured else None,
            )
        )  # fmt: skip
        asks = (memory or {}).get(name, SMALL)
        affinity = NodeAffinity()
        if name in (pinned or {}):
            term = NodeTerm(fields=(Requirement("metadata.name", "In", ((pinned or {})[name],)),))
            affinity = NodeAffinity(required=(term,))
        spec = PodSpec(
            requests=(("cpu", 100), ("memory", asks)),
            nonzero=(100, asks),
            scheduler_name="ecotone",
            node_affinity=affinity,
        )
        kind = PodKind("default", key, labels=(("app", name),), spec=spec, app_group="shop")
        for number in range(replicas):
            state.put_pod(Pod(f"{name}-{number}", f"u-{name}-{number}", kind, owner="rs", created=1.0))
        selector = LabelSelector.of_labels({"app": name})
        state.services = (*state.services, ServiceSelector("default", name, selector))


def placed(state: ClusterState, policy: str = "ecotone") -> dict[str, list[str]]:
    snapshot = state.freeze()
    found: dict[str, list[str]] = {}
    for each in decide(snapshot, policy).decisions:
        assert isinstance(each, Bind)
        found.setdefault(snapshot.pending[each.pod].kind.workload.name, []).append(each.node)
    return found


def test_those_that_talk_stand_together_although_the_first_ones_came_before_the_others() -> None:
    """db-1 and db-2 come first and know of nobody who has a place; one by one they would be spread."""
    state = cluster({}, ["a", "b", "c", "d"], rtt=100.0, memory=16 * SMALL)
    declare(state, DEEP)
    assert len({place for places in placed(state).values() for place in places}) == 1


def test_where_two_fit_on_a_node_the_busiest_pairs_share_one() -> None:
    state = cluster({("a", "b"): 20.0, ("c", "d"): 20.0}, ["a", "b", "c", "d"])
    declare(state, {"gateway": ["publisher", "reader"], "reader": ["store"]})
    found = placed(state)
    assert found["gateway"] == found["publisher"]
    assert found["reader"] == found["store"]
    assert {*found["gateway"], *found["reader"]} in ({"a", "b"}, {"c", "d"})


def test_users_are_looked_for_at_the_edge() -> None:
    """c and d are nearer to each other; a and b are where users come in."""
    tiers = {"a": "edge", "b": "edge", "c": "fog", "d": "cloud"}
    state = cluster({("a", "b"): 20.0, ("c", "d"): 10.0}, ["a", "b", "c", "d"], tiers=tiers)
    declare(state, {"gateway": ["publisher", "reader"], "reader": ["store"]})
    assert placed(state)["gateway"][0] in ("a", "b")


def test_nobody_goes_to_a_small_edge_for_users_who_may_not_come() -> None:
    tiers = {"edge": "edge", "cloud": "cloud"}
    cpu = {"edge": 1000, "cloud": 8000}
    state = cluster({}, ["edge", "cloud"], tiers=tiers, cpu=cpu, memory=16 * SMALL)
    declare(state, {"web": ["api"], "api": ["store"]})
    assert {place for places in placed(state).values() for place in places} == {"cloud"}


def test_a_pinned_peer_draws_the_whole_chain() -> None:
    state = cluster({}, ["a", "b", "c"], memory=16 * SMALL)
    declare(state, {"web": ["api"], "api": ["db"]}, pinned={"db": "c"})
    assert placed(state) == {"web": ["c"], "api": ["c"], "db": ["c"]}


def test_a_pod_that_can_stand_in_few_places_gets_one_near_to_those_it_talks_to() -> None:
    """The queue fits on `a` or `far` alone; its consumer stands beside it, not where it came first."""
    state = cluster({("a", "b"): 10.0, ("a", "c"): 20.0, ("b", "c"): 20.0}, ["a", "b", "c", "far"], rtt=90.0)
    state = _sized(state, {"a": LARGE, "far": LARGE})
    declare(state, {"device": ["queue"], "queue": ["store"]}, memory={"queue": LARGE, "store": 2 * SMALL})
    found = placed(state)
    assert (found["queue"], found["device"], found["store"]) in (
        (["a"], ["b"], ["c"]),
        (["a"], ["c"], ["b"]),
    )


def _sized(state: ClusterState, memory: Mapping[str, int]) -> ClusterState:
    found = ClusterState(now=NOW)
    found.set_nodes(
        replace(
            node,
            allocatable={**node.allocatable, "memory": memory.get(node.name, node.allocatable["memory"])},
            available_memory=float(memory.get(node.name, node.allocatable["memory"])),
        )
        for node in state.nodes.nodes
    )
    return found


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_that_are_spread_one_by_one_are_not_gathered_on_a_guess(replicas: int) -> None:
    state = cluster({}, ["a", "b", "c"], rtt=0.5, memory=64 * SMALL)
    declare(state, {"web": ["api"], "api": ["store"]}, replicas=replicas)
    assert all(len(set(places)) == replicas for places in placed(state).values())


def test_with_no_distance_known_everything_is_as_in_kubernetes() -> None:
    state = cluster({}, ["a", "b", "c"], memory=16 * SMALL)
    found = ClusterState(now=NOW)
    found.set_nodes(
        replace(node, latencies=None, available_cpu=None, available_memory=None, measured_at=None)
        for node in state.nodes.nodes
    )
    declare(found, {"web": ["api"], "api": ["store"]})
    assert placed(found) == placed(found, "kube-default")


def test_the_order_in_which_nodes_became_known_decides_nothing() -> None:
    names = ["a", "b", "c", "d", "e"]
    luck = Random(3)
    links = {(a, b): float(luck.choice((5, 20, 40, 80))) for a in names for b in names if a < b}
    answers = []
    for order in (names, names[::-1], luck.sample(names, len(names))):
        state = cluster(links, order)
        declare(state, {"web": ["api", "ads"], "api": ["store", "cache"]})
        answers.append(placed(state))
    assert answers[0] == answers[1] == answers[2]


def test_the_record_says_that_it_was_looked_at_as_a_whole() -> None:
    state = cluster({}, ["a", "b", "c", "d"], rtt=100.0, memory=16 * SMALL)
    declare(state, DEEP)
    told = [each.why for each in decide(state.freeze(), "ecotone").decisions if isinstance(each, Bind)]
    assert any("by the declared channels" in why for why in told)


def test_what_was_measured_is_not_guessed_at() -> None:
    """A workload that was measured and is silent says more than its channels: each pod goes to its own best node."""
    one, other = (cluster({}, ["a", "b", "c", "d"], rtt=100.0, memory=16 * SMALL) for _ in range(2))
    for state, measured in ((one, False), (other, True)):
        declare(state, DEEP, measured=measured)
    told = [each.why for each in decide(other.freeze(), "ecotone").decisions if isinstance(each, Bind)]
    assert not any("by the declared channels" in why for why in told)
