"""An exporter whose metrics a test plants: counters that grow at a given rate, gauges that stay."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Planted:
    def __init__(self, address: str = "127.0.0.1", port: int = 0) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, tuple[str, float, float, float]] = {}
        self._block = b""
        self._status = 200
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = owner.page()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer((address, port), Handler)
        self.address, self.port = address, int(self._server.server_address[1])
        self.target = f"{address}:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def counter(self, name: str, rate: float, **labels: str) -> None:
        """A counter that grows by this much a second, from now on at this rate."""
        series = _series(name, labels)
        with self._lock:
            now = time.time()
            _, value, since, before = self._lines.get(series, ("counter", 0.0, now, 0.0))
            self._lines[series] = ("counter", value + before * (now - since), now, rate)

    def gauge(self, name: str, value: float, **labels: str) -> None:
        with self._lock:
            self._lines[_series(name, labels)] = ("gauge", value, 0.0, 0.0)

    def drop(self, containing: str) -> None:
        """Takes away every series whose text contains this."""
        with self._lock:
            self._lines = {series: line for series, line in self._lines.items() if containing not in series}

    def many(self, name: str, count: int, **labels: str) -> None:
        """So many series that differ by one label; written once, since other exporters of this process answer meanwhile."""
        lines = [f"{_series(name, {**labels, 'number': str(number)})} {number}\n" for number in range(count)]
        with self._lock:
            self._block = "".join(lines).encode()

    def clear(self) -> None:
        with self._lock:
            self._lines, self._block = {}, b""

    def answer(self, status: int) -> None:
        """Every scrape is answered with this status from now on."""
        self._status = status

    def page(self) -> tuple[int, bytes]:
        with self._lock:
            now = time.time()
            lines = [
                f"{series} {_shown(value + rate * (now - since) if kind == 'counter' else value)}"
                for series, (kind, value, since, rate) in self._lines.items()
            ]
            block = self._block
        return self._status, ("\n".join(lines) + "\n").encode() + block

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _shown(value: float) -> str:
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(repr(value), repr(value))


def _series(name: str, labels: dict[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}"


@contextmanager
def planted() -> Iterator[Planted]:
    one = Planted()
    try:
        yield one
    finally:
        one.stop()
