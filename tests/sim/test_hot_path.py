"""The compiled hot path: the same bytes as the sources, never out of date, and nothing that one cannot do without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ecotone.sim import COMPILED, hot_path
from missing import lacking

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/ecotone/sim"
WHERE = "import ecotone.sim.kernel as kernel, ecotone.sim.users as users; print(kernel.__file__, users.__file__)"
FRESH = {hot_path.SWITCH: ""}
NO_COMPILER = {"CC": "no-such-compiler", "CI": ""}


def python(
    *arguments: str, environment: dict[str, str] | None = None, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(cwd / "src"), **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def binaries() -> Path:
    """The binaries of the sources as they are."""
    folder = hot_path.place(PACKAGE)
    if not folder.is_dir():
        lacking("the hot path is not compiled, or not since its sources changed: make setup")
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Everything a build needs, without binaries."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/compile.py", tmp_path / "scripts")
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", hot_path.FOLDER, "*.egg-info")
    )
    return tmp_path


@pytest.mark.lasting
def test_binaries_and_sources_give_the_same_bytes(binaries: Path) -> None:
    compiled = python("tests/sim/bytes_of_runs.py", environment=FRESH)
    pure = python("tests/sim/bytes_of_runs.py", environment={hot_path.SWITCH: "1"})
    assert compiled.stderr == "compiled" and pure.stderr == "pure"
    assert len(compiled.stdout.splitlines()) >= 7
    assert compiled.stdout == pure.stdout


def test_what_runs_here_is_what_was_asked_for(binaries: Path) -> None:
    wanted = os.environ.get(hot_path.SWITCH, "") in ("", "0")
    assert (binaries if wanted else None) == COMPILED
    for name in hot_path.MODULES:
        module = __import__(f"ecotone.sim.{name}", fromlist=["x"])
        assert (binaries in Path(str(module.__file__)).parents) == wanted


def test_a_binary_never_stands_in_for_a_source_that_has_changed(binaries: Path, copy: Path) -> None:
    target = copy / binaries.relative_to(ROOT)
    shutil.copytree(binaries, target)
    assert python("-c", WHERE, cwd=copy, environment=FRESH).stdout.count(str(target)) == 2
    source = copy / "src/ecotone/sim/users.py"
    text = source.read_text()
    source.write_text(text + "\n# changed\n")
    assert python("-c", WHERE, cwd=copy, environment=FRESH).stdout.split() == [
        str(copy / "src/ecotone/sim/kernel.py"), str(source),
    ]  # fmt: skip
    source.write_text(text)
    assert python("-c", WHERE, cwd=copy, environment=FRESH).stdout.count(str(target)) == 2


def test_without_a_compiler_the_sources_run_and_one_line_says_why(copy: Path) -> None:
    done = python("scripts/compile.py", cwd=copy, environment=NO_COMPILER)
    assert done.returncode == 0
    assert done.stderr == (
        "compile: no C compiler (no-such-compiler); the simulator runs in pure Python: the same results, slower\n"
    )
    assert python("-c", WHERE, cwd=copy).stdout.split() == [
        str(copy / "src/ecotone/sim" / name) for name in ("kernel.py", "users.py")
    ]
    assert python("scripts/compile.py", cwd=copy, environment={**NO_COMPILER, "CI": "true"}).returncode == 1


@pytest.mark.lasting
def test_a_source_that_does_not_compile_is_told_and_the_sources_run(copy: Path) -> None:
    kernel = copy / "src/ecotone/sim/kernel.py"
    kernel.write_text(kernel.read_text() + '\nWRONG: int = "text"\n')
    if shutil.which("cc") is None:
        lacking("no C compiler")
    done = python("scripts/compile.py", cwd=copy, environment={"CI": ""})
    assert done.returncode == 0
    assert "kernel.py" in done.stderr and "Incompatible types" in done.stderr
    assert not (copy / "src/ecotone/sim" / hot_path.FOLDER).exists()


def wheel(copy: Path, environment: dict[str, str] | None = None) -> Path:
    done = python(
        "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
        "--wheel-dir", str(copy / "wheels"), ".", cwd=copy, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = (copy / "wheels").glob("*.whl")
    return found


@pytest.mark.lasting
def test_a_wheel_carries_the_binaries_of_its_own_sources_and_no_others(binaries: Path, copy: Path) -> None:
    shutil.copytree(binaries, copy / binaries.relative_to(ROOT))
    (copy / "src/ecotone/sim" / hot_path.FOLDER / "old").mkdir()
    (copy / "src/ecotone/sim" / hot_path.FOLDER / "old" / "kernel.so").write_text("")
    found = wheel(copy)
    assert not found.name.endswith("-none-any.whl")
    with zipfile.ZipFile(found) as archive:
        carried = {name for name in archive.namelist() if f"/{hot_path.FOLDER}/" in name}
    assert carried == {f"ecotone/sim/{hot_path.FOLDER}/{binaries.name}/{file.name}" for file in binaries.iterdir()}


@pytest.mark.lasting
def test_a_wheel_built_without_a_compiler_is_pure(copy: Path) -> None:
    found = wheel(copy, NO_COMPILER)
    assert found.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(found) as archive:
        assert "ecotone/sim/kernel.py" in archive.namelist()
        assert not any(name.endswith(".so") for name in archive.namelist())
