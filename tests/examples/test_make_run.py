"""What a newcomer sees first: `make run`'s table is the README's, and its scenario shows what the product is for."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ecotone.cli import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_BETWEEN = re.compile(r"<!-- make run -->\n```\n(.*?)```\n<!-- /make run -->", flags=re.DOTALL)


def words() -> list[str]:
    """The arguments of `ecotone` under `run:` in the Makefile, without the report."""
    recipe = re.search(r"^run: setup\n\t\$\(BIN\)/ecotone (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe is not None
    given = shlex.split(recipe[1])
    assert given[-2:] == ["--report", "report"]
    return given[:-2]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """The table, and the same runs in full."""
    from contextlib import redirect_stdout
    from io import StringIO

    kept = str(tmp_path_factory.mktemp("runs"))
    found = []
    for more in ([], ["-o", "json"]):
        with redirect_stdout(StringIO()) as out:
            assert main([*words(), "--runs", kept, *more]) == 0
        found.append(out.getvalue())
    return found[0], json.loads(found[1])


@pytest.mark.lasting
def test_the_readme_shows_the_table_that_make_run_prints(shown: tuple[str, dict[str, Any]]) -> None:
    text = README.read_text(encoding="utf-8")
    if os.environ.get("ECOTONE_UPDATE_EXAMPLES"):
        fresh = f"<!-- make run -->\n```\n{shown[0]}```\n<!-- /make run -->"
        README.write_text(text := _BETWEEN.sub(lambda _: fresh, text), encoding="utf-8")
    assert _BETWEEN.findall(text) == [shown[0]]


def test_ecotone_is_clearly_ahead_and_loses_no_request(shown: tuple[str, dict[str, Any]]) -> None:
    summary = {each["policy"]: each for each in shown[1]["summary"]}
    ours = summary.pop("ecotone-fast")
    assert ours["failed_share"] == 0.0 and ours["unplaced"] == 0.0
    assert summary.pop("ecotone")["failed_share"] == 0.0
    assert {"kube-default", "sophos", "communication-aware", "netmarks", "kubedsm"} <= set(summary)
    assert all(ours["p95_ms"] < 0.75 * each["p95_ms"] for each in summary.values())
    assert all(ours["mean_ms"] < 0.6 * each["mean_ms"] for each in summary.values())


def test_services_follow_the_users_and_the_network(shown: tuple[str, dict[str, Any]]) -> None:
    run = next(each for each in shown[1]["runs"] if each["policy"] == "ecotone-fast")
    places = [max(where["gateway"], key=where["gateway"].get) for _, where in run["placement"] if where.get("gateway")]
    changes = [place for index, place in enumerate(places) if index == 0 or place != places[index - 1]]
    # Half-way between the two while the crowd is on its way from the harbour to the park.
    assert changes == ["cloud-1", "harbour", "fog-1", "park", "fog-1", "park"]
