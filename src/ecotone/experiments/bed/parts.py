"""Experiments on a bed take real time, so they can be run in parts: which parts, how long, and what is stored already.

A stored result is a file that grows: what a run finds is put in its place among what earlier runs found, and what is already
there in the same form is taken up instead of being played again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ecotone.model.errors import InputError, did_you_mean

T = TypeVar("T")


def chosen(whole: Mapping[str, T], only: Sequence[str]) -> dict[str, T]:
    """The parts named, in the order of the whole; all of them if none is."""
    for name in only:
        if name not in whole:
            hint = did_you_mean(name, whole) or f"known: {', '.join(whole)}"
            raise InputError(f"--only {name}: there is no such part", hint=hint)
    return {name: each for name, each in whole.items() if not only or name in only}


def about(seconds: float) -> str:
    """A length of time as people say it."""
    minutes = round(seconds / 60)
    return f"about {minutes} minute{'' if minutes == 1 else 's'}" if minutes else f"about {seconds:.0f} seconds"


def stored(folder: Path | None, name: str) -> dict[str, Any]:
    """What earlier runs left in this file; nothing if there is none."""
    if folder is None or not (folder / name).exists():
        return {}
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{folder / name} is not a result of this experiment", hint="move it away")
    return found


def store(folder: Path | None, name: str, document: Mapping[str, Any]) -> None:
    """Written whole or not at all: a run that is cut off leaves the file as it was."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{name}.part"
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    part.replace(folder / name)
