"""The digest of the code that kept runs are found by."""

from __future__ import annotations

from pathlib import Path

from ecotone.experiments.campaign.code import code_digest, digest_of
from ecotone.experiments.campaign.runs import Job


def package(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_it_is_the_same_for_the_same_files_elsewhere(tmp_path: Path) -> None:
    one = package(tmp_path / "one", a="x = 1", b="y = 2")
    assert digest_of(one) == digest_of(package(tmp_path / "two", b="y = 2", a="x = 1"))


def test_any_change_of_code_changes_it(tmp_path: Path) -> None:
    bodies = [{"a": "x = 1"}, {"a": "x = 2"}, {"b": "x = 1"}, {"a": "x = 1", "b": ""}, {"a": "x", "b": " = 1"}]
    assert len({digest_of(package(tmp_path / str(i), **files)) for i, files in enumerate(bodies)}) == len(bodies)


def test_what_the_interpreter_leaves_behind_does_not_count(tmp_path: Path) -> None:
    folder = package(tmp_path / "one", a="x = 1")
    before = digest_of(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_bytes(b"\x00")
    assert digest_of(folder) == before


def test_a_kept_run_is_found_only_by_the_code_that_made_it(monkeypatch) -> None:
    job = Job("scenario", "f.yaml", "first-fit", 0, 1)
    before = job.key
    assert before == job.key
    monkeypatch.setattr("ecotone.experiments.campaign.runs.code_digest", lambda: "other code")
    assert job.key != before
    assert len(code_digest()) == 32
