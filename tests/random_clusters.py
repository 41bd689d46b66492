"""Random small clusters with everything that can make placing a pod hard, for property tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from builders import HOSTNAME, ZONE, cluster, labelled, node, pod
from ecotone.model.objects import DisruptionBudget, HostPort, Node, Pod, ServiceSelector, Workload, WorkloadKey
from ecotone.model.selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    NodeAffinity,
    NodeTerm,
    PodAffinity,
    PodTerm,
    Requirement,
    SpreadConstraint,
    Taint,
    Toleration,
)
from ecotone.model.state import ClusterState

APPS = ("web", "api", "db")
KEYS = (HOSTNAME, ZONE, "rack")
IMAGES = ("registry.example/web:1", "registry.example/db:2")
MEGABYTE = 1024 * 1024


def rarely(strategy: st.SearchStrategy[Any], otherwise: Any, *, one_in: int = 5) -> st.SearchStrategy[Any]:
    return st.integers(1, one_in).flatmap(lambda draw: strategy if draw == one_in else st.just(otherwise))


taints = st.builds(
    Taint,
    st.sampled_from(("gpu", "spot")),
    st.sampled_from(("", "yes")),
    st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute")),
)
tolerations = st.builds(
    Toleration,
    st.sampled_from(("gpu", "spot", "")),
    st.sampled_from(("Exists", "Equal")),
    st.sampled_from(("", "yes")),
    st.sampled_from(("", "NoSchedule", "PreferNoSchedule")),
)


@st.composite
def nodes(draw: Callable[..., Any], name: str) -> Node:
    labels = {}
    if draw(rarely(st.just(False), True)):
        labels["rack"] = draw(st.sampled_from(("r1", "r2")))
    labels["size"] = draw(st.sampled_from(("1", "2", "3")))
    return node(
        name,
        cpu=draw(st.sampled_from(("1", "2", "4", "8"))),
        memory=draw(st.sampled_from(("1Gi", "3Gi", "8Gi"))),
        pods=draw(st.sampled_from((3, 10, 110))),
        zone=draw(st.sampled_from(("east", "west", "north", None))),
        labels=labels,
        taints=draw(rarely(st.lists(taints, max_size=2), [])),
        unschedulable=draw(rarely(st.just(True), False, one_in=8)),
        images=draw(st.dictionaries(st.sampled_from(IMAGES), st.sampled_from((50 * MEGABYTE, 900 * MEGABYTE)))),
        extended=draw(rarely(st.just({"example.com/gpu": 2}), {})),
    )


requirements = st.one_of(
    st.builds(Requirement, st.just("size"), st.sampled_from(("Gt", "Lt")), st.sampled_from((("1",), ("2",)))),
    st.builds(Requirement, st.just("rack"), st.sampled_from(("In", "NotIn")), st.just(("r1",))),
    st.builds(Requirement, st.just(ZONE), st.sampled_from(("Exists", "DoesNotExist"))),
)
node_terms = st.builds(NodeTerm, st.lists(requirements, max_size=2).map(tuple), weight=st.sampled_from((1, 3, 50)))
selectors = st.one_of(
    st.sampled_from(APPS).map(lambda app: labelled(app=app)),
    st.just(LabelSelector((Requirement("app", "NotIn", ("db",)),))),
    st.just(EVERYTHING),
)


@st.composite
def pod_terms(draw: Callable[..., Any]) -> PodTerm:
    everywhere = draw(rarely(st.booleans(), False))
    return PodTerm(
        draw(selectors),
        draw(st.sampled_from(KEYS)),
        namespaces=frozenset() if everywhere else frozenset(draw(st.sampled_from((("shop",), ("shop", "other"))))),
        namespace_selector=draw(st.sampled_from((EVERYTHING, labelled(team="a")))) if everywhere else NOTHING,
        weight=draw(st.sampled_from((1, 7, 100))),
    )


pod_affinities = st.builds(
    PodAffinity,
    required=rarely(st.lists(pod_terms(), max_size=2).map(tuple), (), one_in=2),
    preferred=rarely(st.lists(pod_terms(), max_size=2).map(tuple), (), one_in=2),
)
spreads = st.builds(
    SpreadConstraint,
    st.sampled_from((1, 2)),
    st.sampled_from(KEYS),
    st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
    selectors,
    min_domains=st.sampled_from((1, 1, 3)),
    node_affinity_policy=st.sampled_from(("Honor", "Ignore")),
    node_taints_policy=st.sampled_from(("Ignore", "Honor")),
)


@st.composite
def templates(
    draw: Callable[..., Any], app: str, priorities: tuple[int, ...] = (0, 0, 0, 10, 100)
) -> Callable[..., Pod]:
    """A kind of pod: give it a name and further fields of a pod."""
    spec = {
        "priority": draw(st.sampled_from(priorities)),
        "preemption_policy": draw(rarely(st.just("Never"), "PreemptLowerPriority")),
        "tolerations": tuple(draw(rarely(st.lists(tolerations, max_size=2), []))),
        "node_selector": draw(rarely(st.just((("rack", "r1"),)), ())),
        "node_affinity": NodeAffinity(
            draw(rarely(st.lists(node_terms, max_size=2).map(tuple), None, one_in=8)),
            draw(rarely(st.lists(node_terms, max_size=2).map(tuple), (), one_in=3)),
        ),
        "pod_affinity": draw(rarely(pod_affinities, PodAffinity(), one_in=4)),
        "pod_anti_affinity": draw(rarely(pod_affinities, PodAffinity(), one_in=3)),
        "spread": tuple(draw(rarely(st.lists(spreads, min_size=1, max_size=2), [], one_in=2))),
        "images": tuple(draw(rarely(st.lists(st.sampled_from(IMAGES), max_size=2), [], one_in=2))),
        "host_ports": tuple(draw(rarely(st.lists(host_ports, max_size=1), []))),
    }
    fixed = {
        "namespace": draw(rarely(st.just("other"), "shop")),
        "workload": f"{app}-{draw(st.sampled_from(('x', 'y')))}",
        "labels": {"app": app},
        "cpu": draw(st.sampled_from((None, "100m", "500m", "1"))),
        "memory": draw(st.sampled_from((None, "100Mi", "700Mi"))),
        "extended": draw(rarely(st.sampled_from(({"example.com/gpu": 1}, {"example.com/fpga": 1})), {}, one_in=12)),
        "spec": spec,
    }
    return lambda name, **more: pod(name, **{**fixed, **more})


host_ports = st.builds(
    HostPort, st.sampled_from((80, 443)), st.just("TCP"), st.sampled_from(("0.0.0.0", "10.0.0.1", "10.0.0.2"))
)


@st.composite
def clusters(draw: Callable[..., Any], *, most_pending: int = 10, crowded: bool = False) -> ClusterState:
    """Up to six nodes, some pods that are there already (wherever), and some that wait, several of a kind in a row.

    `crowded`: many that run, all of low priority, and those that wait are more important.
    """
    names = [f"n{place}" for place in range(draw(st.integers(2, 6)))]
    kinds = [draw(templates(draw(st.sampled_from(APPS)))) for _ in range(draw(st.integers(1, 4)))]
    lowly = kinds
    if crowded:
        lowly = [draw(templates(draw(st.sampled_from(APPS)), (-5, 0, 5))) for _ in range(3)]
        kinds = [draw(templates(draw(st.sampled_from(APPS)), (100,))) for _ in range(2)]
    running = [
        lowly[draw(st.integers(0, len(lowly) - 1))](
            f"run-{place}",
            node=draw(st.sampled_from(names)),
            created=float(place),
            deleting=draw(rarely(st.booleans(), False)),
        )
        for place in range(draw(st.integers(8, 24) if crowded else st.integers(0, 12)))
    ]
    waiting = [
        kinds[draw(st.integers(0, len(kinds) - 1))](f"new-{place}", created=100.0 + place // 3)
        for place in range(draw(st.integers(1, most_pending)))
    ]
    services = draw(st.sampled_from(((), (ServiceSelector("shop", "web", labelled(app="web")),))))
    owners = draw(st.sampled_from(((), (Workload(WorkloadKey("shop", "api-x"), selector=labelled(app="api")),))))
    budgets = draw(st.sampled_from(((), (DisruptionBudget("shop", "db", labelled(app="db"), allowed=0),))))
    return cluster(
        [draw(nodes(name)) for name in names],
        [*running, *waiting],
        workloads=owners,
        services=services,
        budgets=budgets,
        namespaces={"shop": {"team": "a"}},
        now=1000.0,
        seed=draw(st.integers(0, 3)),
    )
