"""Text that goes into PromQL: quoted, so that a name is a name and never part of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable


def quoted(text: str) -> str:
    """A PromQL string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def starting_with(text: str) -> str:
    """A PromQL string with a regular expression for everything longer that starts with this."""
    return quoted(re.escape(text).replace("\\-", "-").replace("\\/", "/") + ".+")


def any_of(texts: Iterable[str]) -> str:
    """A PromQL string with a regular expression for these texts and no other."""
    return quoted("|".join(re.escape(text).replace("\\-", "-").replace("\\/", "/") for text in texts))
