"""`make release` from nothing: everything is there, fits together and says what it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

from documented.base_image import write_base
from documented.checkout import checkout, sh
from documented.test_image import BASE
from examples.lines import RELEASE, lines_of
from missing import need_programs, need_root

BUILDAH = """#!/bin/sh
exec {program} --root {folder}/store --runroot {folder}/run --storage-driver vfs "$@"
"""


def test_a_release_is_whole(tmp_path: Path) -> None:
    need_root("an image is built in a chroot")
    need_programs(["buildah", "sha256sum"], hint="make documented installs them")
    sources, links = checkout(tmp_path / "checkout"), tmp_path / "bin"
    here = {"PATH": f"{links}:{os.environ['PATH']}", "BUILDAH_ISOLATION": "chroot", **registries(tmp_path)}
    links.mkdir()
    (links / "buildah").write_text(BUILDAH.format(program=shutil.which("buildah"), folder=tmp_path))
    (links / "buildah").chmod(0o755)
    write_base(BASE, tmp_path / "base.tar")
    sh(f"buildah pull docker-archive:{tmp_path}/base.tar", sources, here)
    try:
        (line,) = lines_of(RELEASE)
        sh(f"{line.command} PYTHON={sys.executable} ARGUMENTS=--unreleased", sources, here, seconds=1200)
        is_whole(sources / "dist", sources)
    finally:
        sh("buildah rm --all && buildah rmi --all --force", tmp_path, here)
        shutil.rmtree(tmp_path, ignore_errors=True)  # hundreds of megabytes


def registries(folder: Path) -> dict[str, str]:
    (folder / "registries.conf").write_text('unqualified-search-registries = ["docker.io"]\n')
    return {"CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf")}


def is_whole(dist: Path, sources: Path) -> None:
    sh("sha256sum --check SHA256SUMS", dist)
    assert len((dist / "SHA256SUMS").read_text().splitlines()) == len(list(dist.iterdir())) - 1 == 6
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert any("/binaries/" in name for name in archive.namelist())
    (bill,) = dist.glob("*.cdx.json")
    listed = {
        each["name"].lower().replace("_", "-"): each["version"] for each in json.loads(bill.read_text())["components"]
    }
    locked = dict(
        re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", (sources / "requirements/run.lock").read_text(), re.MULTILINE)
    )
    assert locked.items() <= listed.items() and set(listed) - set(locked) <= {"pip", "setuptools"}
    (image,) = dist.glob("*-image.tar")
    with tarfile.open(image) as packed:
        index = packed.extractfile("index.json")
        assert index is not None
        (manifest,) = json.load(index)["manifests"]
    assert image.with_suffix(".digest").read_text() == manifest["digest"] + "\n"
