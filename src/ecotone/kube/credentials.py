"""Bearer tokens and where they come from: fixed, from a file that is rotated under us, or from an exec plugin.

A pod's service-account token is replaced by the kubelet about every hour, and an exec plugin's token expires after
minutes. A client that reads its token once therefore works in every test and stops working in production. Every source
here answers ``token()`` anew and decides itself how long an answer holds. Tokens appear in no ``repr``.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from ecotone.model.errors import InputError, OutsideError

FILE_RELOAD_SECONDS = 10.0
EXEC_TIMEOUT_SECONDS = 60.0
EXEC_OUTPUT_LIMIT = 1 << 20
SHOWN_COMPLAINT = 300
_LOOK_SECONDS = 0.2
EXPIRY_MARGIN_SECONDS = 30.0


class TokenSource(Protocol):
    async def token(self) -> str | None: ...

    def invalidate(self) -> None:
        """The server refused the last token (401): the next call fetches another."""

    def awaited(self) -> str:
        """What a token is waited for, in words: for whoever has waited too long."""


class NoToken:
    """Client certificates, or an anonymous user."""

    async def token(self) -> str | None:
        return None

    def invalidate(self) -> None:
        return

    def awaited(self) -> str:
        return "nothing"


class StaticToken:
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str | None:
        return self._token

    def invalidate(self) -> None:
        return

    def awaited(self) -> str:
        return "a fixed token"


class FileToken:
    """A projected service-account token; the file is read again at most every ten seconds."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_at = float("-inf")

    async def token(self) -> str | None:
        if self._clock() - self._read_at >= FILE_RELOAD_SECONDS:
            try:
                self._token = self._path.read_text(encoding="ascii").strip()
            except OSError as error:
                raise OutsideError(f"cannot read the token file {self._path}: {error.strerror}") from None
            except UnicodeDecodeError:
                raise OutsideError(f"the token file {self._path} holds no token") from None
            self._read_at = self._clock()
        return self._token

    def invalidate(self) -> None:
        self._read_at = float("-inf")

    def awaited(self) -> str:
        return f"the token file {self._path}"


class _ExecStatus(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _ExecStatus | None = None


class ExecToken:
    """A client-go credential plugin: run it, read an ``ExecCredential`` from its stdout, keep it until it expires."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: dict[str, str],
        api_version: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._command = tuple(command)
        self._environment = environment
        self._api_version = api_version
        self._clock = clock
        self._token: str | None = None
        self._expires: float | None = None
        self._lock = asyncio.Lock()
        self._complaints = bytearray()

    async def token(self) -> str | None:
        async with self._lock:
            if self._token is None or self._expired():
                await self._run()
            return self._token

    def invalidate(self) -> None:
        self._token = None

    def awaited(self) -> str:
        said = self._said()
        return f"the credential plugin {self._command[0]}" + (f" ({said})" if said else "")

    def _said(self) -> str:
        return self._complaints[:SHOWN_COMPLAINT].decode("utf-8", "replace").strip()

    def _expired(self) -> bool:
        return self._expires is not None and self._clock() > self._expires - EXPIRY_MARGIN_SECONDS

    async def _run(self) -> None:
        info = {"kind": "ExecCredential", "apiVersion": self._api_version, "spec": {"interactive": False}}
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        name = self._command[0]
        self._complaints.clear()
        process = self._start(environment)
        try:
            output = await asyncio.to_thread(_output, process, self._complaints, seconds=EXEC_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise OutsideError(f"no token from {self.awaited()} within {EXEC_TIMEOUT_SECONDS:g} s") from None
        finally:
            # Also if we were cancelled meanwhile: nobody else would end it, nor what it started itself.
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if len(output) > EXEC_OUTPUT_LIMIT:
            raise OutsideError(f"the credential plugin {name} printed more than {EXEC_OUTPUT_LIMIT} bytes")
        if process.returncode != 0:
            said = self._said() or "it said nothing"
            raise OutsideError(f"the credential plugin {name} failed with exit code {process.returncode}: {said}")
        self._accept(output, name=name)

    def _start(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Not one of asyncio's own subprocesses: one that is cancelled while it starts is waited for without end."""
        try:
            return subprocess.Popen(  # noqa: S603 - the command is the kubeconfig's, run without a shell
                self._command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise OutsideError(
                f"cannot run the credential plugin {self._command[0]}: {error.strerror} (is it installed and on PATH?)"
            ) from None
        except ValueError as error:
            raise InputError(f"cannot run the credential plugin {self._command[0]}: {error}") from None

    def _accept(self, output: bytes, *, name: str) -> None:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            # The parser's message may quote the input, which may hold the token: it is not shown.
            raise OutsideError(f"the credential plugin {name} printed no valid ExecCredential") from None
        status = credential.status
        if status is None or not status.token:
            raise OutsideError(f"the credential plugin {name} returned no token")
        self._token = status.token
        self._expires = None
        if status.expiration_timestamp:
            try:
                self._expires = datetime.fromisoformat(status.expiration_timestamp).timestamp()
            except (ValueError, OverflowError):
                raise OutsideError(f"the credential plugin {name} gave a time of expiry that is none") from None


def _output(process: subprocess.Popen[bytes], complaints: bytearray, *, seconds: float) -> bytes:
    """What a plugin prints until it ends, and what it complains of, neither without bound; TimeoutExpired if it goes on."""
    assert process.stdout is not None and process.stderr is not None
    output = bytearray()
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ, output)
        ready.register(process.stderr, selectors.EVENT_READ, complaints)
        while ready.get_map() and len(output) <= EXEC_OUTPUT_LIMIT:
            readable = ready.select(_LOOK_SECONDS)
            if not readable and process.poll() is not None:
                break  # what it started and left behind may hold its pipes open for as long as it likes
            for key, _ in readable:
                piece = os.read(key.fd, 65536)
                if not piece:
                    ready.unregister(key.fileobj)
                elif key.data is output or len(complaints) < SHOWN_COMPLAINT:
                    key.data.extend(piece)
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired(process.args, seconds)
    if len(output) <= EXEC_OUTPUT_LIMIT:
        process.wait(max(0.1, end - time.monotonic()))
    return bytes(output)
