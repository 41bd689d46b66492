"""Names that a package offers, imported when somebody asks for them.

A package's face lists what people use of it; loading all of that at the first import of any module inside would make
every start pay for everything, the arrays of the model for a line of help included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def offered(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`: `where` says which module of the package holds a name."""

    def look_up(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{where[name]}"), name)

    return look_up
