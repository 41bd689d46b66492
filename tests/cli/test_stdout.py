"""Data goes to stdout and nothing else does, whatever a library prints on its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os
from ecotone import cli
cli._run = lambda arguments: (os.write(1, b"a library\\n"), print("data"), __import__("sys").stdout.flush())[0] * 0
raise SystemExit(cli.main())
"""


def test_what_a_library_prints_goes_to_stderr() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("data\n", "a library\n")
