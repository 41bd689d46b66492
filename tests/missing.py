"""What a test needs and this machine lacks skips it with one line; in CI nothing may be skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import NoReturn

import pytest


def lacking(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}, and in CI nothing may be skipped")
    pytest.skip(what)


def need_root(why: str) -> None:
    if os.geteuid() != 0:
        lacking(f"root is needed: {why}")


def need_programs(names: Sequence[str], *, hint: str) -> None:
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        lacking(f"missing: {', '.join(missing)} ({hint})")
