"""The manual page and what a shell completes, both made from the commands themselves."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from cli.running import Run
from ecotone.cli import VERBS
from ecotone.cli.manual import page
from ecotone.scheduling import POLICIES
from missing import need_programs


def plain(line: str) -> str:
    return re.sub(r"\\f[BIR]", "", line).replace(r"\-", "-").replace(r"\&", "").replace(r"\e", "\\")


@pytest.fixture(scope="module")
def manual() -> list[str]:
    return list(page())


def test_every_verb_and_its_options_are_on_the_page(manual: list[str]) -> None:
    lines = [plain(line) for line in manual]
    for commands in VERBS.values():
        for verb in commands:
            assert f'.SS "ecotone {verb}"' in lines, verb
    assert '.SS "ecotone tosca import compose"' in lines and '.SS "ecotone serve scheduler"' in lines
    start, end = lines.index('.SS "ecotone plan"'), lines.index('.SS "ecotone policies"')
    told = "\n".join(lines[start:end])
    for option in ("--deschedule", "--exit-code", "-f, --filename", "--config"):
        assert option in told
    assert "Binds of waiting pods" in told
    assert ".SH EXIT STATUS" in lines and ".SH ENVIRONMENT" in lines


def test_no_line_is_a_request_by_accident(manual: list[str]) -> None:
    known = {"TH", "SH", "SS", "TP", "PP", "B", "RS", "RE", "nf", "fi"}
    for line in manual:
        assert "\n" not in line and not line.startswith("'")
        assert not line.startswith(".") or line[1:].split()[0] in known, line


def test_man_formats_it_without_a_warning(manual: list[str]) -> None:
    need_programs(["groff"], hint="apt-get install groff")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", "-z"], input="\n".join(manual), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_verb_prints_it(run: Run, manual: list[str]) -> None:
    result = run("man")
    assert (result.code, result.err) == (0, "") and result.out.splitlines() == manual


def completed(line: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "ecotone"],
        env={"_ECOTONE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


def test_verbs_options_and_policies_are_completed() -> None:
    assert completed("ecotone pl") == ["plan"]
    assert completed("ecotone plan --des") == ["--deschedule"]
    assert completed("ecotone tosca import comp") == ["compose"]
    assert completed("ecotone explain -p soph") == [name for name in POLICIES if name.startswith("soph")]
