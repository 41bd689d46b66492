"""What stands between the monitor and Prometheus on a bad day: an error for every question, or no answer at all."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Front:
    def __init__(self, behind: str) -> None:
        """``behind``: the address that questions go to while nothing is wrong."""
        self._status: int | None = None
        self._speaks = threading.Event()
        self._speaks.set()
        self.failed = self.unanswered = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def _answer(self, body: bytes | None) -> None:
                if not owner._speaks.is_set():
                    owner.unanswered += 1
                    owner._speaks.wait(60)
                status, told = owner._ask(behind + self.path, body, self.headers.get("Content-Type", ""))
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(told)))
                    self.end_headers()
                    self.wfile.write(told)
                except OSError:
                    return  # whoever asked has given up

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _ask(self, address: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        if self._status is not None:
            self.failed += 1
            return self._status, b'{"status":"error","errorType":"internal","error":"planted"}'
        request = urllib.request.Request(address, data=body, headers={"Content-Type": kind} if kind else {})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 502, b"{}"

    @contextmanager
    def failing(self, status: int) -> Iterator[None]:
        """Every question gets this status meanwhile."""
        self._status = status
        try:
            yield
        finally:
            self._status = None

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Questions are taken and not answered meanwhile."""
        self._speaks.clear()
        try:
            yield
        finally:
            self._speaks.set()

    def stop(self) -> None:
        self._speaks.set()
        self._server.shutdown()
        self._server.server_close()
