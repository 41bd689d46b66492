"""A script of several parts ends with a table of them; a part that fails ends the script and is named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script"
    script.write_text(f"set -euo pipefail\n. {ROOT}/scripts/parts.sh\n{body}")
    env = {name: value for name, value in os.environ.items() if name != "ECOTONE_GATE"} | {"TMPDIR": str(folder)}
    return subprocess.run(["bash", script], env=env, capture_output=True, text=True, check=False, timeout=60)


def test_the_last_lines_are_a_table_of_the_parts(tmp_path: Path) -> None:
    (tmp_path / "inner").write_text(f". {ROOT}/scripts/parts.sh\npart 'the inner part' true\n")
    done = run(tmp_path, f"part 'the first part' echo hello\nbash {tmp_path}/inner\necho 3 >$ECOTONE_GATE/passed.txt\n")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line]
    assert lines == [
        ["hello"], ["the", "first", "part", "0:00"], ["the", "inner", "part", "0:00"], ["all", "parts", "0:00", "passed"],
        ["3", "passed"],
    ]  # fmt: skip
    assert "== the first part: 0:00" in done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"inner", "script"}


def test_a_part_that_fails_is_named_and_nothing_follows(tmp_path: Path) -> None:
    done = run(tmp_path, "part 'the first part' sh -c 'exit 7'\npart 'the second part' true\n")
    assert done.returncode == 7
    assert "the first part" in done.stdout and "failed (7)" in done.stdout
    assert "the second part" not in done.stdout and "all parts" in done.stdout


def test_flaky_tests_stand_above_the_table(tmp_path: Path) -> None:
    done = run(tmp_path, f"printf '{'a' * 32}\\tflaky: test_it\\n' >$ECOTONE_GATE/flaky.txt\npart 'one part' true\n")
    assert done.stdout.split("\n")[1] == "flaky: test_it"
