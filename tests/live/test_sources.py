"""A tenant whose pods are scraped, against a real Prometheus that discovers them from a real API server.

Honest targets say what a cluster does; one pod of the namespace `evil` says whatever it likes, through a PodMonitor of its
own. The monitor runs as a program. Nothing that it writes on nodes or in other namespaces may change by what the tenant says.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import deployment
from control_plane.processes import wait_until
from control_plane.programs import Program
from ecotone.manifests import keys
from ecotone.services.monitor.application_part import ANNOTATED_LIMIT
from fair.waits import patience
from live.comparing import differences
from live.honest import REQUESTS, plant, plant_requests
from live.scraped_cluster import ScrapedCluster
from live.series_attempts import ATTEMPTS, POD_MONITORS
from live.shop import conditions, ours_on, table

CYCLES = 6
"""A window of six seconds and a scrape a second: what was said at the first is in every figure of the last."""
GROUPS = 3
LATE = 30.0
"""Seconds: the window, a cycle and a turn, with time to spare. Behind the others' writes it would be two minutes."""


@pytest.fixture(scope="module")
def scraped(
    start_cluster: Callable[..., Cluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScrapedCluster]:
    world = ScrapedCluster(start_cluster(controllers=False), tmp_path_factory.mktemp("scraped"))
    try:
        world.install()
        plant(world)
        world.start()
        yield world
    finally:
        world.stop()


@pytest.fixture(scope="module")
def monitor(scraped: ScrapedCluster) -> Iterator[Program]:
    options = (f"--prometheus={scraped.url}", "--reporter=monitoring/node-exporter", "--max-age=30")
    program = Program(scraped.cluster, "monitor", *options).wait_ready()
    scraped.monitored()
    wait_until(lambda: complete(scraped), timeout=90, what="written figures", child=program.child)
    yield program
    assert program.stop() == 0


def complete(world: ScrapedCluster) -> bool:
    written = world.written()
    nodes = [there for name, there in written.items() if name.startswith("node")]
    return (
        all(keys.LATENCIES in one and keys.AVAILABLE_CPU in one and keys.AVAILABLE_MEMORY in one for one in nodes)
        and all(keys.CPU_USAGE in there for name, there in written.items() if not name.startswith("node"))
        and keys.REQUESTS in written["shop/web"]
    )


def let_it_work(world: ScrapedCluster, monitor: Program) -> None:
    """A window and some cycles, and until every figure has been measured since."""
    began = time.time()
    name = "ecotone_monitor_cycle_duration_seconds_count"
    before, end = monitor.metric(name, part="cluster"), time.monotonic() + CYCLES + 2
    wait_until(
        lambda: time.monotonic() >= end and monitor.metric(name, part="cluster") >= before + CYCLES,
        timeout=120,
        what="cycles",
        child=monitor.child,
    )
    # A value that is measured no more is kept for a while, but makes the time of the others an old one.
    wait_until(
        lambda: all((keys.measured_at(there) or 0.0) > began for there in world.written().values()),
        timeout=30,
        what="new figures of everything",
        child=monitor.child,
    )
    assert complete(world)


def test_what_honest_targets_say_is_written(scraped: ScrapedCluster, monitor: Program) -> None:
    written = scraped.written()
    assert table(written["shop/db"], keys.REQUESTS) == pytest.approx({"web": 20.0}, rel=0.1)
    assert table(written["node edge-1"], keys.LATENCIES) == pytest.approx({"edge-2": 4.0, "cloud-1": 40.0}, rel=0.1)
    assert keys.available_cpu(written["node edge-1"]) == pytest.approx(3000, rel=0.1)
    assert keys.cpu_usage(written["shop/web"]) == pytest.approx(250, rel=0.1)
    for path in ("clusters/all", "namespaces/shop/appgroups/shop"):
        said = conditions(scraped.cluster, f"/apis/ecotone.dev/v1alpha1/{path}")
        assert said["SourcesKnown"]["status"] == "True", said


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(ATTEMPTS))
def test_what_a_tenant_exposes_changes_nothing_of_others(kind: str, scraped: ScrapedCluster, monitor: Program) -> None:
    before = scraped.written()
    said = ATTEMPTS[kind](scraped, random.Random(kind))
    try:
        let_it_work(scraped, monitor)
        assert not differences(before, scraped.written()), said
    finally:
        scraped.behave()


