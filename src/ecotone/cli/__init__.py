"""The command line: one module per verb, each with `register(app)`.

Data goes to stdout, everything said to a person goes to stderr. A person's mistake or a failing outside world is one
line and an exit code, never a traceback; our own bugs are one line too, and a traceback with --debug.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecotone.cli.terminal.safe import printable
from ecotone.model.errors import InputError, OutsideError, RestlessError

if TYPE_CHECKING:
    import typer

# Matrices of decisions are small: several threads for one of them only wait for each other. It counts before numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DONE, NO, WRONG, OUTSIDE, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 130
DEBUG = "ECOTONE_DEBUG"
COMPLETE = "_ECOTONE_COMPLETE"
COLOURS = ("auto", "always", "never")

# What each module registers, and the line that says so: a list of the verbs needs none of the modules.
VERBS: dict[str, dict[str, str]] = {
    "policies": {
        "policies": "Lists the policies, or shows one as a scheduler configuration.",
    },
    "cluster.explain": {
        "explain": "Explains for one pod, waiting or running, every node's verdicts and scores, the winner and why.",
    },
    "cluster.plan": {
        "plan": "Shows all decisions the policy would take now, without taking them.",
    },
    "cluster.apply": {
        "apply": "Carries out on a live cluster what `plan` shows: binds, and with --deschedule evictions.",
    },
    "cluster.snapshot": {
        "snapshot": "Prints the whole cluster as Kubernetes objects that -f reads back to the same decisions.",
    },
    "simulation.simulate": {
        "simulate": "Run a scenario on the embedded simulator and compare policies.",
    },
    "simulation.compare": {
        "compare": "Compare results of `ecotone simulate -o json`, and show them on one page.",
    },
    "simulation.scenarios": {
        "scenarios": "List the built-in scenarios, or print one as a file to start from.",
    },
    "simulation.experiment": {
        "experiment": (
            "Reproduce a published table or figure and print it beside the published "
            "numbers. Without a name: what there is."
        ),
    },
    "tosca": {
        "tosca": "TOSCA service templates: validate, compile, graph, query, import.",
    },
    "programs.serve": {
        "serve": "Run one of the long-running programs.",
    },
    "cluster.live_loop": {
        "status": (
            "Tells of every application if measurements are fresh and believed, and what the loop does and brought."
        ),
        "moves": "Lists recent moves, newest first, with predicted and measured gain.",
    },
    "programs.testbed": {
        "testbed": "A real Kubernetes cluster of several nodes on this machine.",
    },
    "programs.manifests_cmd": {
        "manifests": "Print CRDs, roles, policies and programs, with rules for Prometheus and dashboards for Grafana.",
    },
    "programs.cleanup": {
        "cleanup": "Remove Ecotone's annotations from nodes, workloads and ReplicaSets, and its reservations and leases.",
    },
    "schema": {
        "schema": "Prints the JSON schema of scenario files, scheduler profiles or TOSCA templates, for editors.",
    },
    "manual": {
        "man": "Prints the manual page, for man(1).",
    },
}

HELP = """Decides, explains and keeps correcting where pods run on a cloud, fog and edge Kubernetes cluster.

Examples:

    ecotone policies

    ecotone explain -f cluster.yaml shop/front-end-0 --policy sophos

    ecotone plan -f nodes.yaml -f pods.yaml -o json

Exit codes: 0 done, 1 the answer is no, 2 wrong use or bad input, 3 the outside world failed, 4 a bug of ecotone.
"""


@cache
def application(verb: str | None = None) -> typer.Typer:
    """The verb that is asked for; only named, all that are installed, if it is none of them."""
    import typer

    app = typer.Typer(
        name="ecotone",
        help=HELP,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root())
    module = next((name for name, commands in VERBS.items() if verb in commands), None)
    if module is not None and _installed(module):
        import_module(f"{__name__}.{module}").register(app)
        return app
    for name, commands in VERBS.items():
        if _installed(name):
            for command, line in commands.items():
                app.command(command, help=line)(_named_only)
    return app


def _installed(verb: str) -> bool:
    from importlib.util import find_spec

    return find_spec(f"{__name__}.{verb}") is not None


def _named_only() -> None:
    """Stands for a verb in the list of verbs."""


def _without_colour(arguments: Sequence[str]) -> list[str]:
    """The words without `--color`, which may stand anywhere: colours are the terminal's business, not a verb's."""
    left: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*left, word, *words]
        name, _, value = word.partition("=")
        if name != "--color":
            left.append(word)
            continue
        value = value or next(words, "")
        if value not in COLOURS:
            raise InputError(f"--color {value}: one of {', '.join(COLOURS)} is expected")
        if value != "auto":
            os.environ.pop("NO_COLOR", None)
            os.environ.pop("FORCE_COLOR", None)
            os.environ["NO_COLOR" if value == "never" else "FORCE_COLOR"] = "1"
    return left


def _asked(arguments: Sequence[str]) -> str | None:
    """The first word that is no option; those that come before it take no value."""
    if COMPLETE in os.environ:
        arguments = _half_written()
    return next((each for each in arguments if not each.startswith("-")), None)


def _half_written() -> list[str]:
    """The command line that a shell asks to complete: bash gives its words, zsh and fish the line."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:]


