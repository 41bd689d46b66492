"""A scheduler starts without a command line being built: what it reads is what the command line would have read."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.cli import application
from ecotone.cli.programs import serve
from ecotone.cli.programs.scheduler_options import SchedulerOptions, read

WORDS = [
    "--scheduler-name", "--policy", "--config", "--leader-elect", "--lease-name", "--lease-duration=3", "--bindings",
    "--bindings=7", "--batch=0", "--batch", "12", "1.5", "x", "", "-1", "--seed", "--seed=-4", "--max-age=1e3", "--listen",
    "127.0.0.1:1", "--kubeconfig=/k", "--context=c", "-v", "--verbose", "--no-explain-binds", "--explain-binds",
    "--never-violate-budgets", "--no-never-violate-budgets", "--no-leader-elect", "--policy=", "--allow-host=a",
    "--allow-host=b", "--nonsense", "--", "--lease-namespace=n", "--request-timeout=nan", "--watch-silence=2", "--help",
]  # fmt: skip


@pytest.fixture
def through_typer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The options that the command line proper arrives at, or None if it refuses the words."""
    found: list[SchedulerOptions] = []
    monkeypatch.setattr(serve, "start", found.append)
    command = typer.main.get_command(application("serve"))

    def run(words: list[str]) -> SchedulerOptions | None:
        found.clear()
        try:
            command.main(args=["serve", "scheduler", *words], prog_name="ecotone", standalone_mode=False)
        except Exception:
            return None
        return found[0] if found else None

    return run


def test_every_option_is_read_as_the_command_line_reads_it(through_typer: Any, capsys: Any) -> None:
    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.sampled_from(WORDS), max_size=5))
    def check(words: list[str]) -> None:
        quick = read(words)
        if quick is not None:
            assert repr(quick) == repr(through_typer(words)), words

    check()
    capsys.readouterr()


@pytest.mark.parametrize("each", fields(SchedulerOptions), ids=lambda each: each.name)
def test_each_option_alone(each: Any, through_typer: Any) -> None:
    name = (each.metadata["names"] or (f"--{each.name.replace('_', '-')}",))[0]
    words = [name] if each.type == "bool" else [name, "7"]
    quick = read(words)
    assert quick is not None and quick == through_typer(words)
    if each.type != "bool":
        assert getattr(quick, each.name) != each.default


@pytest.mark.parametrize(
    "words", [["--help"], ["--bindings", "0"], ["--seed", "x"], ["--what"], ["--policy"], ["stray"]]
)
def test_what_is_not_right_to_the_letter_is_left_to_the_command_line(words: list[str]) -> None:
    assert read(words) is None


def test_a_start_loads_neither_a_command_line_nor_a_web_server() -> None:
    code = (
        "import sys; from ecotone.cli.programs import scheduler_options;"
        "import ecotone.services.scheduler.start; import ecotone.services.scheduler.program;"
        "scheduler_options.settings_of(scheduler_options.SchedulerOptions(policy='ecotone'), identity='x');"
        "print([each for each in ('typer', 'click', 'rich', 'aiohttp', 'scipy', 'networkx') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_lists_are_asked_for_before_the_arrays_are_loaded() -> None:
    code = (
        "import sys, ecotone.services.scheduler.start;"
        "print([each for each in ('numpy', 'ecotone.model.state') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_wrong_options_are_told_before_a_missing_cluster(run: Any) -> None:
    done = run("serve", "scheduler", "--policy=nonsense", "--kubeconfig=/does/not/exist")
    assert done.code == 2 and "nonsense" in done.err
    done = run("serve", "scheduler", "--kubeconfig=/does/not/exist")
    assert done.code == 2 and "/does/not/exist" in done.err
