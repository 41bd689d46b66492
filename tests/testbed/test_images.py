"""Images are archives whose bytes depend on their content alone."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ecotone.testbed.images.archive import Entry, Image, write_image
from ecotone.testbed.images.bytecode import compiled
from ecotone.testbed.images.contents import dependencies, ecotone_entries, write_once
from ecotone.testbed.images.libraries import libraries


def make(tmp_path: Path, name: str, content: bytes = b"x") -> Path:
    out = tmp_path / name
    write_image(Image("a/b:1", [Entry("bin/app", content, 0o755), Entry("etc/z", b"z")], ["/bin/app"]), out)
    return out


def test_the_same_content_is_the_same_bytes(tmp_path: Path) -> None:
    assert make(tmp_path, "one.tar").read_bytes() == make(tmp_path, "two.tar").read_bytes()
    assert make(tmp_path, "one.tar").read_bytes() != make(tmp_path, "two.tar", b"y").read_bytes()


def test_digests_name_what_they_are_digests_of(tmp_path: Path) -> None:
    with tarfile.open(make(tmp_path, "one.tar")) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}  # type: ignore[union-attr]
    manifest = json.loads(files["manifest.json"])[0]
    config = files[manifest["Config"]]
    layer = files[manifest["Layers"][0]]
    assert manifest["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"
    assert json.loads(config)["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert json.loads(config)["config"]["User"] != "0"
    with tarfile.open(fileobj=io.BytesIO(layer)) as inner:
        assert inner.getmember("bin/app").mode == 0o755
        assert inner.getmember("bin").isdir()


def test_libraries_of_a_program_include_its_loader() -> None:
    assert any("ld-linux" in entry.path or "ld-musl" in entry.path for entry in libraries([Path("/bin/ls")]))


def test_dependencies_are_followed() -> None:
    found = dependencies("ecotone")
    assert {"numpy", "aiohttp", "yarl"} <= found
    assert "pytest" not in found


@pytest.mark.lasting
def test_ecotones_own_image_holds_its_command_line_and_every_package() -> None:
    paths = {entry.path.partition("/site-packages/")[2] or entry.path for entry in ecotone_entries()}
    assert {"ecotone/cli/__init__.py", "ecotone/services/monitor/program.py", "numpy/__init__.py"} <= paths
    assert {"opt/python/bin/ecotone", "opt/python/bin/python3"} <= paths
    assert not any(path.startswith(("pytest/", "_pytest/")) for path in paths)


def test_compiled_files_run_without_their_source(tmp_path: Path) -> None:
    source = tmp_path / "answer.py"
    source.write_text("ANSWER = 42\n")
    (made,) = compiled([Entry("answer.py", source)])
    out = tmp_path / "elsewhere" / made.path
    out.parent.mkdir(parents=True)
    assert isinstance(made.content, bytes)
    out.write_bytes(made.content)
    (tmp_path / "elsewhere" / "answer.py").write_text("this would not compile")
    command = [sys.executable, "-c", "import answer; print(answer.ANSWER)"]
    done = subprocess.run(command, cwd=tmp_path / "elsewhere", capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


def test_an_image_is_written_again_when_one_of_its_files_changed(tmp_path: Path) -> None:
    file, out = tmp_path / "a", tmp_path / "image.tar"
    file.write_text("one")

    def write(entries: list[Entry], path: Path) -> str:
        return write_image(Image("a/b:1", entries, ["/a"]), path)

    assert write_once([Entry("a", file)], out, write)
    assert not write_once([Entry("a", file)], out, write)
    file.write_text("three")
    assert write_once([Entry("a", file)], out, write)
