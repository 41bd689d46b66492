"""An experiment's page: every table, chart and sentence on it, its data in it, and the command that runs it again."""

from __future__ import annotations

import base64
import json
import re
import shlex
from pathlib import Path

import pytest

from cli.running import Run, runner
from ecotone.experiments.campaign.registry import EXPERIMENTS, Experiment, Options, Result, Table
from ecotone.experiments.report.experiment import write_experiment


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def result(folder: Path) -> Result:
    folder.mkdir(parents=True, exist_ok=True)
    svg = folder / "delay.svg"
    svg.write_text("<svg xmlns='http://www.w3.org/2000/svg'><title>Delay &amp; more</title></svg>")
    detail = folder / "x-10ms" / "index.html"
    tables = [Table("Delays <b>", ["policy", "mean ms"], [["pogonip", 21.5], ["x" * 60, None]])]
    return Result("pogonip-1", tables, ["Not <i>exact</i>."], {"mean": {"pogonip": 21.5}}, [svg, detail])


def test_a_page_holds_everything_and_needs_nothing_else(tmp_path: Path) -> None:
    page = write_experiment(
        result(tmp_path), tmp_path, summary="one application", command="ecotone experiment pogonip-1"
    )
    text = page.read_text(encoding="utf-8")
    assert "Delays &lt;b&gt;" in text and "Not &lt;i&gt;exact&lt;/i&gt;." in text
    assert "one application" in text and "<code>ecotone experiment pogonip-1</code>" in text
    assert 'href="x-10ms/index.html"' in text
    embedded = re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', text)
    assert embedded is not None
    assert base64.b64decode(embedded[1]).decode() == (tmp_path / "delay.svg").read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert data is not None
    assert json.loads(data[1])["figures"] == {"mean": {"pogonip": 21.5}}
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_writes_a_page(name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Options] = []

    def instead(self: Experiment, options: Options) -> Result:
        asked.append(options)
        return result(tmp_path / "files")

    monkeypatch.setattr(Experiment, "run", instead)
    words = ["experiment", name, "--quick", "--seed", "3", "--latency", "10", "--latency", "50", "--no-bound"]
    done = run(*words, "--report", str(tmp_path / "page"), "--workers", "1", "-o", "name")
    assert done.code == 0, done.err
    page = tmp_path / "page" / "index.html"
    assert f"wrote {page}\n" in done.err
    command = asked[0].command
    assert command in page.read_text(encoding="utf-8")
    assert sorted(shlex.split(command)) == sorted(
        [
            "ecotone",
            "experiment",
            name,
            "--quick",
            "--seed",
            "3",
            "--latency",
            "10.0",
            "--latency",
            "50.0",
            "--no-bound",
        ]
    )


def test_a_real_experiment_ends_as_a_page(run: Run, tmp_path: Path) -> None:
    done = run("experiment", "pogonip-1", "--quick", "--trials", "1", "--report", str(tmp_path))
    assert done.code == 0, done.err
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert text.count("<table") == len(re.findall(r"<h2>", text)) - 3  # the chart, the notes and the foot have no table
    assert "ecotone experiment pogonip-1 --quick --trials 1</code>" in text
    assert (tmp_path / "pogonip-1-delay.svg").is_file()
