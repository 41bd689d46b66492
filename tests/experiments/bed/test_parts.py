"""Experiments on a bed in parts: what is chosen, what is stored, what a fault's figures mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ecotone.experiments.bed import faults as experiment
from ecotone.experiments.bed.faults import unserved
from ecotone.experiments.bed.injecting import faults
from ecotone.experiments.bed.parts import about, chosen, store, stored
from ecotone.experiments.campaign.registry import Options, find
from ecotone.model.errors import InputError
from ecotone.testbed.application.users import Sent


def test_parts_are_chosen_by_name_and_keep_their_order() -> None:
    whole = {"a": 1, "b": 2, "c": 3}
    assert chosen(whole, ()) == whole
    assert list(chosen(whole, ("c", "a"))) == ["a", "c"]
    with pytest.raises(InputError, match="--only d: there is no such part"):
        chosen(whole, ("a", "d"))


def test_every_fault_can_be_named() -> None:
    keys = [each.key for each in faults()]
    assert keys == ["wan", "prometheus", "clock-ahead", "clock-behind", "kubelet", "power", "partition"]


def test_parts_have_no_place_in_an_experiment_that_is_simulated() -> None:
    for options in (Options(only=("ecotone",)), Options(seconds=5.0)):
        with pytest.raises(InputError, match="not on a test bed"):
            find("sophos").run(options)


@pytest.mark.parametrize(("seconds", "said"), [(20, "20 seconds"), (70, "1 minute"), (400, "7 minutes")])
def test_lengths_are_told_as_people_say_them(seconds: float, said: str) -> None:
    assert about(seconds) == f"about {said}"


def test_what_is_stored_is_found_again_and_anything_else_is_told(tmp_path: Path) -> None:
    assert stored(None, "x.json") == stored(tmp_path, "x.json") == {}
    store(tmp_path / "new", "x.json", {"runs": [1]})
    assert stored(tmp_path / "new", "x.json") == {"runs": [1]}
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["x.json"]
    for text in ("[]", "{"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(InputError, match="not a result"):
            stored(tmp_path, "x.json")


def row(name: str, seconds: float) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(experiment.Found.__dataclass_fields__)
    return {**values, "fault": name, "asked_seconds": seconds, "settle_seconds": 40.0, "machine": {}}


def test_faults_that_are_stored_are_not_played_again(tmp_path: Path) -> None:
    """No bed is started: there would be none here."""
    rows = [row("power cut", 30.0), row("partition", 30.0)]
    store(tmp_path, experiment.FILE, {"faults": rows})
    said: list[str] = []
    options = Options(only=("partition", "power"), seconds=30.0, folder=tmp_path, say=said.append)
    assert experiment.run(options).figures == {"faults": rows}
    assert said == ["all faults are stored already"]


def test_the_time_without_an_answer_counts_beyond_the_edges() -> None:
    sent = [Sent(float(at), 0.5, not 10 <= at < 25, 0) for at in range(40)]
    assert unserved(sent, start=0.0, end=39.0) == 16.0
    assert unserved(sent, start=12.0, end=20.0) == 16.0
    assert unserved(sent, start=30.0, end=35.0) == 1.0
