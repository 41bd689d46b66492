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
from control_plane.processes import wait_until
from control_plane.programs import Program
from ecotone.manifests import keys
from live.comparing import differences
from live.honest import plant
from live.scraped_cluster import ScrapedCluster
from live.series_attempts import ATTEMPTS
from live.shop import conditions, table

CYCLES = 6
"""A window of six seconds and a scrape a second: what was said at the first is in every figure of the last."""
SAMPLE = 6


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
    options = (f"--prometheus={scraped.url}", "--reporter=monitoring/node-exporter", "--max-age=60")
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
    """A window and some cycles."""
    name = "ecotone_monitor_cycle_duration_seconds_count"
    before, end = monitor.metric(name, part="cluster"), time.monotonic() + CYCLES + 2
    wait_until(
        lambda: time.monotonic() >= end and monitor.metric(name, part="cluster") >= before + CYCLES,
        timeout=120,
        what="cycles",
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
