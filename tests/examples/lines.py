"""Who runs what the documentation shows: every line of every block of commands, and the test that runs it.

A page's blocks say what their lines need (docs/README.md); this module says of each line which test that is. Tests that run
lines take them from here (`lines_of`), so a line is run by the test that it is told to be run by, or `runner` does not know
it and test_lines.py fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from examples.transcripts import PAGES, REPOSITORY, blocks, commands, name_of, readmes

INSTALL_PAGE = REPOSITORY / "docs" / "install.md"

SHOWN = "tests/examples/test_pages.py::test_a_page_shows_what_its_commands_print"
README = "tests/examples/test_examples.py::test_a_readme_shows_what_its_commands_print"
SERVICE = "tests/examples/test_pages.py::test_a_service_is_well_and_ends_when_asked"
CLUSTER = "tests/control_plane/test_pages.py::test_the_commands_of_a_page_end_well"
SERVING = "tests/control_plane/test_pages.py::test_programs_that_serve_are_well_and_end_when_asked"
INSTALLING = "tests/control_plane/test_pages.py::test_what_is_installed_as_the_page_says_is_removed_as_it_says"
PARITY = "tests/control_plane/test_parity.py::test_a_sample_of_random_cases_is_decided_alike"
BED = "tests/testbed_real/test_as_documented.py::test_the_page_leads_from_nothing_to_a_bed_and_back"
IMAGE = "tests/documented/test_image.py::test_the_image_is_built_pushed_and_works_without_rights"
COMMAND = "tests/documented/test_command.py::test_the_command_is_installed_and_removed_as_documented"
RELEASE = "tests/documented/test_release.py::test_a_release_is_whole"
CHART = "tests/documented/test_chart.py::test_the_chart_is_installed_as_documented"
SLOW = "tests/documented/test_commands.py::test_slow_commands_end_well"
COUNTERPART = "tests/documented/test_commands.py::test_the_small_counterpart_of_a_long_command_ends_well"
EXPERIMENT = "tests/documented/test_experiments.py::test_an_experiment_is_played_on_a_bed"
GATE = ".ci/run"
"""Not a test but what runs them all: these lines stand there word for word."""


@dataclass(frozen=True, slots=True)
class Line:
    page: Path
    kind: str
    command: str

    def __str__(self) -> str:
        return f"{name_of(self.page)}: {self.command.splitlines()[0]}"


def every_line() -> list[Line]:
    return [
        Line(page, kind, command)
        for page in PAGES
        for kind in dict.fromkeys(kind for kind, _ in blocks(page) if kind.startswith("console"))
        for command in commands(page, kind)
    ]


def runner(line: Line) -> str | None:
    """The test that runs a line; None if there is none."""
    if line.kind == "console":
        return README if line.page in readmes() else SHOWN
    if line.kind == "console cluster" and line.page == INSTALL_PAGE and line.command.startswith("ecotone "):
        return INSTALLING
    fitting = (test for test, kind, command in _RULES if kind == line.kind and re.match(command, line.command))
    return next(fitting, None)


_RULES = (
    (SERVICE, "console service", r"ecotone serve "),
    (IMAGE, "console cluster", r"docker "),
    (CHART, "console cluster", r"helm "),
    (SERVING, "console cluster", r"ecotone serve "),
    (CLUSTER, "console cluster", r"(ecotone|kubectl) "),
    (BED, "console testbed", r"sudo ecotone testbed "),
    (SLOW, "console slow", r"ecotone "),
    (EXPERIMENT, "console long", r"sudo ecotone experiment "),
    (GATE, "console long", r"make (lint|test)$"),
    (RELEASE, "console long", r"make release$"),
    (COMMAND, "console long", r"(uv|pipx) "),
    (PARITY, "console long", r'python -m pytest -m "not slow" tests/control_plane/test_parity\.py$'),
    (COUNTERPART, "console long", r"(ecotone|python|make) "),
)


def lines_of(test: str, page: Path | None = None) -> list[Line]:
    """The lines that a test runs, in their order; with a page, those of the page."""
    return [line for line in every_line() if runner(line) == test and page in (None, line.page)]


def pages_of(test: str) -> list[Path]:
    return list(dict.fromkeys(line.page for line in lines_of(test)))


def id_of(line: Line) -> str:
    """As pytest lists it: most tests take a page at a time, some a line, some all there are."""
    test = str(runner(line))
    if test in (SHOWN, CLUSTER, SLOW):
        return f"{test}[{name_of(line.page)}]"
    if test == README:
        return f"{test}[{line.page.parent.name}]"
    if test == EXPERIMENT:
        return f"{test}[{line.command.split()[3]}]"
    if test == COMMAND:
        return f"{test}[{line.command.split()[0]}]"
    return f"{test}[{line}]" if test in (SERVICE, COUNTERPART) else test
