"""Whatever the outside world does, a command ends: in time, with the right exit code, and with nothing left running."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic

import pytest

from cli.running import Run

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: u, user: {token: sesame}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


@contextmanager
def server(answer: bytes | None) -> Iterator[int]:
    """Accepts connections; answers each with the bytes, or never."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    kept: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            kept.append(connection)
            if answer is not None:
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for each in kept:
            each.close()


def kubeconfig(folder: Path, port: int) -> str:
    file = folder / "config"
    file.write_text(KUBECONFIG.replace("PORT", str(port)))
    return str(file)


def test_an_api_server_that_never_answers_is_given_up(run: Run, tmp_path: Path) -> None:
    with server(None) as port:
        begin = monotonic()
        result = run("plan", "--kubeconfig", kubeconfig(tmp_path, port), "--request-timeout", "1s")
    assert result.code == 3 and "no answer within 1 s" in result.err
    assert monotonic() - begin < 20.0  # on a busy machine; the time-out itself is one second


def test_a_page_instead_of_json_is_the_outside_worlds_fault(run: Run, tmp_path: Path) -> None:
    page = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>no</html>"
    )
    with server(page) as port:
        result = run("plan", "--kubeconfig", kubeconfig(tmp_path, port))
    assert result.code == 3 and "cannot be read" in result.err and result.err.count("\n") == 1


def test_a_list_without_end_is_given_up(run: Run, tmp_path: Path) -> None:
    body = b'{"metadata": {"continue": "x"}, "items": []}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with server(head + b"Content-Length: %d\r\n\r\n" % len(body) + body) as port:
        result = run("plan", "--kubeconfig", kubeconfig(tmp_path, port))
    assert result.code == 3 and "has no end" in result.err and result.err.count("\n") == 1


def ecotone(*arguments: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "ecotone", *arguments], text=True, **options)  # type: ignore[call-overload]


def children(pid: int) -> set[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {int(each) for each in listed}


def test_ctrl_c_during_a_sweep_ends_the_workers_too(tmp_path: Path) -> None:
    arguments = ("simulate", "sock-shop-100ms", "-p", "kube-default", "--trials", "8", "--workers", "2")
    process = ecotone(*arguments, stderr=subprocess.PIPE, start_new_session=True)
    workers: set[int] = set()
    while len(workers) < 2:
        assert process.poll() is None
        workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert process.stderr is not None and process.stderr.read() == "interrupted\n"
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("command", [("policies",), ("policies", "sophos", "-o", "yaml"), ("scenarios",)])
def test_a_full_disk_is_one_line(command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        process = ecotone(*command, stdout=full, stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (3, "No space left on device\n")


def test_a_closed_pipe_is_silent() -> None:
    process = ecotone("policies", "-o", "yaml", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""


def test_a_bug_is_one_line_and_a_traceback_only_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ecotone.cli import policies

    def broken(*_: object, **__: object) -> None:
        raise KeyError("nobody foresaw this")

    monkeypatch.setattr(policies, "print_table", broken)
    result = run("policies")
    assert result.code == 4 and result.err.count("\n") == 1
    assert "internal error: KeyError" in result.err and "--debug" in result.err
    monkeypatch.setenv("ECOTONE_DEBUG", "1")
    assert "Traceback" in run("policies").err
