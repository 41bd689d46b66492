"""Everything a release consists of, in dist/: wheel, source archive, image with its digest, chart, bill of materials, sums.

    python scripts/release.py [--unreleased] [--without-image] [--out FOLDER]

The version is pyproject.toml's; CHANGELOG.md must have a dated section for it, and nothing left under Unreleased
(--unreleased: as it is). The image is built from the Dockerfile by buildah. Times in archives are the section's date, so that
the same sources give the same chart and source archive.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASIDE = [str(ROOT / "scripts/aside"), sys.executable]
SUMS = "SHA256SUMS"
_SECTION = re.compile(r"^## (\S+)(?: \((\d{4}-\d{2}-\d{2})\))?\n(.*?)(?=^## |\Z)", flags=re.DOTALL | re.MULTILINE)


class NotReadyError(Exception):
    """Something has to be done before this can be released."""


def day_of(version: str, changelog: str, *, unreleased: bool = False) -> int:
    """The second at which the version's day begins; a changelog that does not fit the version is refused."""
    sections = {name: (date, text) for name, date, text in _SECTION.findall(changelog)}
    if re.search(r"^- ", sections.get("Unreleased", ("", ""))[1], flags=re.MULTILINE) and not unreleased:
        raise NotReadyError(f"CHANGELOG.md has lines under Unreleased: move them under `## {version} (DATE)`")
    date, _ = sections.get(version, ("", ""))
    if not date:
        raise NotReadyError(f"CHANGELOG.md has no section `## {version} (DATE)`")
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())


def chart_archive(chart: Path, second: int) -> bytes:
    """The chart as Helm packs it: one folder of its name, the same bytes for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(file for file in chart.rglob("*") if file.is_file()):
            entry = tarfile.TarInfo(f"ecotone/{file.relative_to(chart)}")
            entry.size, entry.mtime, entry.mode = file.stat().st_size, second, 0o644
            with file.open("rb") as content:
                archive.addfile(entry, content)
    return gzip.compress(packed.getvalue(), mtime=second)


def emptied(folder: Path) -> Path:
    """The folder with nothing in it; what is no earlier release is not thrown away."""
    if folder.exists() and any(folder.iterdir()) and not (folder / SUMS).exists():
        raise NotReadyError(f"{folder} is not empty and holds no release")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def sums(folder: Path) -> str:
    """What `sha256sum --check` reads."""
    files = sorted(file for file in folder.iterdir() if file.name != SUMS)
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def packages(out: Path, environment: Mapping[str, str]) -> None:
    _run([*ASIDE, "requirements/build.lock", "hatchling", "build", "--directory", str(out)], environment)


def bill(file: Path, environment: Mapping[str, str]) -> None:
    """What an installation contains: read off a real one, of the packages that running needs."""
    reading = (
        'exec "$0" "$1" requirements/release.lock cyclonedx-py environment "$(command -v python)" '
        '--pyproject pyproject.toml --mc-type application --output-reproducible --of JSON --output-file "$2"'
    )
    _run([*ASIDE, "requirements/run.lock", "bash", "-c", reading, *ASIDE, str(file)], environment)


def image(archive: Path, version: str, environment: Mapping[str, str]) -> None:
    if shutil.which("buildah") is None:
        raise NotReadyError("the image needs buildah (Debian has it), or --without-image")
    name = f"localhost/ecotone:{version}"
    _run(["buildah", "build", "--timestamp", environment["SOURCE_DATE_EPOCH"], "--tag", name, "."], environment)
    digest = archive.with_suffix(".digest")
    _run(["buildah", "push", "--digestfile", str(digest), name, f"oci-archive:{archive}:{version}"], environment)
    digest.write_text(digest.read_text().strip() + "\n")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--unreleased", action="store_true", help="although the changelog has lines without a version")
    words.add_argument("--without-image", action="store_true")
    words.add_argument("--out", type=Path, default=ROOT / "dist")
    given = words.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    out: Path = given.out.resolve()
    try:
        second = day_of(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), unreleased=given.unreleased)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(second)}
        packages(emptied(out), environment)
        (out / f"ecotone-chart-{version}.tgz").write_bytes(chart_archive(ROOT / "deploy/chart", second))
        bill(out / f"ecotone-{version}.cdx.json", environment)
        if not given.without_image:
            image(out / f"ecotone-{version}-image.tar", version, environment)
    except NotReadyError as reason:
        sys.stderr.write(f"release: {reason}\n")
        return 2
    (out / SUMS).write_text(sums(out), encoding="utf-8")
    sys.stdout.write("".join(f"{file}\n" for file in sorted(out.iterdir())))
    return 0


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=True)  # noqa: S603 - words of this file


if __name__ == "__main__":
    raise SystemExit(main())
