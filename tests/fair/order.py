"""Workers begin with the files that took longest the last time: what is begun last should be short.

Seconds per file are kept in the cache beside the tools, so that a fresh clone on the same machine knows them, too. A file
without a figure comes first: it may be long.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from real_programs import CACHE

KEPT = CACHE / "durations.json"
SECONDS = pytest.StashKey[dict[str, float]]()
GIVEN = "fair_seconds"


def read(file: Path = KEPT) -> dict[str, float]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(name): float(seconds) for name, seconds in found.items() if isinstance(seconds, int | float)}


def write(seconds: dict[str, float], file: Path = KEPT) -> None:
    """Others may write at the same time: nobody reads half a file, and a figure that is lost is measured again."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    aside.parent.mkdir(parents=True, exist_ok=True)
    aside.write_text(json.dumps(read(file) | seconds, indent=0, sort_keys=True), encoding="utf-8")
    aside.replace(file)


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def longest_first(items: list[pytest.Item], seconds: dict[str, float]) -> list[pytest.Item]:
    return sorted(items, key=lambda item: -seconds.get(file_of(item.nodeid), float("inf")))


def pytest_configure(config: pytest.Config) -> None:
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[SECONDS] = worker[GIVEN]
    elif config.getoption("numprocesses", None):
        config.stash[SECONDS] = read()
        config.option.loadscopereorder = False  # files with many tests are not those that take long
        config.pluginmanager.register(Clock(config), "fair-clock")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers have to collect in one order, so they are told one set of figures."""
    node.workerinput[GIVEN] = node.config.stash[SECONDS]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SECONDS in config.stash:
        items[:] = longest_first(items, config.stash[SECONDS])


class Clock:
    def __init__(self, config: pytest.Config) -> None:
        self._whole = not config.getoption("keyword")
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[file_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if self._whole and exitstatus == pytest.ExitCode.OK:
            write({name: round(seconds, 1) for name, seconds in self._seconds.items()})
