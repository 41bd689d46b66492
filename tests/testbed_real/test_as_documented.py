"""The documentation's commands for the test bed, run one after the other: from nothing to a bed and back to nothing.

It runs before the tests that share a bed, since there is one bed on a machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ecotone.model.errors import OutsideError
from ecotone.testbed import requirements
from ecotone.testbed.leftovers import leftovers
from examples.lines import BED, lines_of

pytestmark = pytest.mark.testbed


def perform(line: str) -> str:
    words = line.removeprefix("sudo ").split()
    assert words[0] == "ecotone", line
    command = [sys.executable, "-m", "ecotone", *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{line}: {done.stderr[-2000:]}"
    return done.stdout


def test_the_page_leads_from_nothing_to_a_bed_and_back() -> None:
    try:
        requirements.check(requirements.binaries_directory())
    except OutsideError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    lines = [line.command for line in lines_of(BED)]
    assert lines[0].startswith("sudo ecotone testbed up ") and lines[-1] == "sudo ecotone testbed down"
    (cut,) = [line.split()[4] for line in lines if line.endswith("--power off")]
    printed: dict[str, str] = {}
    try:
        for line in lines[:-1]:
            printed[line] = perform(line)
        assert cut in perform("ecotone testbed status -o name").split()
        states = perform("ecotone testbed status").splitlines()
        assert [row for row in states if row.startswith(f"{cut} ") and " off " in row]
        kubeconfig = Path(printed[lines[0]].strip().splitlines()[-1])
        assert kubeconfig.is_file()
    finally:
        perform(lines[-1])
    assert leftovers() == []
