"""The page that shows a simulation's figures."""

from pathlib import Path

from ecotone.experiments.report import write_report

RESULT = {"scenario": "small", "seed": 1, "runs": [], "summary": [{"policy": "<i>", "p95_ms": 12.5, "vs_baseline": 0}]}


def test_the_page_is_written_and_names_come_out_as_text(tmp_path: Path) -> None:
    path = write_report(RESULT, None, tmp_path / "new")
    assert path == tmp_path / "new" / "index.html"
    text = path.read_text(encoding="utf-8")
    assert "&lt;i&gt;" in text
    assert "<i>" not in text
