"""Random wrong inputs: whatever they are, a command ends in time with one of its exit codes and without a traceback.

Half a minute of it belongs to every run of the tests, ten minutes to the soak. A failure names its seed; `ECOTONE_FUZZ_SEED`
runs that one case again.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic
from types import FrameType

import pytest

from cli.fuzzing import api_server, draw
from cli.running import Result, Run

_SECONDS_PER_CASE = 60  # on a machine that is busy with other tests
_MOST_BYTES = 4 << 30
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Hung(BaseException):
    """Not an Exception: nothing on the way may take it for a mistake in the input."""


@contextmanager
def bounded() -> Iterator[None]:
    """Time and memory of one case."""

    def ring(_: int, __: FrameType | None) -> None:
        raise Hung

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, ring)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, hard))
    signal.alarm(_SECONDS_PER_CASE)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def tried(run: Run, folder: Path, seed: int) -> tuple[list[str], Result]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    case = draw(Random(seed), folder)
    with bounded():
        if case.answers is None:
            return case.words, run(*case.words)
        with api_server(case.answers) as port:
            config = folder / "config"
            config.write_text(config.read_text().replace("127.0.0.1:1", f"127.0.0.1:{port}"))
            return case.words, run(*case.words)


def check(run: Run, folder: Path, seed: int) -> None:
    words, result = tried(run, folder, seed)
    told = f"ECOTONE_FUZZ_SEED={seed}: ecotone {' '.join(words)!r}: exit code {result.code}: {result.err[-2000:]}"
    assert result.code in (0, 1, 2, 3), told
    assert "Traceback" not in result.err and "internal error" not in result.err, told
    assert result.code < 2 or result.err.strip(), told
    assert not _CONTROL.search(result.err), told


def campaign(run: Run, folder: Path, *, first: int, seconds: float) -> int:
    given = os.environ.get("ECOTONE_FUZZ_SEED")
    if given is not None:
        check(run, folder, int(given))
        return 1
    end, seed = monotonic() + seconds, first
    while monotonic() < end:
        check(run, folder, seed)
        seed += 1
    return seed - first


@pytest.mark.lasting
def test_half_a_minute_of_random_inputs(run: Run, tmp_path: Path) -> None:
    assert campaign(run, tmp_path / "case", first=0, seconds=30.0) > 0


@pytest.mark.slow
def test_ten_minutes_of_random_inputs(run: Run, tmp_path: Path) -> None:
    assert campaign(run, tmp_path / "case", first=1_000_000, seconds=600.0) > 0
