"""Moves are read off samples of an application's pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ecotone.experiments.bed.playing.player import fits_nowhere
from ecotone.experiments.bed.playing.watching import Watching
from ecotone.testbed.bed import Bed


def pod(service: str, number: int, node: str | None, *, ending: bool = False) -> dict[str, Any]:
    metadata = {"name": f"{service}-{number}", "uid": f"{service}-{number}", "labels": {"app": service}}
    if ending:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}}


def watching(tmp_path: Path, *samples: list[dict[str, Any]]) -> Watching:
    found = Watching(Bed(tmp_path, binaries=tmp_path), "shop")
    for at, sample in enumerate(samples):
        found.take(float(at), sample)
    return found


def moved(found: Watching) -> list[tuple[float, str, str, str, str]]:
    return [(each.at, each.pod, each.service, each.origin, each.target) for each in found.moves()]


def test_a_replacement_that_starts_first_is_a_move_when_the_old_pod_goes(tmp_path: Path) -> None:
    old, new = pod("web", 1, "a"), pod("web", 2, "b")
    found = watching(tmp_path, [old], [old, new], [pod("web", 1, "a", ending=True), new], [new])
    assert moved(found) == [(2.0, "web-1", "web", "a", "b")]
    assert found.placement[1] == (1.0, {"web": {"a": 1, "b": 1}})
    assert found.placement[-1] == (3.0, {"web": {"b": 1}})


def test_a_replacement_that_starts_later_is_a_move_as_well(tmp_path: Path) -> None:
    found = watching(tmp_path, [pod("web", 1, "a")], [], [pod("web", 2, None)], [pod("web", 2, "c")])
    assert moved(found) == [(1.0, "web-1", "web", "a", "c")]


def test_pods_that_stay_and_those_of_the_first_sample_are_none(tmp_path: Path) -> None:
    stay = [pod("web", 1, "a"), pod("db", 1, "b")]
    assert moved(watching(tmp_path, stay, stay, [*stay, pod("web", 2, "c")])) == []


def test_what_is_scaled_down_and_up_again_later_is_none(tmp_path: Path) -> None:
    one, two, three, four = (pod("web", number, node) for number, node in enumerate("abcd"))
    found = watching(tmp_path, [one, two], [one], [one, three], [four, three])
    assert [each.at for each in found.moves()] == [1.0, 3.0]
    assert [(each.at, each.origin, each.target) for each in found.moves([1.5])] == [(3.0, "a", "c")]


def test_a_pod_fits_nowhere_once_a_scheduler_has_said_so() -> None:
    told = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    assert fits_nowhere({"status": {"conditions": told}})
    assert not fits_nowhere({"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}})
    assert not fits_nowhere({"status": {}})
