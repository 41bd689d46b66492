"""Large files: a sign of life before and while they are read."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import Run
from ecotone.cli.terminal import reading

OBJECT = "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: n{}\n  labels: {{filling: {}}}\n"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large[red].yaml"
    path.write_text("".join(OBJECT.format(number, "x" * 400) for number in range(12_000)))
    assert path.stat().st_size > reading.LARGE
    return path


def test_a_large_file_is_announced_before_it_is_read(run: Run, large: Path) -> None:
    result = run("snapshot", "-f", str(large), "-o", "json")
    assert result.code == 0
    assert result.err.splitlines()[0] == f"note: reading {large}, 6 MiB"


def test_a_small_file_is_not(run: Run, tmp_path: Path) -> None:
    small = tmp_path / "small.yaml"
    small.write_text(OBJECT.format(0, "x"))
    assert "reading" not in run("snapshot", "-f", str(small), "-o", "json").err


def test_a_terminal_shows_how_far_it_is(large: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ecotone", "snapshot", "-f", str(large), "-o", "json"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
    ) as program:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert program.wait() == 0
    os.close(ours)
    text = shown.decode()
    assert "large[red].yaml, MiB" in text
    assert re.search(r"[1-6]/6\b", text)
