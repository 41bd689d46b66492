"""A sign of life while a large file is read: a bar that fills on a terminal, one line anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from ecotone.cli.terminal.output import note
from ecotone.cli.terminal.safe import printable

if TYPE_CHECKING:
    from ecotone.cli.terminal.progress import Bar
    from ecotone.manifests.yaml.plain import Watch

_MIB = 1 << 20
LARGE = 4 * _MIB  # less is read in about half a second; so is thirty times as much JSON
LARGE_JSON = 128 * _MIB


class Reading:
    """Asked for every file that is read; only the large ones are told of."""

    def __init__(self) -> None:
        self._bar: Bar | None = None

    def __enter__(self) -> Reading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def __call__(self, file: str, size: int, json: bool) -> Watch | None:
        self._end()
        if size < (LARGE_JSON if json else LARGE):
            return None
        if not sys.stderr.isatty():
            note(f"reading {file}, {size / _MIB:.0f} MiB")
            return None
        from rich.markup import escape

        from ecotone.cli.terminal.progress import Bar

        bar = self._bar = Bar(f"reading {escape(printable(file))}, MiB").__enter__()
        return lambda done, total: bar(done / _MIB, max(1, round(total / _MIB)))

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
