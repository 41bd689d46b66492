"""Files that took long are begun first, and what a run took is known to the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fair.order import read, write
from fair.run import TESTS

ONE, OTHER, NEW = "test_a.py", "test_b.py", "test_c.py"


def played(folder: Path) -> list[str]:
    """The order in which a single worker plays three files of one test each."""
    (folder / "conftest.py").write_text('pytest_plugins = ["fair.order"]\n')
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name in (ONE, OTHER, NEW):
        (folder / name).write_text("def test_it(): pass\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env |= {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "ECOTONE_CACHE": str(folder / "cache")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "xdist",
        "-p",
        "no:cacheprovider",
        "-n",
        "1",
        "--dist",
        "loadfile",
        "-v",
    ]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split()[-1].partition("::")[0] for line in done.stdout.splitlines() if line.startswith("[gw0]")]


def test_what_is_unknown_comes_first_and_then_what_takes_long(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    kept = tmp_path / "cache" / "durations.json"
    write({ONE: 1.0, OTHER: 60.0}, kept)
    assert played(tmp_path) == [NEW, OTHER, ONE]
    assert set(read(kept)) == {ONE, OTHER, NEW} and read(kept)[OTHER] < 60.0


def test_figures_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    file = tmp_path / "durations.json"
    assert read(file) == {}
    for text in ("{", "[]", '{"a": "long"}'):
        file.write_text(text)
        assert read(file) == {}
