"""Raw HTTP for tests of what a well-behaved client would never send."""

from __future__ import annotations

import asyncio


async def raw(address: tuple[str, int], request: bytes, *, seconds: float = 5.0) -> bytes:
    """Sends these bytes and reads until the server closes, or for so long."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        async with asyncio.timeout(seconds):
            writer.write(request)
            await writer.drain()
            return await reader.read()
    except TimeoutError:
        return b""
    finally:
        writer.transport.abort()


async def get(address: tuple[str, int], path: str, *headers: str, host: str = "127.0.0.1") -> tuple[int, str]:
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
    return parsed(await raw(address, "\r\n".join(lines).encode("latin-1")))


async def post(address: tuple[str, int], path: str, body: bytes, *headers: str, host: str = "h.svc") -> tuple[int, str]:
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Connection: close", f"Content-Length: {len(body)}", *headers]
    return parsed(await raw(address, "\r\n".join([*lines, "", ""]).encode("latin-1") + body))


def parsed(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if head else 0, body.decode("utf-8", "replace")
