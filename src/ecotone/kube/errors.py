"""What can go wrong between us and an API server, as types a caller can act upon.

An API server answers a refusal with a ``Status`` object whose *reason* is stable and whose *message* is for people.
Callers branch on the HTTP status (conflict, gone, too many requests) and show the message; nothing else is kept, in
particular no request headers, so a token cannot reach a log through an exception.
"""

from __future__ import annotations

import msgspec

from ecotone.model.errors import OutsideError


class Cause(msgspec.Struct, frozen=True):
    reason: str = ""


class Details(msgspec.Struct, frozen=True):
    causes: tuple[Cause, ...] | None = None


class Status(msgspec.Struct, frozen=True):
    """The fields of ``meta/v1 Status`` that a caller reads."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: Details | None = None

    @property
    def causes(self) -> tuple[str, ...]:
        found = self.details.causes if self.details is not None else None
        return tuple(cause.reason for cause in found or ())


class ApiError(OutsideError):
    """The API server answered, and the answer was no."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        reason: str = "",
        retry_after: float | None = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"API server: {message} ({status})")
        self.status = status
        self.reason = reason
        self.detail = message
        self.retry_after = retry_after
        self.causes = causes

    @classmethod
    def from_body(cls, status: int, body: bytes, *, retry_after: float | None = None) -> ApiError:
        try:
            decoded = msgspec.json.decode(body, type=Status)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            decoded = Status(message=body[:200].decode("utf-8", "replace"))
        silence = "sends us elsewhere: is this its address?" if 300 <= status < 400 else "no message"
        message = " ".join(decoded.message.split()) or silence
        return cls(status, message, reason=decoded.reason, retry_after=retry_after, causes=decoded.causes)

    @property
    def conflict(self) -> bool:
        return self.status == 409

    @property
    def not_found(self) -> bool:
        return self.status == 404

    @property
    def gone(self) -> bool:
        return self.status == 410

    @property
    def transient(self) -> bool:
        """Worth repeating unchanged: overload, start-up, or the server's own failure."""
        return self.status == 429 or self.status >= 500


class UnreachableError(OutsideError):
    """No answer: the connection failed, broke, or the request timed out, so its effect is *unknown*."""

    def __init__(self, message: str) -> None:
        super().__init__(f"API server: {message}")


class TooLargeError(UnreachableError):
    """The answer was longer than anything we read; asking again would give the same."""
