"""Child processes of a test cluster: logged to files, waited for, ended by pid, whatever happens."""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from fair import waits


def free_ports(count: int) -> list[int]:
    """Distinct free loopback ports: all are held open until all are drawn."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """A test run that is killed leaves nothing behind either."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    def __init__(self, name: str, command: Sequence[str | Path], *, log: Path, env: dict[str, str] | None = None):
        self.name = name
        self.log = log
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=env,
                preexec_fn=_die_with_parent,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            self._process.send_signal(number)

    def stop(self, grace: float = 5.0) -> int:
        """SIGTERM, then SIGKILL after ``grace`` seconds; the exit code."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        try:
            return self._process.wait(grace)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        self.signal(signal.SIGKILL)
        return self._process.wait(10)

    def wait(self, timeout: float) -> int:
        return self._process.wait(timeout)

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100.0

    def resident_bytes(self) -> int:
        return self._status("VmRSS")

    def peak_bytes(self) -> int:
        return self._status("VmHWM")

    def _status(self, field: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        return 0

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def wait_until(
    condition: Callable[[], bool],
    *,
    timeout: float,
    what: str,
    child: Child | None = None,
    promise: str = "",
    every: float = 0.02,
) -> None:
    """A named wait (`fair.waits`) that is over as soon as the child has ended."""

    def still() -> None:
        if child is not None and not child.running:
            raise RuntimeError(f"{child.name} ended while waiting for {what}:\n{child.tail()}")

    def told() -> str:
        return f"\n{child.tail()}" if child is not None else ""

    waits.wait_until(condition, timeout=timeout, what=what, still=still, told=told, promise=promise, every=every)
