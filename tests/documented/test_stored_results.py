"""Stored results are what this code gives: rows of them are simulated again, with all policies and trials.

The rows taken are those with the fewest users, which are the quickest; they show a policy that decides otherwise as well as
any other row does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TABLE = "p95 in ms, mean over trials"
SECONDS = 600


def rows_of(result: dict[str, Any]) -> dict[tuple[float, int], list[float]]:
    """p95 of every policy by latency and number of users."""
    (table,) = (each for each in result["tables"] if each["title"] == TABLE)
    return {(float(row[0]), int(row[1])): row[2:] for row in table["rows"]}


@pytest.mark.documented
@pytest.mark.parametrize(
    ("experiment", "latency", "options"),
    [("sophos", 10.0, ["--no-bound"]), ("sophos", 500.0, ["--no-bound"]), ("sophos-dag", 10.0, [])],
)
def test_a_row_that_is_stored_comes_out_again(experiment: str, latency: float, options: list[str]) -> None:
    stored = rows_of(json.loads((RESULTS / f"{experiment}.json").read_text(encoding="utf-8")))
    users = min(number for at, number in stored if at == latency)
    done = subprocess.run(
        [
            sys.executable, "-m", "ecotone", "experiment", experiment, "--latency", f"{latency:g}", "--users", str(users),
            "--trials", "10", *options, "-o", "json",
        ],
        check=True, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert rows_of(json.loads(done.stdout)) == {(latency, users): stored[latency, users]}
