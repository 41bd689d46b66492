"""What a release refuses, and the parts of it that this project packs itself."""

from __future__ import annotations

import io
import runpy
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASE = runpy.run_path(str(ROOT / "scripts/release.py"))
DAY = 1_767_225_600  # 2026-01-01
CHANGELOG = """# Changelog

## Unreleased

### Added

{line}
## 0.2.0 (2026-01-01)

- Something.

## 0.1.0 (2025-01-01)
"""


def test_a_version_has_its_day_in_the_changelog() -> None:
    assert RELEASE["day_of"]("0.2.0", CHANGELOG.format(line="")) == DAY


def test_lines_without_a_version_are_refused_unless_wanted() -> None:
    text = CHANGELOG.format(line="- New.\n")
    with pytest.raises(RELEASE["NotReadyError"], match="under Unreleased"):
        RELEASE["day_of"]("0.2.0", text)
    assert RELEASE["day_of"]("0.2.0", text, unreleased=True) == DAY


@pytest.mark.parametrize("version", ["0.3.0", "0.2", "Unreleased"])
def test_a_version_without_a_section_is_refused(version: str) -> None:
    with pytest.raises(RELEASE["NotReadyError"], match="no section"):
        RELEASE["day_of"](version, CHANGELOG.format(line=""))


def test_this_version_has_its_section() -> None:
    import ecotone

    text = (ROOT / "CHANGELOG.md").read_text()
    assert RELEASE["day_of"](ecotone.__version__, text, unreleased=True) > DAY


def test_an_entry_of_the_changelog_is_one_line() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().split("\n## ", maxsplit=1)[1].splitlines()
    assert [line for line in lines if line.startswith(" ")] == []
    assert [line for line in lines if len(line) > 128] == []


def test_the_chart_is_packed_as_helm_reads_it_and_always_the_same() -> None:
    packed = RELEASE["chart_archive"](ROOT / "deploy/chart", DAY)
    assert packed == RELEASE["chart_archive"](ROOT / "deploy/chart", DAY)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        found = {entry.name: archive.extractfile(entry) for entry in archive}
        written = {name: content.read() for name, content in found.items() if content is not None}
    files = [file for file in (ROOT / "deploy/chart").rglob("*") if file.is_file()]
    assert written == {f"ecotone/{file.relative_to(ROOT / 'deploy/chart')}": file.read_bytes() for file in files}


def test_sums_are_of_every_file_and_fit(tmp_path: Path) -> None:
    for name in ("b.whl", "a.tgz"):
        (tmp_path / name).write_text(name)
    (tmp_path / "SHA256SUMS").write_text(RELEASE["sums"](tmp_path))
    assert [line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()] == ["a.tgz", "b.whl"]
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "a.tgz").write_text("other")
    assert subprocess.run(check, cwd=tmp_path, check=False, capture_output=True).returncode != 0


def test_a_folder_of_other_things_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RELEASE["NotReadyError"], match="not empty"):
        RELEASE["emptied"](tmp_path)
    assert (tmp_path / "mine.txt").exists()
    (tmp_path / "SHA256SUMS").write_text("")
    assert list(RELEASE["emptied"](tmp_path).iterdir()) == []
