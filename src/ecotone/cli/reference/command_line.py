"""Every verb with its arguments and options, from the help texts that `--help` shows."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from ecotone.cli import HELP, VERBS, application
from ecotone.cli.reference.markdown import code, prose, table
from ecotone.cli.reference.markdown import page as whole

_KINDS: dict[type, str] = {str: "text", int: "whole number", float: "number", Path: "path"}


def page() -> str:
    parts = [_root()]
    for verbs in VERBS.values():
        for verb in verbs:
            group: Any = typer.main.get_command(application(verb))
            parts += _command(group.commands[verb], f"ecotone {verb}")
    return whole("The command line", *parts)


def _root() -> str:
    group: Any = typer.main.get_command(application())
    return f"{_help(HELP)}\n\nBefore the verb:\n\n{_options(group)}"


def _command(command: Any, name: str) -> list[str]:
    found = [f"## {name}", _help(command.help or "")]
    if hasattr(command, "commands"):
        for each, inner in command.commands.items():
            found += _command(inner, f"{name} {each}")
        return found
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    if arguments:
        rows = [[code(_argument(each)), getattr(each, "help", None) or ""] for each in arguments]
        found.append(table(["argument", "meaning"], rows))
    return [*found, _options(command)]


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("{}")
    shown = name if parameter.nargs == 1 or name.endswith("...") else f"{name}..."
    return shown if parameter.required else f"[{shown}]"


def _options(command: Any) -> str:
    hints = get_type_hints(command.callback)
    options = [
        each for each in command.params if each.param_type_name == "option" and not getattr(each, "hidden", False)
    ]
    rows = [
        [
            ", ".join(code(word) for word in _words(each)),
            _value(each, hints.get(each.name, bool)),  # typer adds those of completion, which are flags
            _default(each),
            each.help or "",
        ]
        for each in options
    ]
    return table(["option", "value", "default", "meaning"], rows) if rows else ""


def _words(option: Any) -> list[str]:
    return sorted([*option.opts, *option.secondary_opts], key=lambda word: (word.startswith("--"), word))


def _value(option: Any, hint: Any) -> str:
    if option.is_flag:
        return "flag"
    kind = next(each for each in get_args(hint) if each is not NoneType) if NoneType in get_args(hint) else hint
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
    if get_origin(kind) is Literal:
        shown = ", ".join(get_args(kind))
    else:
        shown = ", ".join(each.value for each in kind) if issubclass(kind, Enum) else _KINDS[kind]
    return (option.metavar or shown) + (", repeatable" if option.multiple else "")


def _default(option: Any) -> str:
    given = option.default
    if option.is_flag or given is None or callable(given) or given in ((), []):
        return ""
    return code(getattr(given, "value", given))


def _help(text: str) -> str:
    return prose(text.partition("\f")[0])
