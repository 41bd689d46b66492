"""The list of verbs is told without loading them, so it must say what they say."""

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
import typer

from ecotone.cli import VERBS


@pytest.mark.parametrize("module", VERBS)
def test_a_verbs_line_is_its_own_helps_first_paragraph(module):
    app = typer.Typer()
    app.callback()(lambda: None)
    import_module(f"ecotone.cli.{module}").register(app)
    group: Any = typer.main.get_command(app)
    told = {name: " ".join((each.help or "").strip().split("\n\n")[0].split()) for name, each in group.commands.items()}
    assert told == VERBS[module]


def test_every_verb_is_in_the_help_and_a_wrong_one_is_told(run):
    listed = run("--help").out
    for commands in VERBS.values():
        for name in commands:
            assert f"\n  {name} " in listed
    wrong = run("plann")
    assert wrong.code == 2 and "plann" in wrong.err


def test_the_help_loads_neither_arrays_nor_the_api_client():
    code = (
        "import sys; from ecotone.cli import main; main(['--help']);"
        "print([each for each in ('numpy', 'aiohttp', 'yaml', 'scipy', 'matplotlib') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
