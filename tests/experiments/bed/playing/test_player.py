"""What is waited for before and after a run on a bed, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ecotone.experiments.bed.playing.player import Player, still_coming
from ecotone.testbed.bed import Bed


def pod(name: str, **conditions: str) -> dict[str, Any]:
    told = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return {"kind": "Pod", "metadata": {"name": name}, "status": {"conditions": told}}


def deployment(name: str, *, wanted: int, there: int) -> dict[str, Any]:
    status = {"replicas": there} if there else {}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": wanted}, "status": status}


def test_what_is_ready_or_fits_nowhere_is_settled() -> None:
    settled = [
        deployment("web", wanted=2, there=2),
        pod("web-1", PodScheduled="True", Ready="True"),
        pod("web-2", PodScheduled="False"),
    ]
    assert still_coming(settled) == []
    assert still_coming([*settled, pod("web-3", PodScheduled="True", Ready="False"), pod("web-4")]) == [
        "web-3",
        "web-4",
    ]
    assert still_coming([deployment("api", wanted=1, there=0)]) == ["api"]


class Cluster:
    """A bed in which pods of a deleted namespace take their time to go."""

    def __init__(self, *, questions: int) -> None:
        self.left = questions
        self.asked: list[tuple[str, ...]] = []

    def kubectl(self, *arguments: str, check: bool = True) -> str:
        del check
        self.asked.append(arguments)
        if arguments[0] == "get":
            self.left -= 1
            return "pod/web-1\n" if self.left > 0 else ""
        return ""


def test_the_next_run_waits_for_the_last_ones_pods_and_not_for_its_namespace(tmp_path: Path) -> None:
    cluster = Cluster(questions=2)
    player = Player(cast(Bed, cluster), tmp_path)
    player.remove("run-1")
    (first, second) = cluster.asked
    assert first == ("delete", "namespace", "run-1", "--wait=false")
    assert second[:2] == ("delete", "pods") and "--wait=false" in second
    player.wait_for_the_last()
    assert cluster.left == 0
    asked = len(cluster.asked)
    player.wait_for_the_last()
    assert len(cluster.asked) == asked, "what has gone is not asked about again"
