"""A report is enough to get its figures again: its own command, run on the scenario it holds, writes the same page."""

from __future__ import annotations

import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ecotone.cli import main

SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: sock-shop-100ms}  # the name of a built-in one, whose figures these are not
spec:
  duration: 20s
  cluster:
    nodes: [{name: a, cpu: "2", memory: 4Gi}, {name: b, cpu: "2", memory: 4Gi}]
    network: {default: {rtt: 10ms}}
  application: {name: shop, services: [{name: web, requests: {cpu: 100m}, endpoints: [{name: get, cpu: 2ms}]}]}
  load: [{at: 5s, for: 15s, entry: web.get, from: [a], arrivals: {users: 2, every: 1s}}]
"""


def test_the_command_on_the_page_run_on_the_scenario_in_it_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder / "my scenarios").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "first")
    Path("my scenarios/mine.yaml").write_text(SCENARIO)
    assert (
        main(
            [
                "simulate",
                "my scenarios/mine.yaml",
                "-p",
                "first-fit",
                "-p",
                "random",
                "--seed",
                "3",
                "--report",
                "report",
            ]
        )
        == 0
    )
    page = Path("report/index.html").read_text(encoding="utf-8")
    tree = ElementTree.fromstring(page.removeprefix("<!doctype html>\n"))
    (command,) = [each[0].text or "" for each in tree.iter("pre") if each.get("aria-label") == "Command"]
    (held,) = [each.text for each in tree.iter("code") if each.get("id") == "scenario-file"]
    assert held == SCENARIO
    monkeypatch.chdir(tmp_path / "second")
    words = shlex.split(command)
    assert words[:3] == ["ecotone", "simulate", "my scenarios/mine.yaml"]
    Path(words[2]).write_text(held)
    assert main(words[1:]) == 0
    assert Path("report/index.html").read_text(encoding="utf-8") == page
