"""Tokens that callers share with a program, in files that are mounted beside it."""

from __future__ import annotations

from pathlib import Path

from ecotone.model.errors import InputError

SHORTEST = 16


def read_token(path: Path, *, option: str) -> str:
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{option} {path}: cannot be read: {error}") from None
    if len(token) < SHORTEST:
        raise InputError(f"{option} {path}: at least {SHORTEST} characters are expected")
    return token
