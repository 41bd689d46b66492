"""The image's Dockerfile is really executed, and what comes out is pushed, pulled and run, with the page's own commands.

`docker` is Debian's buildah here, under that name and with a store of its own: the same commands, no daemon, nothing of it on
this machine afterwards. The registry is Debian's, on the loopback of a network namespace in which `registry.example` is its
name. The image to begin with is made from this machine's Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from control_plane.processes import Child, wait_until
from documented.base_image import write_base
from ecotone.testbed.images.archive import NON_ROOT
from examples.lines import IMAGE, lines_of
from examples.transcripts import REPOSITORY
from missing import need_programs, need_root
from real_programs import tool

BASE = "docker.io/library/python:3.11-slim"
PROGRAMS = ("buildah", "curl", "nsenter", "unshare", "ip", "mount", "chroot")
START_SECONDS, BUILD_SECONDS = 30.0, 600.0
REGISTRY = """version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: 127.0.0.1:80}}
"""
DOCKER = """#!/bin/sh
exec buildah --root {folder}/store --runroot {folder}/run --storage-driver vfs "$@"
"""
SETTINGS = """unqualified-search-registries = ["docker.io"]
[[registry]]
location = "{host}"
insecure = true
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where `docker` and the registry are: `inside` is a command that enters the registry's network."""

    folder: Path
    inside: tuple[str, ...]

    def sh(self, line: str, *, inside: bool = False, cwd: Path = REPOSITORY, seconds: float = 120) -> str:
        environment = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "BUILDAH_ISOLATION": "chroot",
            "CONTAINERS_REGISTRIES_CONF": str(self.folder / "registries.conf"),
        }
        command = [*(self.inside if inside else ()), "sh", "-c", line]
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=seconds
        )
        assert done.returncode == 0, f"{line}: {done.stderr[-3000:]}"
        return done.stdout.strip()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    need_root("an image is built in a chroot, its registry has a network of its own")
    need_programs(PROGRAMS, hint="make documented installs them")
    host = _host()
    (tmp_path / "docker").write_text(DOCKER.format(folder=tmp_path))
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "registries.conf").write_text(SETTINGS.format(host=host))
    (tmp_path / "registry.yml").write_text(REGISTRY.format(folder=tmp_path / "registry"))
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost {host}\n")
    script = (
        f"ip link set lo up && mount --bind {tmp_path}/hosts /etc/hosts "
        f"&& exec {tool('docker-registry')} serve {tmp_path}/registry.yml"
    )
    command = ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", script]
    registry = Child("registry", command, log=tmp_path / "registry.log")
    enter = ("nsenter", f"--target={registry.pid}", "--mount", "--net", f"--wd={REPOSITORY}")
    found = Place(tmp_path, enter)
    try:
        wait_until(lambda: _answers(found, host), timeout=START_SECONDS, what="registry", child=registry)
        yield found
        found.sh("docker rm --all && docker rmi --all --force")
    finally:
        registry.stop()
        shutil.rmtree(tmp_path, ignore_errors=True)  # hundreds of megabytes


def _host() -> str:
    (push,) = (line.command for line in lines_of(IMAGE) if line.command.startswith("docker push "))
    return push.split()[-1].partition("/")[0]


def _answers(place: Place, host: str) -> bool:
    try:
        place.sh(f"curl --fail --silent http://{host}/v2/", inside=True)
    except AssertionError:
        return False
    return True


def test_the_image_is_built_pushed_and_works_without_rights(place: Place) -> None:
    lines = [line.command for line in lines_of(IMAGE)]
    assert [line.split()[1] for line in lines] == ["build", "push"]
    name = lines[-1].split()[-1]
    write_base(BASE, place.folder / "base.tar")
    place.sh(f"docker pull docker-archive:{place.folder}/base.tar")
    place.sh(lines[0], seconds=BUILD_SECONDS)
    place.sh(lines[1], inside=True)

    place.sh(f"docker rmi --force {name}")
    place.sh(f"docker pull {name}", inside=True)
    built = json.loads(place.sh(f"docker inspect --type image {name}"))["OCIv1"]["config"]
    assert (built["User"], built["Entrypoint"]) == (f"{NON_ROOT}:{NON_ROOT}", ["ecotone"])
    root = place.sh(f"docker mount $(docker from {name})")
    read_only = f"mount --bind {root} {root} && mount -o remount,ro,bind {root}"
    path = next(each for each in built["Env"] if each.startswith("PATH="))
    # As its user on a file system that cannot be written to, which is how `ecotone manifests` has it run.
    for command, printed in (
        ("ecotone --version", r"ecotone \d"),
        (f"ecotone manifests --image {name}", re.escape(name)),
    ):
        run = f"{path} LD_LIBRARY_PATH=/usr/local/lib $(command -v chroot) --userspec={built['User']} {root} {command}"
        assert re.search(printed, place.sh(f"unshare --mount sh -c '{read_only} && {run}'"))
