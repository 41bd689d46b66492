"""New applications whose pods are still being created: those that are there wait a moment for those they talk to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ecotone.model import ClusterState, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.decisions import Bind, Wait
from ecotone.scheduling import decide, resolve
from ecotone.services.scheduler.profiles import SETTLE_SECONDS, choose_profiles

NOW = 100.0
LIVE = resolve("ecotone").with_args("ResponseTime", settleSeconds=3.0)
CHAIN = ("web", "api", "db")


def cluster(*, now: float = NOW) -> ClusterState:
    state = ClusterState(now=now)
    size = {"cpu": 4000, "memory": 16 << 30, "pods": 50}
    state.set_nodes(Node(name, size, latencies={"a": 50.0, "b": 50.0}, measured_at=now) for name in ("a", "b"))
    return state


def deploy(
    state: ClusterState,
    name: str,
    *,
    pods: int = 1,
    replicas: int = 1,
    peers: Sequence[str] | None = None,
    created: float = NOW,
    node: str | None = None,
    group: str | None = "shop",
) -> list[str]:
    """A workload that asks for so many replicas, of which so many pods are there; in a chain, with its neighbours."""
    place = CHAIN.index(name)
    beside = [*CHAIN[max(0, place - 1) : place], *CHAIN[place + 1 : place + 2]] if peers is None else peers
    key = WorkloadKey("default", name)
    state.put_workload(Workload(key, replicas=replicas, app_group=group, affinity=dict.fromkeys(beside, 100.0)))
    kind = PodKind("default", key, spec=PodSpec(requests=(("cpu", 100),), nonzero=(100, 0)), app_group=group)
    made = [Pod(f"{name}-{n}", f"u-{name}-{n}", kind, node=node, owner="rs", created=created) for n in range(pods)]
    for pod in made:
        state.put_pod(pod)
    return [pod.key for pod in made]


def bound_and_held(state: ClusterState) -> tuple[set[str], dict[str, str]]:
    decisions = decide(state.freeze(), LIVE).decisions
    held = {each.pod: each.why for each in decisions if isinstance(each, Wait)}
    assert all(each.seconds == 3.0 for each in decisions if isinstance(each, Wait))
    return {each.pod for each in decisions if isinstance(each, Bind)}, held


def test_the_first_pods_wait_for_a_workload_that_channels_name_and_nobody_has_created_yet() -> None:
    state = cluster()
    there = [*deploy(state, "web"), *deploy(state, "api")]
    bound, held = bound_and_held(state)
    assert bound == set()
    assert set(held) == set(there)
    assert set(held.values()) == {"waits for the rest of its application default/shop: db lacks pods"}


def test_they_wait_for_pods_that_a_workload_asks_for_and_lacks() -> None:
    state = cluster()
    for name in CHAIN:
        deploy(state, name, pods=1 if name == "api" else 2, replicas=2)
    bound, held = bound_and_held(state)
    assert bound == set()
    assert "api lacks pods" in next(iter(held.values()))


def test_a_complete_application_does_not_wait() -> None:
    state = cluster()
    pods = {key for name in CHAIN for key in deploy(state, name)}
    assert bound_and_held(state) == (pods, {})


@pytest.mark.parametrize(("age", "waits"), [(2.9, True), (3.1, False)])
def test_nobody_waits_longer_than_a_moment_after_the_last_arrival(age: float, waits: bool) -> None:
    state = cluster()
    deploy(state, "web", created=NOW - age - 1)
    deploy(state, "api", created=NOW - age)
    bound, _ = bound_and_held(state)
    assert (bound == set()) == waits


def test_a_stream_of_arrivals_holds_nobody_for_ever() -> None:
    state = cluster()
    deploy(state, "web", created=NOW - 15.1)
    deploy(state, "api", created=NOW - 0.1)
    assert len(bound_and_held(state)[0]) == 2


def test_a_replica_of_an_application_that_runs_does_not_wait() -> None:
    state = cluster()
    deploy(state, "web", node="a")
    added = deploy(state, "api", pods=1, replicas=2)
    assert bound_and_held(state) == (set(added), {})


def test_a_peer_that_is_scaled_to_nothing_is_not_waited_for() -> None:
    state = cluster()
    there = {*deploy(state, "web"), *deploy(state, "api")}
    deploy(state, "db", pods=0, replicas=0)
    assert bound_and_held(state) == (there, {})


def test_pods_of_no_application_and_those_that_name_nobody_do_not_wait() -> None:
    state = cluster()
    there = {*deploy(state, "web", group=None), *deploy(state, "db", peers=())}
    assert bound_and_held(state) == (there, {})


def test_another_application_is_placed_meanwhile() -> None:
    state = cluster()
    deploy(state, "web")
    other = PodKind("other", WorkloadKey("other", "api"), spec=PodSpec(), app_group="shop")
    state.put_pod(Pod("api-0", "u-other", other, created=NOW))
    bound, held = bound_and_held(state)
    assert (bound, set(held)) == ({"other/api-0"}, {"default/web-0"})


def test_only_a_live_scheduler_waits() -> None:
    state = cluster()
    (pod,) = deploy(state, "web")
    (decision,) = decide(state.freeze(), "ecotone").decisions
    assert isinstance(decision, Bind) and decision.pod == pod
    live = choose_profiles(names=[], policy="ecotone", config=None)["ecotone"]
    assert live.args["ResponseTime"]["settleSeconds"] == SETTLE_SECONDS
