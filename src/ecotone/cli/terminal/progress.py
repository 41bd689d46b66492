"""A progress bar with the time left, on stderr, and silent when nobody is looking."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """Called with (done, total) as work proceeds; a run that is half done counts as half."""

    def __init__(self, title: str) -> None:
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        self._progress = Progress(
            *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
        )
        self._task = self._progress.add_task(title, total=None)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, done: float, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)
