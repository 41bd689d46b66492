"""Monitor and probe run with exactly the printed roles: what they ask for is granted, and without any of it something stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from control_plane.cluster import Cluster, Refused
from control_plane.objects import pod
from control_plane.processes import wait_until
from control_plane.programs import Program
from control_plane.rights import install_role, lacking, single_rules, unused, used_and_refused
from ecotone.manifests import keys
from ecotone.services.install.rbac import MONITOR, MONITOR_RULES, PROBE, PROBE_RULES, lease_rules
from live import figures
from live.planted import Planted, planted
from live.prometheus_server import PrometheusServer
from live.shop import conditions, grouped, install, monitored, on_node, on_workload, pods_of

LEASE = ("--leader-elect", "--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry-period=0.2")
CLUSTER = "/apis/ecotone.dev/v1alpha1/clusters/all"
GROUP = "/apis/ecotone.dev/v1alpha1/namespaces/shop/appgroups/shop"
EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"
OTHERS = {"queue": "statefulsets", "agent": "daemonsets"}
# The same event again is counted by a patch: the recorder's, shown with the scheduler's role, and rare here.
AGAIN = ("events.k8s.io", "events", "patch")
SINGLE_RULES = [
    one
    for one in single_rules(("clusterroles", MONITOR_RULES), ("roles", lease_rules(MONITOR)))
    if one[1] != "patch events"
]


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True, audit=True)
    cluster.start_kube_scheduler()
    install(cluster)
    for name, kind in (("queue", "StatefulSet"), ("agent", "DaemonSet")):
        (one,) = grouped(name, namespace="shop", where="edge-1")
        one["kind"] = kind
        if kind == "StatefulSet":
            one["spec"]["serviceName"] = name
        else:
            # A DaemonSet's pods are spread by kube-scheduler, one to a node.
            del one["spec"]["replicas"], one["spec"]["template"]["spec"]["nodeName"]
            one["spec"]["template"]["spec"].pop("schedulerName")
        cluster.create(one)
        wait_until(partial(runs, cluster, name), timeout=40, what=f"pods of {name}")
    install_role(cluster, MONITOR, crds=False)
    yield cluster
    cluster.stop()


def runs(cluster: Cluster, name: str) -> bool:
    return bool(pods_of(cluster, name))


def exercise(cluster: Cluster, directory: Path, *, timeout: float) -> Program:
    """Everything a monitor does: elect, ask, write, tell; and take off what is no longer measured, copies included."""
    kubeconfig = cluster.write_kubeconfig(directory / "kubeconfig", user="ecotone")
    with planted() as source:
        prometheus = PrometheusServer(directory / "prometheus", {"planted": [{"targets": [source.target]}]})
        options = (f"--prometheus={prometheus.url}", "--max-age=15", "--trust-prometheus", *LEASE)
        program = Program(cluster, "monitor", *options, kubeconfig=kubeconfig)
        try:
            program.wait_ready(timeout)
            plant(cluster, source)
            monitored(cluster, dialect="istio")
            wait_until(partial(written, cluster), timeout=timeout, what="written figures", child=program.child)
            wait_until(
                lambda: conditions(cluster, CLUSTER).get("Ready", {}).get("status") == "True", timeout=20, what="Ready"
            )
            source.answer(500)
            wait_until(partial(clean, cluster), timeout=timeout + 20, what="no figures", child=program.child)
            wait_until(lambda: bool(cluster.list(EVENTS)), timeout=timeout, what="events", child=program.child)
        finally:
            program.kill()
            prometheus.stop()
    return program


def plant(cluster: Cluster, source: Planted) -> None:
    figures.plant_nodes(source)
    figures.plant_usage(source, cluster)
    figures.plant_traffic("istio", source, cluster)
    for workload in OTHERS:
        for name in pods_of(cluster, workload):
            labels = {"namespace": "shop", "pod": name, "container": "main"}
            source.counter("container_cpu_usage_seconds_total", 0.1, **labels)
            source.gauge("container_memory_working_set_bytes", 1 << 26, **labels)


def workloads(cluster: Cluster) -> list[dict[str, str]]:
    others = [on_workload(cluster, name, kind=kind) for name, kind in OTHERS.items()]
    return [on_workload(cluster, "web"), *others]


def written(cluster: Cluster) -> bool:
    return keys.LATENCIES in on_node(cluster, "edge-1") and all(keys.CPU_USAGE in one for one in workloads(cluster))


def clean(cluster: Cluster) -> bool:
    sets = cluster.list("/apis/apps/v1/namespaces/shop/replicasets")
    copies = any(keys.MEASURED_AT in one["metadata"].get("annotations", {}) for one in sets)
    return not copies and not on_node(cluster, "edge-1") and not any(workloads(cluster))


@pytest.fixture
def tidied(cluster: Cluster) -> Iterator[None]:
    yield
    for path in (CLUSTER, GROUP):
        cluster.call("DELETE", path)
    cluster.call("DELETE", EVENTS)
    merge = "application/merge-patch+json"
    for name in figures.IDLE_CORES:
        gone = {"metadata": {"annotations": dict.fromkeys(on_node(cluster, name))}}
        cluster.call("PATCH", f"/api/v1/nodes/{name}", gone, content_type=merge)
    for name, kind in {"web": "deployments", "db": "deployments", **OTHERS}.items():
        gone = {"metadata": {"annotations": dict.fromkeys(on_workload(cluster, name, kind=kind))}}
        cluster.call("PATCH", f"/apis/apps/v1/namespaces/shop/{kind}/{name}", gone, content_type=merge)


@pytest.mark.usefixtures("tidied")
def test_the_monitor_works_with_the_printed_role_and_is_refused_nothing(cluster: Cluster, tmp_path: Path) -> None:
    exercise(cluster, tmp_path, timeout=60)
    assert not used_and_refused(cluster.audit_log)[1]
    assert unused(cluster.audit_log, MONITOR_RULES, lease_rules(MONITOR)) <= {AGAIN}


def test_the_monitor_cannot_read_secrets_or_move_pods(cluster: Cluster) -> None:
    for method, path in (
        ("GET", "/api/v1/secrets"),
        ("DELETE", "/api/v1/namespaces/shop/pods/x"),
        ("POST", "/api/v1/namespaces/shop/pods/x/eviction"),
    ):
        with pytest.raises(Refused) as refused:
            cluster.call(method, path, {} if method == "POST" else None, user="ecotone")
        assert refused.value.status == 403


@pytest.mark.slow
@pytest.mark.usefixtures("tidied")
@pytest.mark.parametrize("choice", range(len(SINGLE_RULES)))
def test_without_any_rule_of_the_monitors_something_stops(cluster: Cluster, tmp_path: Path, choice: int) -> None:
    role, name, rule = SINGLE_RULES[choice]
    with lacking(cluster, MONITOR, role, rule):
        try:
            program = exercise(cluster, tmp_path, timeout=20)
        except (TimeoutError, RuntimeError):
            return
        assert "forbidden" in program.child.log.read_text(), f"nothing missed the right to {name}"


# The probe


@pytest.fixture
def probing(start_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[Callable[[], Program]]:
    """A probe whose peer is a pod with a loopback address; nothing here has a kubelet."""
    cluster = start_cluster(audit=True)
    install_role(cluster, PROBE)
    peer = pod(
        "probe-peer", namespace="kube-system", labels={"app.kubernetes.io/name": "ecotone-probe"}, nodeName="peer"
    )
    cluster.create(peer)
    path = "/api/v1/namespaces/kube-system/pods/probe-peer/status"
    status: dict[str, Any] = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    cluster.call("PATCH", path, {"status": status}, content_type="application/merge-patch+json")
    kubeconfig = cluster.write_kubeconfig(tmp_path / "kubeconfig", user="ecotone")
    options = ("--node=own", "--namespace=kube-system", "--interval=0.5", "--bandwidth-interval=0", "--no-icmp")
    yield lambda: Program(cluster, "probe", *options, kubeconfig=kubeconfig)
    cluster.stop()


def complains(program: Program) -> bool:
    return "forbidden" in program.child.log.read_text()


def test_the_probe_works_with_the_printed_role_and_not_without_it(probing: Callable[[], Program]) -> None:
    program = probing()
    cluster = program.cluster
    wait_until(
        lambda: program.ready() and program.metric("ecotone_probe_rtt_seconds_count", target="peer") > 0,
        timeout=30,
        what="answered probes",
        child=program.child,
    )
    program.kill()
    assert not used_and_refused(cluster.audit_log)[1]
    assert not unused(cluster.audit_log, PROBE_RULES)
    for role, name, rule in single_rules(("roles", PROBE_RULES)):
        with lacking(cluster, PROBE, role, rule):
            poor = probing()
            wait_until(partial(complains, poor), timeout=30, what=f"a refusal to {name}")
            poor.kill()