def _root() -> Callable[..., None]:
    """What comes before a verb."""
    import typer

    def show_version_and_exit(wanted: bool) -> None:
        if wanted:
            typer.echo(f"ecotone {_version()}")
            raise typer.Exit

    def root(
        show_version: bool = typer.Option(
            False, "--version", help="Print the version and exit.", is_eager=True, callback=show_version_and_exit
        ),
        debug: bool = typer.Option(False, "--debug", help="Show the whole story of an internal error."),
        colour: str = typer.Option(
            "auto", "--color", metavar="WHEN", help="auto, always or never; may stand anywhere."
        ),
    ) -> None:
        del show_version, colour  # the first ends the program, the second was read before
        if debug:
            os.environ[DEBUG] = "1"

    return root


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ecotone")
    except PackageNotFoundError:
        return "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    if arguments is None:
        _keep_stdout()
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        _say("interrupted", INTERRUPTED)
        if arguments is None:
            # Threads of libraries may be stuck where the interrupt found them; nobody waits for those.
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        return INTERRUPTED
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output went away (`| head`): nothing left to say, and nobody to say it to.
            return _silenced(DONE)
        return _silenced(_failed(error, OUTSIDE))
    except Exception as error:
        return _failed(error, BUG)


def _keep_stdout() -> None:
    """Only what we print goes to stdout: the solver, a library in C, prints lines of its own, which go to stderr."""
    try:
        sys.stdout.flush()
        data = os.dup(1)
        os.dup2(2, 1)
    except (OSError, ValueError):
        return  # closed from the start
    old = sys.stdout
    sys.stdout = os.fdopen(data, "w", encoding=old.encoding, errors=old.errors, buffering=1 if os.isatty(data) else -1)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        given = _without_colour(sys.argv[1:] if arguments is None else arguments)
        outcome = DONE if _started_quickly(given) else _understood(given)
        sys.stdout.flush()
    except InputError as error:
        return _say(str(error), WRONG)
    except OutsideError as error:
        return _say(str(error), OUTSIDE)
    except RestlessError as error:
        return _say(str(error), BUG)
    except SystemExit as ending:
        if isinstance(ending.__context__, OSError):  # rich ends the process when its output is gone
            raise ending.__context__ from None
        raise
    return outcome


def _started_quickly(given: Sequence[str]) -> bool:
    """True if this was the scheduler, whose pods wait: a command that is right needs no command line to be built."""
    if list(given[:2]) != ["serve", "scheduler"] or COMPLETE in os.environ:
        return False
    from ecotone.cli.programs import scheduler_options

    options = scheduler_options.read(given[2:])
    if options is None:
        return False
    scheduler_options.start(options)
    return True


def _understood(given: list[str]) -> int:
    import typer

    # typer brings click along, newer ones inside themselves: the base of its errors is found through one typer exports.
    click_error: type[Any] = typer.BadParameter.__mro__[2]
    try:
        command = typer.main.get_command(application(_asked(given)))
        outcome = command.main(args=given, prog_name="ecotone", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except click_error as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return WRONG
        return _say(_usage(error), WRONG)
    if outcome == INTERRUPTED:  # typer has caught it
        raise KeyboardInterrupt
    return outcome if isinstance(outcome, int) else DONE


def _failed(error: Exception, code: int) -> int:
    """One line for an unexpected exception; the traceback with --debug."""
    import traceback

    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return _say(f"{error.strerror or error}{where}", code)
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    said = f"internal error: {type(error).__name__}: {error}{at}"
    return _say(f"{said} (this is a bug of ecotone; `ecotone --debug ...` shows all of it)", code)


def _silenced(code: int) -> int:
    """Python flushes stdout once more at the end; where that failed before, it must not complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"{printable(_one_line(message))}\n")
    return code


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    where = "" if context is None else f" (see {context.command_path} --help)"
    return f"{error.format_message().replace(': Value error, ', ': ')}{where}"


def _one_line(message: str) -> str:
    return " ".join(message.split())