def test_a_tenant_who_may_honor_labels_is_named_and_nothing_is_believed(
    start_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """Under an operator that does not keep tenants in their namespace."""
    world = ScrapedCluster(start_cluster(controllers=False), tmp_path, enforced=False)
    try:
        world.install()
        plant(world)
        world.start()
        options = (f"--prometheus={world.url}", "--reporter=monitoring/node-exporter", "--max-age=20")
        program = Program(world.cluster, "monitor", *options).wait_ready()
        world.monitored()
        wait_until(lambda: complete(world), timeout=90, what="written figures", child=program.child)
        mallory = world.one("evil/mallory")
        probe = world.one("kube-system/ecotone-probe", "edge-1")
        for name, rate in (("sum", 3.55), ("count", 10.0)):
            lie = {**probe.labels, "origin": "edge-1", "target": "edge-2"}
            mallory.exporter.counter(f"ecotone_probe_rtt_seconds_{name}", rate, **lie)
        world.monitors["podMonitor/evil/all/0"] = world.pod_monitor("evil", honor_labels=True)
        world.reload()
        wait_until(
            lambda: (
                "podMonitor/evil/all/0"
                in conditions(world.cluster, "/apis/ecotone.dev/v1alpha1/clusters/all")["SourcesKnown"]["message"]
            ),
            timeout=30,
            what="a condition that names the pool",
            child=program.child,
        )
        wait_until(lambda: not world.written()["node edge-1"], timeout=60, what="no figures", child=program.child)
        world.monitors["podMonitor/evil/all/0"] = world.pod_monitor("evil")
        mallory.exporter.drop("ecotone_probe")
        world.reload()
        wait_until(lambda: complete(world), timeout=90, what="figures again", child=program.child)
        assert program.stop() == 0
    finally:
        world.stop()


def test_an_application_that_never_rests_delays_nobody_else(scraped: ScrapedCluster, monitor: Program) -> None:
    """Its own query swings, so that every one of its many workloads is written to in every cycle, five a second."""
    world, path = scraped, "/apis/apps/v1/namespaces/evil/deployments"
    mallory = world.one("evil/mallory").exporter
    for group in range(GROUPS):
        names = [f"restless-{group}-{number}" for number in range(ANNOTATED_LIMIT)]
        for name in names:
            world.cluster.create(
                deployment(name, namespace="evil", replicas=0, labels={"app-group": f"restless-{group}"})
            )
            mallory.gauge("swing", 1.0, group=str(group), source=names[0], destination=name)
        swing = f'swing{{group="{group}"}} * (1 + 9 * ((time() / 3 % 2) > bool 1))'
        world.cluster.create(
            world.app_group("evil", name=f"restless-{group}", window="1s", queries={"requests": swing})
        )
    try:
        first = f"{path}/restless-{GROUPS - 1}-0"
        wait_until(lambda: keys.REQUESTS in ours_on(world.cluster, first), timeout=90, what="restless figures")
        assert monitor.metric("ecotone_monitor_writes_total", object="workload", result="done") > 0
        more = 10 * REQUESTS
        plant_requests(world, more)
        started = time.monotonic()
        wait_until(
            lambda: requests(world, "shop/db").get("web", 0.0) > 0.9 * more,
            timeout=240,
            what="the new rate",
            child=monitor.child,
        )
        assert time.monotonic() - started < LATE * patience(), "figures of others waited behind the restless ones"
    finally:
        plant_requests(world, REQUESTS)
        for group in range(GROUPS):
            world.cluster.call("DELETE", f"/apis/ecotone.dev/v1alpha1/namespaces/evil/appgroups/restless-{group}")
        world.cluster.call("DELETE", f"{path}?labelSelector=app!=mallory")
        world.behave()
    usual = {"shop/web": {"db": REQUESTS}, "shop/db": {"web": REQUESTS}}
    wait_until(
        lambda: all(requests(world, one) == pytest.approx(told, rel=0.1) for one, told in usual.items()),
        timeout=60,
        what="the old rate",
    )


def requests(world: ScrapedCluster, workload: str) -> dict[str, float]:
    return table(world.written()[workload], keys.REQUESTS)


@pytest.mark.sample
@pytest.mark.parametrize("share", range(len(POD_MONITORS)))
def test_what_a_tenant_does_at_once_changes_nothing_of_others(
    share: int, scraped: ScrapedCluster, monitor: Program
) -> None:
    """Every kind of attempt, in as many shares as there are kinds that set the tenant's PodMonitor."""
    draw = random.Random(share)
    exposing = sorted(ATTEMPTS.keys() - POD_MONITORS)
    kinds = [*exposing[share :: len(POD_MONITORS)], sorted(POD_MONITORS)[share]]
    campaign(scraped, monitor, draw=draw, kinds=kinds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_five_hundred_attempts_change_nothing_of_others(seed: int, scraped: ScrapedCluster, monitor: Program) -> None:
    draw = random.Random(f"campaign {seed}")
    campaign(scraped, monitor, draw=draw, kinds=draw.choices(sorted(ATTEMPTS), k=10))


def campaign(world: ScrapedCluster, monitor: Program, *, draw: random.Random, kinds: list[str]) -> None:
    """Attempts that stand together; those that set the PodMonitor replace each other."""
    before = world.written()
    try:
        said = [f"{kind}: {ATTEMPTS[kind](world, draw)}" for kind in kinds]
        let_it_work(world, monitor)
        assert not differences(before, world.written()), "\n".join(said)
    finally:
        world.behave()
