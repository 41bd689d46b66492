"""Every promise of SECURITY.md names the tests that hold it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_each_promise_is_held_by_tests_that_exist() -> None:
    promised = TEXT.split("## What is promised", 1)[1].split("## Who is trusted", 1)[0]
    promises = {name.rstrip(".") for name in re.findall(r"^\* \*\*(.+?)\*\*", promised, re.MULTILINE)}
    rows = dict(re.findall(r"^\| ([^|]+?) \| (.+?) \|$", promised, re.MULTILINE))
    assert promises and promises == rows.keys() - {"promise"}
    for name in promises:
        files = re.findall(r"\]\((tests/[^)]+\.py)\)", rows[name])
        assert files, name
        for file in files:
            assert (ROOT / file).is_file(), f"{name}: {file}"
