"""The bytes of one HTTP/1.1 answer: a head, and a body whose end is told by its length, its chunks or the connection's end.

As much as an API server and the proxies before it speak: no trailers are kept, no folded headers accepted, and an answer
that says two things about its length is refused, since whoever disagrees about where an answer ends can be made to read
another's. Nothing is decompressed; requests ask for plain bodies.
"""

from __future__ import annotations

HEAD_LIMIT = 1 << 18
"""Status line and all headers, or one line of a chunked body."""
WITHOUT_BODY = frozenset({204, 304})


class MalformedAnswerError(Exception):
    """What arrived is not HTTP/1.1, or not a part of it that is spoken here."""


class AnswerParser:
    """Fed with what arrives; tells the status, the headers and the parts of the body."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self.reusable = True
        """True if another request may follow on the same connection once this answer is complete."""
        self._pending = b""
        self._left: int | None = 0
        """Bytes of the body, or of its current chunk, that have not arrived; None until the connection ends."""
        self._chunked = False
        self._in_trailer = False

    def feed(self, data: bytes) -> list[bytes]:
        """The parts of the body that these bytes hold."""
        if self._pending:
            data, self._pending = self._pending + data, b""
        parts: list[bytes] = []
        at = 0
        while self.status == 0:
            end = data.find(b"\r\n\r\n", at)
            if end < 0:
                self._keep(data[at:])
                return parts
            self._read_head(data[at:end])
            at = end + 4
        if self.complete or not self._chunked:
            self._take_plain(data[at:] if at else data, parts)
        else:
            self._take_chunks(data, at, parts)
        return parts

    def end(self) -> bool:
        """The connection ended. True if the answer is complete by that."""
        if self.status and self._left is None:
            self.complete = True
        return self.complete

    def _keep(self, data: bytes) -> None:
        if len(data) > HEAD_LIMIT:
            raise MalformedAnswerError(f"a head or line of more than {HEAD_LIMIT} bytes")
        self._pending = data

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        code = rest[:3]
        if version not in ("HTTP/1.1", "HTTP/1.0") or len(code) != 3 or not code.isdecimal() or rest[3:4].strip():
            raise MalformedAnswerError("no HTTP/1.1 status line")
        status = int(code)
        if 100 <= status < 200:
            if status == 101:
                raise MalformedAnswerError("an upgrade that nobody asked for")
            return  # the answer proper follows
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise MalformedAnswerError("a header line without a name")
            name, value = name.lower(), value.strip()
            if name in headers and name in ("content-length", "transfer-encoding"):
                raise MalformedAnswerError(f"{name} twice")
            headers[name] = value
        self.headers = headers
        self._frame(status, first_version=version)
        self.status = status

    def _frame(self, status: int, *, first_version: str) -> None:
        """Where the body ends."""
        headers = self.headers
        tokens = {each.strip().lower() for each in headers.get("connection", "").split(",")}
        self.reusable = "close" not in tokens and (first_version == "HTTP/1.1" or "keep-alive" in tokens)
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise MalformedAnswerError("a compressed body, which nobody asked for")
        if status in WITHOUT_BODY:
            self.complete = True
        elif coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise MalformedAnswerError("a transfer coding other than chunked, or a length beside it")
            self._chunked = True
        elif length is not None:
            if not length.isascii() or not length.isdecimal():
                raise MalformedAnswerError("a content-length that is no number")
            self._left = int(length)
            self.complete = self._left == 0
        else:
            self._left = None
            self.reusable = False

    def _take_plain(self, data: bytes, parts: list[bytes]) -> None:
        if not data:
            return
        if self._left is None:
            parts.append(data)
            return
        if len(data) > self._left:
            raise MalformedAnswerError("more than the answer")
        parts.append(data)
        self._left -= len(data)
        self.complete = self._left == 0

    def _take_chunks(self, data: bytes, at: int, parts: list[bytes]) -> None:
        size = len(data)
        left = self._left or 0
        while at < size:
            if left > 2:
                # The chunk itself; the last two of what is left are its line end.
                part = data[at : at + left - 2]
                parts.append(part)
                at += len(part)
                left -= len(part)
                continue
            if left:
                if size - at < left:
                    break
                if data[at : at + left] != b"\r\n"[-left:]:
                    raise MalformedAnswerError("a chunk longer than it says")
                at += left
                left = 0
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            line = data[at:end]
            at = end + 2
            if self._in_trailer:
                if not line:
                    self.complete = True
                    break
                continue
            left = self._chunk_size(line)
            if left == 0:
                self._in_trailer = True
            else:
                left += 2
        self._left = left
        if self.complete:
            if at < size:
                raise MalformedAnswerError("more than the answer")
        else:
            self._keep(data[at:])

    @staticmethod
    def _chunk_size(line: bytes) -> int:
        digits = line.partition(b";")[0].strip()
        if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
            raise MalformedAnswerError("a chunk without a size")
        return int(digits, 16)
