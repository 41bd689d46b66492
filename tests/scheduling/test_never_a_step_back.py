"""With nothing measured `ecotone` does what kube-scheduler does; with measurements it gives up no wish for nothing."""

from __future__ import annotations

from random import Random

import pytest

from builders import HOSTNAME, ZONE, cluster, labelled, node, pod
from ecotone.model.decisions import Bind
from ecotone.model.objects import Node, Pod, ServiceSelector, Workload, WorkloadKey
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement, SpreadConstraint, Taint
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide

GIGABYTE = 1 << 30


def unmeasured(seed: int) -> ClusterState:
    """Nodes in zones, some tainted, some with images; Deployments of several replicas, some with wishes."""
    luck = Random(seed)
    nodes = [
        node(
            f"n{number}", cpu=luck.choice(("4", "8")), memory="16Gi",
            labels={HOSTNAME: f"n{number}", ZONE: f"z{number % luck.randint(1, 3)}", "disk": luck.choice(("ssd", "hdd"))},
            taints=(Taint("spot", "", "PreferNoSchedule"),) if luck.random() < 0.2 else (),
        )
        for number in range(luck.randint(3, 8))
    ]  # fmt: skip
    pods: list[Pod] = []
    services = []
    workloads = []
    for app in ("web", "api", "db")[: luck.randint(1, 3)]:
        wishes: dict[str, object] = {}
        if luck.random() < 0.4:
            wish = NodeTerm(expressions=(Requirement("disk", "In", ("ssd",)),), weight=luck.randint(1, 100))
            wishes["node_affinity"] = NodeAffinity(preferred=(wish,))
        if luck.random() < 0.3:
            wishes["spread"] = (SpreadConstraint(1, ZONE, "ScheduleAnyway", labelled(app=app)),)
        count = luck.randint(2, 6)
        pods += [
            pod(
                f"{app}-{number}",
                cpu=luck.choice(("100m", "250m")),
                memory="256Mi",
                created=float(number),
                spec=wishes,
            )
            for number in range(count)
        ]
        services.append(ServiceSelector("default", app, labelled(app=app)))
        workloads.append(Workload(WorkloadKey("default", app), replicas=count, selector=labelled(app=app)))
    return cluster(nodes, pods, services=tuple(services), workloads=tuple(workloads), seed=seed)


def placed(state: ClusterState, policy: str) -> dict[str, list[Node]]:
    """Where the pods of each workload go."""
    snapshot = state.freeze()
    found: dict[str, list[Node]] = {}
    for each in decide(snapshot, policy).decisions:
        if isinstance(each, Bind):
            name = snapshot.pending[each.pod].kind.label("app") or ""
            found.setdefault(name, []).append(snapshot.nodes.nodes[snapshot.nodes.index[each.node]])
    return found


@pytest.mark.parametrize("policy", ["ecotone", "ecotone-fast"])
@pytest.mark.parametrize("block", range(8))
def test_without_measurements_workloads_spread_as_widely(block: int, policy: str) -> None:
    for seed in range(25 * block, 25 * block + 25):
        state = unmeasured(seed)
        ours, theirs = placed(state, policy), placed(state, "kube-default")
        assert ours.keys() == theirs.keys()
        for app, nodes in ours.items():
            other = theirs[app]
            assert len({each.name for each in nodes}) >= len({each.name for each in other}), (seed, app)
            assert len({each.labels[ZONE] for each in nodes}) >= len({each.labels[ZONE] for each in other}), (seed, app)


@pytest.mark.parametrize("block", range(8))
def test_without_measurements_and_redundancy_wishes_are_met_as_often(block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        state = unmeasured(seed)
        ours, theirs = placed(state, "ecotone-fast"), placed(state, "kube-default")
        for app, nodes in ours.items():
            other = theirs[app]
            assert sum(bool(each.taints) for each in nodes) <= sum(bool(each.taints) for each in other), (seed, app)
            if state.freeze().pending[f"default/{app}-0"].spec.node_affinity.preferred:
                assert _ssd(nodes) >= _ssd(other), (seed, app)


def _ssd(nodes: list[Node]) -> int:
    return sum(each.labels["disk"] == "ssd" for each in nodes)


def two_tiers(*, far: float, wish: str = "edge") -> ClusterState:
    """Users at the edge, which is busier than the cloud; the pods would like to be in one of the two."""
    tiers = {"edge": (3600.0, "edge"), "cloud": (3900.0, "cloud")}
    nodes = [
        node(
            name, cpu="4", memory="8Gi", labels={HOSTNAME: name, "tier": tier}, available_cpu=free,
            available_memory=float(4 * GIGABYTE), latencies={other: far for other in tiers if other != name},
        )
        for name, (free, tier) in tiers.items()
    ]  # fmt: skip
    term = NodeTerm(expressions=(Requirement("tier", "In", (wish,)),), weight=50)
    affinity = NodeAffinity(preferred=(term,))
    pods = [pod(f"web-{number}", cpu="100m", memory="64Mi", spec={"node_affinity": affinity}) for number in range(1)]
    talk = {"users@edge": 10.0}
    workload = Workload(
        WorkloadKey("default", "web"),
        replicas=1,
        traffic={"users@edge": 1000.0},
        requests=talk,
        selector=labelled(app="web"),
    )
    return cluster(nodes, pods, workloads=(workload,))


def test_pods_that_prefer_the_edge_go_there_although_the_cloud_is_emptier() -> None:
    state = two_tiers(far=0.1)
    assert {each.name for each in placed(state, "ecotone")["web"]} == {"edge"}


def test_a_preference_gives_way_to_a_saving_that_people_notice() -> None:
    state = two_tiers(far=50.0, wish="cloud")
    assert {each.name for each in placed(state, "ecotone")["web"]} == {"edge"}


def test_a_preference_outweighs_a_small_saving() -> None:
    state = two_tiers(far=3.0, wish="cloud")
    assert {each.name for each in placed(state, "ecotone")["web"]} == {"cloud"}
