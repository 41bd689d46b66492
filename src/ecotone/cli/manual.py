"""`ecotone man`: the manual page, made from the commands themselves, so that it never says what they do not do.

It is roff for man(1): `ecotone man > ~/.local/share/man/man1/ecotone.1`. All verbs are loaded for it, which no other command
needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import typer

from ecotone.cli.terminal.output import write

_CODES = {
    0: "Done.",
    1: "The answer is no: something does not fit, differs, or misses its target.",
    2: "Wrong use or bad input.",
    3: "The outside world failed: the API server, Prometheus, a credential plugin.",
    4: "A fault of ecotone itself.",
    130: "Interrupted.",
}
_VARIABLES = {
    "KUBECONFIG": "Credentials of the live cluster, as for kubectl.",
    "NO_COLOR": "No colours, whatever the terminal can do.",
    "ECOTONE_PURE_PYTHON": "Simulate without the compiled hot path; the results are the same.",
}


def register(app: typer.Typer) -> None:
    app.command("man", help=_HELP)(manual)


_HELP = """Prints the manual page, for man(1).

Example: ecotone man > ~/.local/share/man/man1/ecotone.1
"""


def manual() -> None:
    write("\n".join(page()))


def page() -> Iterator[str]:
    """The lines of the page."""
    # Known only once all verbs are imported, and the list of them is where this verb stands itself.
    from ecotone.cli import HELP, VERBS, application

    whole = application("man")
    for module in VERBS:
        if module != "manual":
            import_module(f"ecotone.cli.{module}").register(whole)
    root: Any = typer.main.get_command(whole)
    yield f'.TH ECOTONE 1 "" "ecotone {version("ecotone")}" "User Commands"'
    yield ".SH NAME"
    yield r"ecotone \- decides, explains and corrects where pods run on cloud, fog and edge Kubernetes clusters"
    yield ".SH SYNOPSIS"
    yield r".B ecotone"
    yield r"[\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(HELP)
    yield ".SH OPTIONS"
    yield from _parameters(root)
    yield ".SH COMMANDS"
    for name in sorted(root.commands):
        yield from _command(root.commands[name], f"ecotone {name}")
    yield ".SH EXIT STATUS"
    for code, meaning in _CODES.items():
        yield from (".TP", f".B {code}", _text(meaning))
    yield ".SH ENVIRONMENT"
    for variable, meaning in _VARIABLES.items():
        yield from (".TP", f".B {variable}", _text(meaning))


def _command(command: Any, path: str) -> Iterator[str]:
    """One verb, then the verbs below it."""
    inner: dict[str, Any] = getattr(command, "commands", {})
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = " ".join(rf"\fI{_text(_name(each))}\fR" for each in arguments)
    yield f'.SS "{_text(path)}"'
    if not inner:
        yield rf"\fB{_text(path)}\fR {words} [\fIOPTIONS\fR]".replace("  ", " ")
        yield ".PP"
    yield from _paragraphs(command.help or "")
    yield from _parameters(command)
    for name in sorted(inner):
        yield from _command(inner[name], f"{path} {name}")


def _parameters(command: Any) -> Iterator[str]:
    for each in command.params:
        if getattr(each, "hidden", False):
            continue
        if each.param_type_name == "argument":
            names = rf"\fI{_text(_name(each))}\fR"
        else:
            names = ", ".join(rf"\fB{_text(word)}\fR" for word in (*each.opts, *each.secondary_opts))
            names += "" if each.is_flag else rf" \fI{_text(_name(each))}\fR"
        yield ".TP"
        yield names
        yield _text(each.help or "As its name says.")


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _paragraphs(text: str) -> Iterator[str]:
    """Indented paragraphs are commands to type: they keep their lines."""
    for paragraph in text.replace("\b", "").split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if not any(line.strip() for line in lines):
            continue
        if all(line.startswith("  ") for line in lines):
            yield from (".RS 4", ".nf", *(_text(line.strip()) for line in lines), ".fi", ".RE")
        else:
            yield _text(" ".join(line.strip() for line in lines))
        yield ".PP"


def _text(text: str) -> str:
    """Words of ours as roff reads them: backslashes and hyphens escaped, no line a request by accident."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
