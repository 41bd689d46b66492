"""A clock that can be set while a program runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ecotone.experiments.bed.playing.false_clock import LIBRARIES, FalseClock
from missing import lacking

_ASK = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


def test_a_running_program_sees_the_step_and_its_intervals_stay_true(tmp_path: Path) -> None:
    if not LIBRARIES:
        lacking("libfaketime is not installed")
    clock = FalseClock(tmp_path / "clock")
    pod: dict[str, Any] = {"containers": [{}]}
    clock.give_to(pod)
    given = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    given["LD_PRELOAD"] = str(LIBRARIES[0])
    given["FAKETIME_TIMESTAMP_FILE"] = str(tmp_path / "clock" / "offset")
    assert {each["mountPath"] for each in pod["containers"][0]["volumeMounts"]} == {"/clock", "/faketime"}
    with subprocess.Popen(
        [sys.executable, "-c", _ASK],
        env={**os.environ, **given},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None and program.stdout is not None

        def ask() -> tuple[float, float]:
            assert program.stdin is not None and program.stdout is not None
            program.stdin.write("\n")
            program.stdin.flush()
            now, interval = program.stdout.readline().split()
            return float(now), float(interval)

        now, before = ask()
        assert abs(now - time.time()) < 30
        clock.set(600)
        now, after = ask()
        assert 570 < now - time.time() < 630
        assert 0 <= after - before < 60
        program.stdin.close()
