"""A wait that has less than five times what it takes is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fair.margins import tight
from fair.waits import RECORD, wait_until


def record(test: str, what: str, seconds: float, timeout: float) -> str:
    return json.dumps({"test": f"{test} (call)", "what": what, "seconds": seconds, "timeout": timeout})


def test_the_longest_of_each_wait_counts_and_the_tightest_comes_first() -> None:
    lines = [
        record("a", "leader", 1, 30),
        record("a", "leader", 10, 30),
        record("b", "pods", 20, 40),
        record("c", "x", 1, 9),
    ]
    assert [times for times, _ in tight(lines)] == [2.0, 3.0]
    assert tight(lines)[0][1] == "b: pods took 20.0 s of 40"


def test_what_a_wait_took_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "waits.jsonl"
    monkeypatch.setenv(RECORD, str(file))
    answers = iter([False, True])
    wait_until(lambda: next(answers), timeout=0.01, what="second answer")
    ((_, told),) = tight(file.read_text().splitlines())
    assert "second answer" in told
