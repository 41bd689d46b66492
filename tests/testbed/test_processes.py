"""Daemons, waiting, and what is left when somebody says stop."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ecotone.model.errors import OutsideError
from ecotone.sim.scenario import load_scenario
from ecotone.testbed import processes, state
from ecotone.testbed.layout import Paths, topology_of
from ecotone.testbed.state import BedState


def test_what_cannot_be_asked_now_is_asked_again() -> None:
    asked: list[int] = []

    def condition() -> bool:
        asked.append(1)
        if len(asked) < 3:
            raise OutsideError("busy")
        return True

    processes.wait_until(condition, seconds=30, what="answer")
    assert len(asked) == 3


def test_the_last_thing_that_went_wrong_is_told() -> None:
    def condition() -> bool:
        raise OutsideError("the API server is busy")

    with pytest.raises(OutsideError, match=r"no answer within 0\.1 s: the API server is busy"):
        processes.wait_until(condition, seconds=0.1, what="answer")


def test_a_command_that_does_not_end_is_told_or_nothing() -> None:
    with pytest.raises(OutsideError, match=r"no end within 0\.2 s"):
        processes.run("sleep", "20", seconds=0.2)
    assert processes.run("sleep", "20", seconds=0.2, check=False) == ""


def test_a_request_to_terminate_unwinds() -> None:
    before = signal.getsignal(signal.SIGTERM)
    unwound = False
    with pytest.raises(SystemExit), processes.ended_in_order():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            unwound = True
    assert unwound
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_machines_bed_is_the_recorded_one_as_long_as_something_of_it_lives(tmp_path: Path) -> None:
    record, directory = tmp_path / "record", tmp_path / "bed"
    assert state.here(record) is None
    record.write_text(str(directory))
    assert state.here(record) is None
    daemon = processes.start("sleeper", [sys.executable, "-c", "import time; time.sleep(60)"], log=tmp_path / "log")
    try:
        state.save(Paths(directory), BedState(topology_of(load_scenario("sock-shop-100ms")), 0.1, [daemon]))
        assert state.here(record) == directory
    finally:
        assert processes.end([daemon]) == []
    assert state.here(record) is None
