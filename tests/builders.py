"""Clusters in a line or two, for tests.

    state = cluster([node("a", cpu="4"), node("b", labels={"zone": "east"})], [pod("web-0", node="a", cpu="500m")])

Quantities are written as in Kubernetes. A pod's workload is its name without the last `-part`, so `web-0` and `web-1` are
replicas of one Deployment; `spec` takes any further field of `PodSpec`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ecotone.model.objects import HostPort, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.quantity import milli, value
from ecotone.model.selectors import LabelSelector, PodTerm, Requirement, SpreadConstraint, Taint, Toleration
from ecotone.model.state import ClusterState

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    zone: str | None = None,
    taints: Iterable[Taint] = (),
    extended: Mapping[str, int] | None = None,
    **more: Any,
) -> Node:
    """A node that carries its hostname label and, if given, its zone's."""
    allocatable = {"cpu": milli(cpu), "memory": value(memory), "pods": pods, **(extended or {})}
    own = {HOSTNAME: name, **({ZONE: zone} if zone is not None else {}), **(labels or {})}
    return Node(name, allocatable=allocatable, labels=own, taints=tuple(taints), **more)


def edge_fog_cloud() -> list[Node]:
    """Three nodes in a line: the edge 10 ms from the fog and 100 ms from the cloud, the fog 90 ms from the cloud."""
    return [
        node("edge", latencies={"fog": 10.0, "cloud": 100.0}),
        node("fog", latencies={"cloud": 90.0}),
        node("cloud"),
    ]


def pod(
    name: str,
    *,
    node: str | None = None,
    namespace: str = "default",
    workload: str | None = None,
    labels: Mapping[str, str] | None = None,
    cpu: str | None = None,
    memory: str | None = None,
    extended: Mapping[str, int] | None = None,
    ports: Iterable[int] = (),
    created: float = 0.0,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Pod:
    """A pod; without labels of its own it carries `app: <workload>`. Fields of `Pod` and `PodKind` go into `more`."""
    workload = workload or name.rpartition("-")[0] or name
    requests = {
        **({"cpu": milli(cpu)} if cpu is not None else {}),
        **({"memory": value(memory)} if memory is not None else {}),
        **(extended or {}),
    }
    fields: dict[str, Any] = {
        "requests": tuple(sorted(requests.items())),
        "nonzero": (requests.get("cpu", 100), requests.get("memory", 200 * 1024**2)),
        "host_ports": tuple(HostPort(port) for port in ports),
        **(spec or {}),
    }
    of_kind = {field: more.pop(field) for field in ("app_group", "index", "role", "max_latency_ms") if field in more}
    kind = PodKind(
        namespace=namespace,
        workload=WorkloadKey(namespace, workload),
        labels=tuple(sorted(({"app": workload} if labels is None else labels).items())),
        spec=PodSpec(**fields),
        **of_kind,
    )
    bound: dict[str, Any] = {} if node is None else {"phase": "Running", "bound_at": created}
    return Pod(
        name, uid=more.pop("uid", f"uid-{namespace}-{name}"), kind=kind, node=node, created=created, **bound | more
    )


def cluster(
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    *,
    workloads: Iterable[Workload] = (),
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    **fields: Any,
) -> ClusterState:
    """A state with these nodes and pods; further keyword arguments are attributes of `ClusterState`."""
    state = ClusterState()
    for name, given in fields.items():
        if not hasattr(state, name):
            raise AttributeError(name)
        setattr(state, name, given)
    state.namespaces = dict(namespaces or {})
    state.set_nodes(nodes)
    for each in workloads:
        state.put_workload(each)
    for one in pods:
        state.put_pod(one)
    return state


# Smaller pieces


def labelled(**labels: str) -> LabelSelector:
    return LabelSelector.of_labels(labels)


def within(key: str, *values: str) -> Requirement:
    return Requirement(key, "In", values)


def near(app: str, *, key: str = HOSTNAME, weight: int = 0, namespaces: Iterable[str] = ("default",)) -> PodTerm:
    """A pod (anti-)affinity term about pods labelled `app: <app>`."""
    return PodTerm(labelled(app=app), key, namespaces=frozenset(namespaces), weight=weight)


def spread(app: str, *, key: str = ZONE, skew: int = 1, soft: bool = False, **more: Any) -> SpreadConstraint:
    return SpreadConstraint(skew, key, "ScheduleAnyway" if soft else "DoNotSchedule", labelled(app=app), **more)


def tolerating(key: str, value: str | None = None, *, effect: str = "") -> Toleration:
    if value is None:
        return Toleration(key, "Exists", effect=effect)
    return Toleration(key, "Equal", value, effect)
