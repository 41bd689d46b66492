"""Random small clusters with everything that can make placing a pod hard, for property tests.

Sizes are hypothesis' to draw and to shrink; the details come from a seed, which is a hundred times cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

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
Template = Callable[..., Pod]
T = TypeVar("T")


def clusters(*, most_pending: int = 10, crowded: bool = False) -> st.SearchStrategy[ClusterState]:
    """Up to six nodes, some pods that are there already (wherever), and some that wait, several of a kind in a row.

    `crowded`: many that run, all of low priority, and those that wait are more important.
    """
    return st.builds(
        _cluster,
        st.integers(0, 2**32),
        size=st.integers(2, 6),
        running=st.integers(8, 24) if crowded else st.integers(0, 12),
        waiting=st.integers(1, most_pending),
        crowded=st.just(crowded),
    )


def _cluster(seed: int, *, size: int, running: int, waiting: int, crowded: bool) -> ClusterState:
    luck = Random(seed)
    names = [f"n{place}" for place in range(size)]
    kinds = [_template(luck, (0, 0, 0, 10, 100)) for _ in range(luck.randint(1, 4))]
    lowly = kinds
    if crowded:
        lowly, kinds = [_template(luck, (-5, 0, 5)) for _ in range(3)], [_template(luck, (100,)) for _ in range(2)]
    there = [
        luck.choice(lowly)(f"run-{place}", node=luck.choice(names), created=float(place), deleting=_once_in(luck, 6))
        for place in range(running)
    ]
    coming = [luck.choice(kinds)(f"new-{place}", created=100.0 + place // 3) for place in range(waiting)]
    return cluster(
        [_node(luck, name) for name in names],
        [*there, *coming],
        workloads=luck.choice(((), (Workload(WorkloadKey("shop", "api-x"), selector=labelled(app="api")),))),
        services=luck.choice(((), (ServiceSelector("shop", "web", labelled(app="web")),))),
        budgets=luck.choice(((), (DisruptionBudget("shop", "db", labelled(app="db"), allowed=luck.randint(0, 1)),))),
        namespaces={"shop": {"team": "a"}},
        now=1000.0,
        seed=luck.randint(0, 3),
    )


def _once_in(luck: Random, many: int) -> bool:
    return luck.randrange(many) == 0


def _some(luck: Random, make: Callable[[Random], T], most: int, *, one_in: int) -> tuple[T, ...]:
    return tuple(make(luck) for _ in range(luck.randint(0, most))) if _once_in(luck, one_in) else ()


def _node(luck: Random, name: str) -> Node:
    labels = {"size": luck.choice("123")}
    if not _once_in(luck, 5):
        labels["rack"] = luck.choice(("r1", "r2"))
    return node(
        name,
        cpu=luck.choice(("1", "2", "4", "8")),
        memory=luck.choice(("1Gi", "3Gi", "8Gi")),
        pods=luck.choice((3, 10, 110)),
        zone=luck.choice(("east", "west", "north", None)),
        labels=labels,
        taints=_some(luck, _taint, 2, one_in=3),
        unschedulable=_once_in(luck, 8),
        images={image: luck.choice((50, 900)) * MEGABYTE for image in IMAGES if _once_in(luck, 2)},
        extended={"example.com/gpu": 2} if _once_in(luck, 4) else {},
    )


def _taint(luck: Random) -> Taint:
    effect = luck.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))
    return Taint(luck.choice(("gpu", "spot")), luck.choice(("", "yes")), effect)


def _toleration(luck: Random) -> Toleration:
    return Toleration(
        luck.choice(("gpu", "spot", "")),
        luck.choice(("Exists", "Equal")),
        luck.choice(("", "yes")),
        luck.choice(("", "NoSchedule", "PreferNoSchedule")),
    )


def _node_term(luck: Random) -> NodeTerm:
    return NodeTerm(_some(luck, _requirement, 2, one_in=1), weight=luck.choice((1, 3, 50)))


def _requirement(luck: Random) -> Requirement:
    return luck.choice(
        (
            Requirement("size", luck.choice(("Gt", "Lt")), (luck.choice("12"),)),
            Requirement("rack", luck.choice(("In", "NotIn")), ("r1",)),
            Requirement(ZONE, luck.choice(("Exists", "DoesNotExist"))),
        )
    )


def _selector(luck: Random) -> LabelSelector:
    exotic = (LabelSelector((Requirement("app", "NotIn", ("db",)),)), EVERYTHING)
    return luck.choice(exotic) if _once_in(luck, 5) else labelled(app=luck.choice(APPS))


def _pod_term(luck: Random) -> PodTerm:
    everywhere = _once_in(luck, 5)
    return PodTerm(
        _selector(luck),
        luck.choice(KEYS),
        namespaces=frozenset() if everywhere else frozenset(luck.choice((("shop",), ("shop", "other")))),
        namespace_selector=luck.choice((EVERYTHING, labelled(team="a"))) if everywhere else NOTHING,
        weight=luck.choice((1, 7, 100)),
    )


def _pod_affinity(luck: Random) -> PodAffinity:
    return PodAffinity(_some(luck, _pod_term, 2, one_in=4), _some(luck, _pod_term, 2, one_in=4))


def _spread(luck: Random) -> SpreadConstraint:
    return SpreadConstraint(
        luck.choice((1, 2)),
        luck.choice(KEYS),
        luck.choice(("DoNotSchedule", "ScheduleAnyway")),
        _selector(luck),
        min_domains=luck.choice((1, 1, 3)),
        node_affinity_policy=luck.choice(("Honor", "Ignore")),
        node_taints_policy=luck.choice(("Ignore", "Honor")),
    )


def _host_port(luck: Random) -> HostPort:
    return HostPort(luck.choice((80, 443)), "TCP", luck.choice(("0.0.0.0", "10.0.0.1", "10.0.0.2")))


def _template(luck: Random, priorities: tuple[int, ...]) -> Template:
    """A kind of pod: give it a name and further fields of a pod."""
    app = luck.choice(APPS)
    spec: dict[str, Any] = {
        "priority": luck.choice(priorities),
        "preemption_policy": "Never" if _once_in(luck, 8) else "PreemptLowerPriority",
        "tolerations": _some(luck, _toleration, 2, one_in=3),
        "node_selector": (("rack", "r1"),) if _once_in(luck, 8) else (),
        "node_affinity": NodeAffinity(
            _some(luck, _node_term, 2, one_in=1) if _once_in(luck, 8) else None, _some(luck, _node_term, 2, one_in=3)
        ),
        "pod_affinity": _pod_affinity(luck),
        "pod_anti_affinity": _pod_affinity(luck),
        "spread": _some(luck, _spread, 2, one_in=2),
        "images": _some(luck, lambda luck: luck.choice(IMAGES), 2, one_in=2),
        "host_ports": _some(luck, _host_port, 1, one_in=4),
    }
    fixed: dict[str, Any] = {
        "namespace": "other" if _once_in(luck, 6) else "shop",
        "workload": f"{app}-{luck.choice('xy')}",
        "labels": {"app": app},
        "cpu": luck.choice((None, "100m", "500m", "1")),
        "memory": luck.choice((None, "100Mi", "700Mi")),
        "extended": {luck.choice(("example.com/gpu", "example.com/fpga")): 1} if _once_in(luck, 12) else {},
        "spec": spec,
    }
    return lambda name, **more: pod(name, **{**fixed, **more})
