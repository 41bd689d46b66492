"""Plugins from a file on disk, named `PATH.py:Class`, so that an idea can be tried without packaging it.

The name travels with the profile as an absolute path, so a worker process finds the same plugin. What such a plugin does
wrong is its author's to mend: a mistake becomes one line with the author's own file and line, never a traceback through the
engine. Entry-point plugins get the same treatment.
"""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ecotone.model.errors import EcotoneError, InputError, did_you_mean

_FILE = re.compile(r"(?P<path>.+\.py):?")
_SHAPE = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")
_LOADED: dict[tuple[str, bytes], ModuleType] = {}


def names_file(name: str) -> bool:
    """True if this names a plugin in a file, `PATH.py:Class`."""
    return _SHAPE.fullmatch(name) is not None


def absolute(name: str, *, folder: Path | None = None) -> str:
    """The same plugin by its absolute path; a relative one is below `folder`, or where the command was started."""
    shape = _SHAPE.fullmatch(name)
    if shape is None:
        return name
    return f"{((folder or Path()) / shape['path']).resolve()}:{shape['name']}"


def load(name: str) -> Callable[..., Any]:
    """The class that is named; read again when the file changed."""
    shape = _SHAPE.fullmatch(name)
    assert shape is not None
    path = Path(shape["path"])
    module = _module(path)
    found: Callable[..., Any] | None = getattr(module, shape["name"], None)
    if found is None or not callable(found):
        classes = _classes(module)
        hint = did_you_mean(shape["name"], classes) or f"it has {', '.join(classes) or 'no class'}"
        raise InputError(f"there is no class {shape['name']}", file=str(path), hint=hint)
    return found


def refuse_without_class(name: str) -> None:
    """A file without the class in it: the commonest half of `PATH.py:Class`."""
    shape = _FILE.fullmatch(name)
    if shape is None:
        return
    classes = _classes(_module(Path(shape["path"])))
    hint = f"write {shape['path']}:{classes[0]}" if classes else "it has no class"
    raise InputError("which class of it is the policy?", file=shape["path"], hint=hint)


def _classes(module: ModuleType) -> list[str]:
    """Those that the file itself has, in its order."""
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]
    return [each.__name__ for each in own if not each.__name__.startswith("_")]


def digest(name: str) -> str:
    """What the file says, for telling runs of two versions apart; empty for a plugin that is in no file."""
    shape = _SHAPE.fullmatch(name)
    return "" if shape is None else blake2b(_content(Path(shape["path"])), digest_size=16).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _module(path: Path) -> ModuleType:
    key = (str(path), blake2b(_content(path), digest_size=16).digest())
    if key in _LOADED:
        return _LOADED[key]
    spec = spec_from_file_location(f"ecotone_plugin_{key[1].hex()}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"not valid Python: {error.msg}", file=str(path), line=error.lineno) from None
    except (Exception, SystemExit) as error:
        raise _trouble(path.name, error, str(path)) from None
    _LOADED[key] = module
    return module


def guarded(plugin: Any) -> Any:
    """The plugin with its public methods watched: an exception or a wrong answer is an `InputError` of its author's."""
    kind = type(plugin)
    file = inspect.getsourcefile(kind) or "?"
    if not isinstance(getattr(plugin, "name", None), str):
        raise InputError(f"{kind.__name__} has no name", file=file, hint=f'add `name = "{kind.__name__}"` to the class')
    for name, _ in inspect.getmembers(kind, callable):
        if not name.startswith("_") and hasattr(plugin, "__dict__"):
            setattr(plugin, name, _watched(plugin, name, getattr(plugin, name), file))
    return plugin


def _watched(plugin: Any, name: str, method: Callable[..., Any], file: str) -> Callable[..., Any]:
    said = f"{type(plugin).__name__}.{name}"
    code = getattr(method, "__code__", None)
    line = None if code is None else code.co_firstlineno

    @wraps(method)
    def call(*args: Any, **more: Any) -> Any:
        try:
            answer = method(*args, **more)
        except EcotoneError:
            raise
        except (Exception, SystemExit) as error:
            raise _trouble(said, error, file) from None
        if name in ("score", "filter", "normalize") and len(args) > 1:
            answer = _checked(
                answer, len(args[1]), name, may_be_unknown=name == "score" and hasattr(plugin, "normalize")
            )
            if isinstance(answer, str):
                raise InputError(f"{said} {answer}", file=file, line=line)
        return answer

    return call


def _checked(answer: Any, nodes: int, method: str, *, may_be_unknown: bool) -> Any:
    """The answer as an array, or what is wrong with it."""
    if answer is None and method != "normalize":
        return None
    what = "verdicts" if method == "filter" else "figures"
    try:
        column = np.asarray(answer)
    except ValueError:
        return f"returned {what} of different lengths"
    wanted = "b" if method == "filter" else "fiub"
    if column.dtype.kind not in wanted:
        of = "True and False" if method == "filter" else "numbers"
        return f"returned {type(answer).__name__}, not an array of {of}"
    if column.shape != (nodes,):
        found = len(column) if column.ndim == 1 else f"{column.ndim}-dimensional"
        return f"returned {found} {what} for {nodes} node{'' if nodes == 1 else 's'}"
    if method != "filter":
        column = column.astype(np.float64)
        if not may_be_unknown and not np.isfinite(column).all():
            return f"returned a figure that is no number for {int((~np.isfinite(column)).sum())} of {nodes} nodes"
    return column


def _trouble(said: str, error: BaseException, file: str) -> InputError:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return InputError(f"{said}: {type(error).__name__}: {error}", file=file, line=own[-1].lineno if own else None)
