"""Tells tests that only missed the deadline of a named wait from those that failed, and writes both down for `fair.run`.

Only tests against real programs can be late; whatever happens in a pure test is a failure. A test is late if a missed wait is
all that went wrong in it: nothing before, nothing on the way out.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ecotone.testbed.processes import DeadlineError
from fair.waits import WaitMissed, load

REAL = ("control_plane", "live", "testbed", "documented")
"""The marks of tests that run against real programs."""
MISSED = (WaitMissed, DeadlineError)
GATE = "ECOTONE_GATE"
"""Names the folder of a whole gate: flaky tests count over all of its parts."""
PASSED = "passed.txt"
"""In that folder: how many tests each run of pytest has seen pass (scripts/parts.sh adds them up)."""


@dataclass
class Late:
    """A missed wait. Tests that share a fixture share what it missed: then ``wait`` is the same."""

    test: str
    wait: str
    said: str
    load: float
    """Programs in line for each core when the deadline had passed."""


@dataclass
class Outcome:
    """What a run of pytest leaves for `fair.run`."""

    late: list[Late] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    complete: bool = True
    """False if pytest stopped before the last test."""

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Outcome:
        raw = json.loads(file.read_text(encoding="utf-8"))
        return cls([Late(**one) for one in raw["late"]], raw["failed"], raw["complete"])


def only_missed(error: BaseException) -> bool:
    """Whether nothing but missed waits led to this error, through all that it was raised from or in the course of."""
    cause: BaseException | None = error
    while cause is not None:
        if not isinstance(cause, MISSED):
            return False
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return True


def number(error: BaseException) -> str:
    """The same for every test that the same missed wait of a shared fixture stops, in whatever process."""
    return str(error.__dict__.setdefault("fair_number", uuid.uuid4().hex))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fair")
    group.addoption("--fair-outcome", metavar="FILE", help="write late and failed tests to this file")
    group.addoption("--fair-only", metavar="FILE", help="run only the late tests of this file")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    given = config.getoption("--fair-only")
    if given is not None:
        wanted = {late.test for late in Outcome.read(Path(given)).late}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
        items[:] = [item for item in items if item.nodeid in wanted]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.excinfo is not None and any(item.get_closest_marker(mark) for mark in REAL):
        error = call.excinfo.value
        if only_missed(error):
            late = Late(item.nodeid, number(error), str(error), load())
            vars(report)["late"] = asdict(late)  # plain values: they travel between processes
    return report


def late_of(report: pytest.TestReport) -> Late | None:
    found: dict[str, Any] | None = getattr(report, "late", None)
    return None if found is None else Late(**found)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return ("late", "L", "LATE") if late_of(report) is not None else None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # one process hears of all tests
        config.pluginmanager.register(Listener(config.getoption("--fair-outcome"), gate()), "fair-listener")


def gate() -> Path | None:
    """The folder of the gate that this run is part of; none for a run that a test has started."""
    given = None if "PYTEST_CURRENT_TEST" in os.environ else os.environ.get(GATE)
    return Path(given) if given else None


class Listener:
    def __init__(self, file: str | None, gate: Path | None) -> None:
        self._file = None if file is None else Path(file)
        self._gate = gate
        self._passed = 0
        self._late: list[Late] = []
        self._reports: list[pytest.TestReport] = []
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        late = late_of(report)
        if late is not None:
            self._late.append(late)
            self._reports.append(report)
        elif report.failed:
            self._failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._file is not None:
            self.outcome(complete=not (session.shouldfail or session.shouldstop)).write(self._file)
        if self._gate is not None:
            with (self._gate / PASSED).open("a", encoding="utf-8") as stream:
                stream.write(f"{self._passed}\n")

    def outcome(self, *, complete: bool) -> Outcome:
        late = [one for one in self._late if one.test not in self._failed]
        return Outcome(late, sorted(set(self._failed)), complete)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._reports:
            terminalreporter.section("LATE")
        for report in self._reports:
            terminalreporter.section(f"{report.when} of {report.nodeid}", "_")
            terminalreporter.line(report.longreprtext)
            for title, text in report.sections:
                terminalreporter.section(title, "-")
                terminalreporter.line(text)
