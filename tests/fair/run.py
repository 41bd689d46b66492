"""Runs pytest for tests of real programs. Those that were only late run once more, alone, at the end.

    python tests/fair/run.py [arguments of pytest]

If they pass then, they are listed as flaky and the run has passed. It has not passed if more than two waits were missed in
the whole gate, or if a test was late again that tests/flaky.md lists without a cause. Any other failure is final.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from fair.known import PAGE, known, row, unexplained  # noqa: E402 - run by its path
from fair.plugin import GATE, Late, Outcome  # noqa: E402 - run by its path

MOST_FLAKY = 2
FLAKY = "flaky.txt"
PASSED, FAILED = 0, 1


def say(text: str) -> None:
    sys.stdout.write(f"fair: {text}\n")
    sys.stdout.flush()


def pytest(arguments: Sequence[str], folder: Path) -> tuple[int, Outcome | None]:
    """Exit code and what the plugin wrote, if pytest came that far."""
    file = folder / "outcome.json"
    file.unlink(missing_ok=True)
    code = subprocess.call([sys.executable, "-m", "pytest", *arguments, f"--fair-outcome={file}"])
    return code, Outcome.read(file) if file.exists() else None


def flaky_before(gate: Path) -> set[str]:
    """Waits that other parts of the gate have missed."""
    file = gate / FLAKY
    return {line.split("\t")[0] for line in file.read_text().splitlines()} if file.exists() else set()


def told(late: Late) -> str:
    return f"flaky: {late.test}: {late.said.splitlines()[0]} (load of {late.load:.1f} a core); passed alone"


def judge(late: list[Late], gate: Path, page: Path) -> int:
    """Of tests that were late and have passed since: lists them, and says whether that can be let pass."""
    with (gate / FLAKY).open("a", encoding="utf-8") as stream:
        for one in late:
            stream.write(f"{one.wait}\t{told(one)}\n")
            say(told(one))
    rows = known(page)
    again = sorted({one.test for one in late if unexplained(rows, one.test)})
    for test in again:
        say(f"{test} was flaky before, and {page.name} has no cause for it: that is a failure")
    for test in sorted({one.test for one in late} - {one.test for one in rows}):
        say(f"for {page.name}: {row(test, time.strftime('%Y-%m-%d', time.gmtime()))}")
    return FAILED if again else PASSED


def run(arguments: Sequence[str], gate: Path, page: Path = PAGE) -> int:
    os.environ.setdefault("PYTHONHASHSEED", str(random.randrange(2**32)))  # the second time like the first
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        code, first = pytest(arguments, folder)
        if code != FAILED or first is None or first.failed or not first.complete or not first.late:
            return code
        waits = {one.wait for one in first.late} | flaky_before(gate)
        if len(waits) > MOST_FLAKY:
            say(f"{len(waits)} missed waits in one gate are more than {MOST_FLAKY}: that is a failure")
            return FAILED
        say(f"{len(first.late)} late, nothing failed: once more, alone")
        chosen = folder / "late.json"
        first.write(chosen)
        code, _ = pytest([*arguments, "-n", "0", f"--fair-only={chosen}"], folder)
        if code != PASSED:
            say("late again, or worse: that is a failure")
            return code
        return judge(first.late, gate, page)


def main(arguments: Sequence[str]) -> int:
    given = os.environ.get(GATE)
    if given:
        return run(arguments, Path(given))
    with tempfile.TemporaryDirectory() as gate:
        return run(arguments, Path(gate))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
