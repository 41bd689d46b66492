"""Whatever breaks between the scheduler and the API server: everything is scheduled in the end, nothing twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from aiohttp import web

from control_plane.bindings import BindingWatch
from control_plane.cluster import Cluster
from control_plane.faulty_proxy import Fault, FaultyProxy
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.waiting import placement, wait_bound

NODES = 5


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(controllers=False)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def shared_proxy(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(cluster, tmp_path_factory.mktemp("proxy"))
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def shared_program(cluster: Cluster, shared_proxy: FaultyProxy) -> Iterator[Program]:
    cluster.create(*(node(f"n{number}", cpu="4") for number in range(NODES)))
    options = ("--watch-silence=1.5", "--request-timeout=0.5")
    program = scheduler(cluster, *options, kubeconfig=shared_proxy.kubeconfig).wait_ready()
    yield program
    program.kill()


@pytest.fixture
def proxy(shared_proxy: FaultyProxy) -> Iterator[FaultyProxy]:
    yield shared_proxy
    shared_proxy.judges.clear()
    shared_proxy.faults = 0


@pytest.fixture
def program(cluster: Cluster, shared_program: Program) -> Iterator[Program]:
    """One process lives through all faults; each test leaves it an empty cluster."""
    yield shared_program
    cluster.call("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")


@pytest.fixture
def watch(cluster: Cluster) -> Iterator[BindingWatch]:
    watch = BindingWatch(cluster)
    yield watch
    watch.stop()


def pods(cluster: Cluster, prefix: str, count: int) -> None:
    cluster.create(*(pod(f"{prefix}{number}", cpu="100m") for number in range(count)))


def is_binding(request: web.Request) -> bool:
    return request.path.endswith("/binding")


@pytest.mark.parametrize("fault", [Fault.REFUSE_500, Fault.REFUSE_409, Fault.LOSE_ANSWER, Fault.LOSE_REQUEST])
def test_failing_bindings(
    cluster: Cluster, proxy: FaultyProxy, program: Program, watch: BindingWatch, fault: Fault
) -> None:
    draw = random.Random(fault.name)
    proxy.judges.append(lambda request: fault if is_binding(request) and draw.random() < 0.4 else None)
    pods(cluster, "p", 40)
    wait_bound(cluster, 40, timeout=40, child=program.child, promise="lost")
    assert proxy.faults >= 5
    watch.check(bound=40, capacity={f"n{number}": 40 for number in range(NODES)})


def test_watches_that_are_cut(cluster: Cluster, proxy: FaultyProxy, program: Program, watch: BindingWatch) -> None:
    for turn in range(4):
        pods(cluster, f"p{turn}-", 10)
        proxy.cut_watches()
    wait_bound(cluster, 40, timeout=30, child=program.child, promise="lost")
    watch.check(bound=40, capacity={f"n{number}": 40 for number in range(NODES)})


def test_watches_that_stall(cluster: Cluster, proxy: FaultyProxy, program: Program, watch: BindingWatch) -> None:
    proxy.stall_watches(True)
    pods(cluster, "p", 10)
    wait_until(lambda: "no sign of life" in program.child.log.read_text(), timeout=30, what="watchdog")
    proxy.stall_watches(False)
    wait_bound(cluster, 10, timeout=30, child=program.child, promise="lost")
    watch.check(bound=10, capacity={f"n{number}": 40 for number in range(NODES)})


def test_versions_that_are_gone(cluster: Cluster, proxy: FaultyProxy, program: Program, watch: BindingWatch) -> None:
    refused: list[str] = []

    def once_per_kind(request: web.Request) -> Fault | None:
        if "watch" in request.query and request.path not in refused:
            refused.append(request.path)
            return Fault.GONE
        return None

    proxy.judges.append(once_per_kind)
    lists = program.metric("ecotone_scheduler_lists_total", type="pods")
    proxy.cut_watches()
    pods(cluster, "p", 10)
    wait_bound(cluster, 10, timeout=30, child=program.child, promise="lost")
    wait_until(lambda: "/api/v1/pods" in refused, timeout=30, what="410")
    wait_until(
        lambda: program.metric("ecotone_scheduler_lists_total", type="pods") >= lists + 1, timeout=30, what="list"
    )
    watch.check(bound=10, capacity={f"n{number}": 40 for number in range(NODES)})


def test_an_api_server_that_restarts_with_a_compacted_store(
    cluster: Cluster, proxy: FaultyProxy, program: Program
) -> None:
    pods(cluster, "before", 5)
    wait_bound(cluster, 5, timeout=30, child=program.child)
    cluster.apiserver.kill()
    cluster.forget(cluster.apiserver)
    compact(cluster)
    cluster.start_apiserver()
    pods(cluster, "after", 10)
    wait_bound(cluster, 15, timeout=60, child=program.child, promise="lost")
    assert len(placement(cluster)) == 15


def compact(cluster: Cluster) -> None:
    """All history is forgotten: any watch that resumes gets a 410."""
    import json
    import urllib.request

    def call(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(cluster.etcd_address + path, data=json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    status = call("/v3/maintenance/status", {})
    call("/v3/kv/compaction", {"revision": status["header"]["revision"], "physical": True})
