"""Messages of a scenario go through a real broker, in both of the ways a scenario knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ecotone.sim.scenario import load_scenario
from ecotone.testbed.application.workload import application_objects
from ecotone.testbed.bed import Bed
from testbed_real.seeing import call, objects, query
from testbed_real.waiting import wait_until

pytestmark = pytest.mark.testbed
POST = "post"
TIMES = 10
LETTER = 20_000  # bytes


@pytest.fixture(scope="module")
def web(bed: Bed) -> Iterator[str]:
    """The address of web, once a letter was answered; everything is removed again."""
    scenario = load_scenario(str(Path(__file__).parent / "post.yaml"))
    bed.apply(application_objects(scenario, namespace=POST, scheduler="default-scheduler"))
    address = objects(bed, "service", "-n", POST, "web")[0]["spec"]["clusterIP"]
    url = f"http://{address}:8080/call"
    try:
        wait_until(lambda: call(bed, "edge-1", f"{url}/ask")[0] == 200, seconds=240, what="answer through the broker")
        yield url
    finally:
        bed.kubectl("delete", "namespace", POST, "--wait=false")


def test_an_answer_has_gone_to_the_broker_to_the_worker_and_back(bed: Bed, web: str) -> None:
    """25 ms to the broker, 10 on to the worker, and both back."""
    answers = [call(bed, "edge-1", f"{web}/ask") for _ in range(5)]
    assert {status for status, _ in answers} == {200}
    assert min(took for _, took in answers) > 0.065


def test_what_is_only_told_is_not_waited_for_and_reaches_the_worker_through_its_sidecar(bed: Bed, web: str) -> None:
    def received() -> float:
        which = f'namespace="{POST}",pod=~"worker-.*",envoy_cluster_name="broker"'
        rows = query(bed, f"sum(envoy_cluster_upstream_cx_rx_bytes_total{{{which}}})")
        return float(rows[0]["value"][1]) if rows else -1.0

    wait_until(lambda: received() >= 0, seconds=120, what="figures of the worker's sidecar")
    before = received()
    answers = [call(bed, "edge-1", f"{web}/tell") for _ in range(TIMES)]
    assert {status for status, _ in answers} == {200}
    # Not even a round trip to the broker; a busy machine makes some answers late, and none early.
    wait_until(lambda: call(bed, "edge-1", f"{web}/tell")[1] < 0.045, seconds=60, what="answer without the broker")
    wait_until(lambda: received() >= before + TIMES * LETTER, seconds=120, what=f"{TIMES} letters at the worker")
