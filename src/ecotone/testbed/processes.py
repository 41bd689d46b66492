"""Daemons that outlive the command that started them, and are found again by their record.

A record is a pid and the time the kernel says that process started: a pid that was given to somebody else in the meantime
has another start time and is left alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ecotone.model.errors import OutsideError

LOG_TAIL = 2000


class DeadlineError(OutsideError):
    """What was waited for did not come in time."""


@dataclass(frozen=True, slots=True)
class Daemon:
    name: str
    pid: int
    started: int  # clock ticks since boot, as in /proc/PID/stat


def start(name: str, command: Sequence[str | Path], *, log: Path) -> Daemon:
    """A process of its own session, with its output in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        process = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    return Daemon(name, process.pid, start_time(process.pid) or 0)


def start_time(pid: int) -> int | None:
    """None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def alive(daemon: Daemon) -> bool:
    return start_time(daemon.pid) == daemon.started


def send(daemon: Daemon, number: signal.Signals) -> None:
    """Signals the process if it is still the one that was recorded."""
    if alive(daemon):
        try:
            os.kill(daemon.pid, number)
        except ProcessLookupError:
            return


def end(daemons: Sequence[Daemon], *, seconds: float = 5.0) -> list[Daemon]:
    """Kills all of them and waits; returns those that are still there."""
    for daemon in daemons:
        send(daemon, signal.SIGCONT)
        send(daemon, signal.SIGKILL)
    deadline = time.monotonic() + seconds
    left = [daemon for daemon in daemons if alive(daemon)]
    while left and time.monotonic() < deadline:
        reap()
        time.sleep(0.05)
        left = [daemon for daemon in left if alive(daemon)]
    return left


@contextmanager
def ended_in_order() -> Iterator[None]:
    """While it lasts, a request to terminate is an exception like any other: what was started is taken down on the way out."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def reap() -> None:
    """Daemons that this very process started are its children: without this they would stay as zombies."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def wait_until(
    condition: Callable[[], bool], *, seconds: float, what: str, log: Path | None = None, every: float = 0.1
) -> None:
    """Asks again until it is so; says what did not happen, with the end of the log, when the time is over.

    What cannot be asked now (an API server that is busy or not there yet) is asked again, and told if it was the last word.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
            last = ""
        except OutsideError as error:
            last = f": {error}"
        if time.monotonic() > deadline:
            tail = "" if log is None or not log.exists() else f": {log.read_text(errors='replace')[-LOG_TAIL:]}"
            raise DeadlineError(f"no {what} within {seconds:g} s{tail}{last}")
        time.sleep(every)


def run(*command: str | Path, check: bool = True, text: str | None = None, seconds: float = 120.0) -> str:
    """A short command; its own words in the error if it fails, or does not end in time."""
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            [str(part) for part in command], input=text, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        if not check:
            return ""
        raise OutsideError(f"{' '.join(str(part) for part in command)}: no end within {seconds:g} s") from None
    if check and done.returncode:
        raise OutsideError(f"{' '.join(str(part) for part in command)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout
