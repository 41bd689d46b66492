"""The command line: one module per verb, each with `register(app)`.

Data goes to stdout, everything said to a person goes to stderr. A person's mistake or a failing outside world is one
line and an exit code, never a traceback; only our own bugs have one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import typer

from ecotone.model.errors import InputError, OutsideError

# typer brings click along, newer ones inside themselves: the base of its errors is found through one typer exports.
_ClickError: type[Any] = typer.BadParameter.__mro__[2]

DONE, NO, WRONG, OUTSIDE = 0, 1, 2, 3

VERBS = (
    "policies",
    "explain",
    "plan",
    "apply",
    "snapshot",
    "simulate",
    "scenarios",
    "experiment",
    "tosca",
    "serve",
    "testbed",
    "manifests_cmd",
)

HELP = """Decides, explains and keeps correcting where pods run on a cloud, fog and edge Kubernetes cluster.

Examples:

    ecotone policies

    ecotone explain -f cluster.yaml shop/front-end-0 --policy sophos

    ecotone plan -f nodes.yaml -f pods.yaml -o json

Exit codes: 0 done, 1 the answer is no, 2 wrong use or bad input, 3 the outside world failed.
"""


def application() -> typer.Typer:
    """All verbs that are installed."""
    app = typer.Typer(
        name="ecotone",
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for verb in VERBS:
        module = f"{__name__}.{verb}"
        if find_spec(module) is not None:
            import_module(module).register(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ecotone {_version()}")
        raise typer.Exit


def _root(
    show_version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    del show_version


def _version() -> str:
    try:
        return version("ecotone")
    except PackageNotFoundError:
        return "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    command = typer.main.get_command(application())
    try:
        given = None if arguments is None else list(arguments)
        outcome = command.main(args=given, prog_name="ecotone", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        return _say("interrupted", 130)
    except _ClickError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return WRONG
        return _say(_usage(error), WRONG)
    except InputError as error:
        return _say(str(error), WRONG)
    except OutsideError as error:
        return _say(str(error), OUTSIDE)
    except (BrokenPipeError, SystemExit) as ending:
        if not isinstance(ending, BrokenPipeError) and not isinstance(ending.__context__, BrokenPipeError):
            raise
        # The reader of our output went away (`| head`): nothing left to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    return outcome if isinstance(outcome, int) else DONE


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"{_one_line(message)}\n")
    return code


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    where = "" if context is None else f" (see {context.command_path} --help)"
    return f"{error.format_message()}{where}"


def _one_line(message: str) -> str:
    return " ".join(message.split())
