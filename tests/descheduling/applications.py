"""Small clusters with counted traffic, for tests of what moves in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecotone.model import ClusterState, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.objects import Measured, ServiceSelector
from ecotone.model.selectors import LabelSelector

NOW = 100.0


def nodes(
    *names: str,
    rtt: float = 50.0,
    cpu: int = 4000,
    small: Mapping[str, int] | None = None,
    zones: Mapping[str, str] | None = None,
) -> ClusterState:
    """Idle nodes, each pair as far apart."""
    state = ClusterState(now=NOW)
    state.set_nodes(
        Node(
            name, {"cpu": size, "memory": 1 << 33, "pods": 50}, available_cpu=float(size), available_memory=float(1 << 33),
            labels={"topology.kubernetes.io/zone": zones[name]} if zones else {},
            latencies={other: rtt for other in names if other != name}, measured_at=NOW,
        )
        for name in names
        for size in ((small or {}).get(name, cpu),)
    )  # fmt: skip
    return state


def put(
    state: ClusterState,
    name: str,
    homes: Sequence[str],
    *,
    calls: Mapping[str, float] | None = None,
    users: Mapping[str, float] | None = None,
    cpu: int = 100,
    use: float = 50.0,
    near: str | None = None,
    group: str | None = "shop",
    role: str | None = None,
    within: float | None = None,
    waited: bool = True,
    namespace: str = "default",
) -> None:
    """A workload with a pod on each of these nodes, calls per second to others (`waited` for or not) and from users."""
    key = WorkloadKey(namespace, name)
    entering = {f"users@{node}": rate for node, rate in (users or {}).items()}
    known = {**(calls or {}), **entering}
    state.put_workload(
        Workload(
            key, replicas=len(homes), app_group=group, cpu_usage=Measured(use, NOW), memory_usage=Measured(1e6, NOW),
            traffic={peer: 2000.0 * rate for peer, rate in known.items()}, requests=known, calls=dict(calls or {}),
            synchronous=dict.fromkeys(calls or {}, waited), measured_at=NOW,
        )
    )  # fmt: skip
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0))
    kind = PodKind(
        namespace, key, labels=(("app", name),), spec=spec, app_group=group, role=role, max_latency_ms=within
    )  # fmt: skip
    for number, home in enumerate(homes):
        pod = Pod(
            f"{name}-{number}", f"u-{name}-{number}", kind, node=home, phase="Running", ready=True, owner="rs",
            bound_at=1.0,
        )  # fmt: skip
        state.put_pod(pod)
    selector = LabelSelector.of_labels({"app": name})
    state.services = (*state.services, ServiceSelector(namespace, name, selector, near))


def chain(state: ClusterState, homes: Sequence[str], *, users: Mapping[str, float], near: str | None = None) -> None:
    """web calls api calls store, once for each request, with replicas on these nodes each."""
    rate = sum(users.values())
    put(state, "web", homes, calls={"api": rate}, users=users, near=near)
    put(state, "api", homes, calls={"store": rate}, near=near)
    put(state, "store", homes, near=near)
