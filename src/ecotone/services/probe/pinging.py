"""One round trip, measured: by ICMP where an unprivileged socket may send it, else by opening a TCP connection.

Times are the kernel's own (the receive time stamp of an echo, the handshake's round trip in ``TCP_INFO``), not the moment
Python came round to it, so a busy machine does not look like a slow network; for the same reason an answer that waits in
the socket when the time is up has come in time. A lost packet of TCP's handshake is repeated by the kernel after a
second; a connection that takes longer than ``TCP_PATIENCE`` is therefore a loss, and never a round trip of a second.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import struct
import time
from dataclasses import dataclass
from typing import Protocol

from ecotone.services.probe.packets import TOKEN_BYTES, answered, echo_request

log = logging.getLogger(__name__)

TCP_PATIENCE = 0.95
_SO_TIMESTAMPNS = 35
_ESTABLISHED = 1
_TCP_INFO_BYTES = 72
_TCP_INFO_RTT = 68
"""Where the smoothed round trip (microseconds) stands in Linux' ``struct tcp_info``; after a handshake, that of the SYN."""
_NANOSECONDS = struct.Struct("qq")


@dataclass(frozen=True, slots=True)
class Target:
    node: str
    address: str
    port: int


class Pinger(Protocol):
    @property
    def how(self) -> str: ...

    async def ping(self, target: Target, *, timeout: float) -> float | None:
        """Seconds of one round trip; None if no answer came."""

    def close(self) -> None: ...


class IcmpPinger:
    """Echo requests from one datagram socket per address family."""

    how = "icmp"

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets: dict[int, socket.socket] = {}
        self._waiting: dict[tuple[int, bytes], asyncio.Future[int]] = {}
        self._sequence = 0
        for version in (4, 6):
            opened = _icmp_socket(version)
            if opened is not None:
                self._sockets[version] = opened
                self._loop.add_reader(opened.fileno(), self._receive, version)

    def can(self, address: str) -> bool:
        return ipaddress.ip_address(address).version in self._sockets

    def close(self) -> None:
        for opened in self._sockets.values():
            self._loop.remove_reader(opened.fileno())
            opened.close()
        self._sockets.clear()

    async def ping(self, target: Target, *, timeout: float) -> float | None:
        version = ipaddress.ip_address(target.address).version
        self._sequence = (self._sequence + 1) & 0xFFFF
        key = (self._sequence, os.urandom(TOKEN_BYTES))
        future: asyncio.Future[int] = self._loop.create_future()
        self._waiting[key] = future
        sent = time.time_ns()
        try:
            self._sockets[version].sendto(echo_request(version, *key), (target.address, 0))
            async with asyncio.timeout(timeout):
                return max(0.0, (await asyncio.shield(future) - sent) / 1e9)
        except TimeoutError:
            self._receive(version)
            waited = (future.result() - sent) / 1e9 if future.done() and not future.cancelled() else timeout
            return waited if waited < timeout else None
        except OSError:
            # No route, no buffer: a failure as much as no answer.
            return None
        finally:
            del self._waiting[key]

    def _receive(self, version: int) -> None:
        while True:
            try:
                message, extra, _, _ = self._sockets[version].recvmsg(2048, 512)
            except (BlockingIOError, KeyError):
                return
            except OSError as error:
                log.debug("icmp: %s", error)
                return
            found = answered(version, message)
            future = None if found is None else self._waiting.get(found)
            if future is not None and not future.done():
                future.set_result(_received_at(extra))


def _icmp_socket(version: int) -> socket.socket | None:
    family, protocol = (
        (socket.AF_INET, socket.IPPROTO_ICMP) if version == 4 else (socket.AF_INET6, socket.IPPROTO_ICMPV6)
    )
    try:
        opened = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, protocol)
    except OSError:
        # net.ipv4.ping_group_range does not hold our group, or there is no such family.
        return None
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return opened


def _received_at(extra: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) >= _NANOSECONDS.size:
            seconds, nanoseconds = _NANOSECONDS.unpack_from(data)
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return time.time_ns()


class TcpPinger:
    """The time of a TCP handshake with the peer's own endpoint."""

    how = "tcp"

    async def ping(self, target: Target, *, timeout: float) -> float | None:
        loop = asyncio.get_running_loop()
        family = socket.AF_INET if ipaddress.ip_address(target.address).version == 4 else socket.AF_INET6
        opened = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            started = time.perf_counter()
            async with asyncio.timeout(min(timeout, TCP_PATIENCE)):
                await loop.sock_connect(opened, (target.address, target.port))
            return _handshake(opened) or time.perf_counter() - started
        except TimeoutError:
            return _handshake(opened)
        except OSError:
            # Refused is a failure too: the address may belong to another pod by now.
            return None
        finally:
            opened.close()

    def close(self) -> None:
        return


def _handshake(opened: socket.socket) -> float | None:
    """The kernel's own measurement of the handshake in seconds; None if there was none, or it does not tell."""
    try:
        told = opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except (OSError, AttributeError):
        return None
    if len(told) < _TCP_INFO_BYTES:
        return None
    (microseconds,) = struct.unpack_from("=I", told, _TCP_INFO_RTT)
    connected = told[0] == _ESTABLISHED and microseconds < TCP_PATIENCE * 1e6
    return microseconds / 1e6 if connected and microseconds else None


class BestPinger:
    """ICMP for the addresses it can reach, TCP for the others."""

    def __init__(self, *, icmp: bool = True) -> None:
        self._icmp = IcmpPinger() if icmp else None
        self._tcp = TcpPinger()

    @property
    def how(self) -> str:
        return "icmp" if self._icmp is not None and self._icmp.can("127.0.0.1") else "tcp"

    async def ping(self, target: Target, *, timeout: float) -> float | None:
        if self._icmp is not None and self._icmp.can(target.address):
            return await self._icmp.ping(target, timeout=timeout)
        return await self._tcp.ping(target, timeout=timeout)

    def close(self) -> None:
        if self._icmp is not None:
            self._icmp.close()
