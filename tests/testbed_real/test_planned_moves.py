"""Requests while pods are replaced one after the other, in the order in which the descheduler replaces a single pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ecotone.sim.scenario import load_scenario
from ecotone.testbed.application.users import Users, plans
from ecotone.testbed.application.workload import application_objects
from ecotone.testbed.bed import Bed
from testbed_real.seeing import objects
from testbed_real.waiting import wait_until

pytestmark = [pytest.mark.testbed, pytest.mark.slow]
WHERE = "moving"
MOVES = 20
RATE = 20.0  # requests a second: many connections are busy at any moment, and some idle


@pytest.fixture
def users(bed: Bed, tmp_path: Path) -> Iterator[Users]:
    whole = load_scenario(str(Path(__file__).parent / "mall.yaml"))
    scenario = replace(whole, load=tuple(replace(each, poisson=RATE) for each in whole.load))
    bed.apply(application_objects(scenario, namespace=WHERE, scheduler="default-scheduler"))
    for service in scenario.application.services:
        bed.wait_for_rollout(WHERE, f"deployment/{service.name}", seconds=240)
    address = objects(bed, "service", "-n", WHERE, "web")[0]["spec"]["clusterIP"]
    found = Users(bed.topology, tmp_path)
    found.start(plans(scenario, lambda _, __: f"http://{address}:8080"))
    try:
        wait_until(lambda: any(each.answered for each in found.sent()), seconds=120, what="answered request")
        yield found
    finally:
        found.end()
        bed.kubectl("delete", "namespace", WHERE, "--wait=false")


def surge(bed: Bed, service: str) -> None:
    """One pod more, and when that is ready the old one goes."""
    (old,) = [pod["metadata"]["name"] for pod in objects(bed, "pods", "-n", WHERE, "-l", f"app={service}")]
    bed.kubectl("annotate", "pod", "-n", WHERE, old, "controller.kubernetes.io/pod-deletion-cost=-2147483647")
    bed.kubectl("scale", "-n", WHERE, f"deployment/{service}", "--replicas=2")
    bed.wait_for_rollout(WHERE, f"deployment/{service}", seconds=120)
    bed.kubectl("scale", "-n", WHERE, f"deployment/{service}", "--replicas=1")

    def gone() -> bool:
        return old not in {pod["metadata"]["name"] for pod in objects(bed, "pods", "-n", WHERE, "-l", f"app={service}")}

    wait_until(gone, seconds=120, what=f"end of {old}")


def test_planned_moves_lose_no_request(bed: Bed, users: Users) -> None:
    for number in range(MOVES):
        surge(bed, ("api", "db")[number % 2])
    sent = users.sent()
    first = next(each.at for each in sent if each.answered)
    counted = [each for each in sent if each.at >= first]
    assert len(counted) > MOVES * RATE
    assert [each for each in counted if not each.answered] == []
