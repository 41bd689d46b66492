"""Packets held by the kernel until user space has decided: the netlink messages of NFQUEUE, as bytes.

Only what a delay needs is here: bind a queue, ask for packets' numbers without their contents, let a packet go or drop it.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

NETLINK_NETFILTER = 12
SO_RCVBUFFORCE = 33
RECEIVE_BUFFER = 8 * 2**20
MOST_HELD = 16384  # packets; more than this many are let through undelayed by the kernel

_SUBSYSTEM = 3
_PACKET, _VERDICT, _CONFIG = 0, 1, 2
_CONFIG_COMMAND, _CONFIG_PARAMETERS, _CONFIG_LENGTH = 1, 2, 3
_BIND, _COPY_META = 1, 1
_PACKET_HEADER, _VERDICT_HEADER = 1, 2
_REQUEST = 1
DROP, ACCEPT = 0, 1

_MESSAGE = struct.Struct("=IHHII")
_GENERIC = struct.Struct(">BBH")
_ATTRIBUTE = struct.Struct("=HH")


@dataclass(frozen=True, slots=True)
class Held:
    queue: int
    number: int


class Queues:
    """Several queues on one netlink socket."""

    def __init__(self, numbers: list[int]) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self.socket.bind((0, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        for number in numbers:
            self._send(_CONFIG, number, attribute(_CONFIG_COMMAND, struct.pack(">BBH", _BIND, 0, 0)))
            self._send(_CONFIG, number, attribute(_CONFIG_PARAMETERS, struct.pack(">IB", 0, _COPY_META)))
            self._send(_CONFIG, number, attribute(_CONFIG_LENGTH, struct.pack(">I", MOST_HELD)))

    def receive(self) -> list[Held]:
        return list(held_packets(self.socket.recv(2**18)))

    def verdict(self, held: Held, verdict: int) -> None:
        self._send(_VERDICT, held.queue, attribute(_VERDICT_HEADER, struct.pack(">II", verdict, held.number)))

    def _send(self, kind: int, queue: int, body: bytes) -> None:
        self.socket.send(message(kind, queue, body))


def message(kind: int, queue: int, body: bytes) -> bytes:
    content = _GENERIC.pack(socket.AF_UNSPEC, 0, queue) + body
    return _MESSAGE.pack(_MESSAGE.size + len(content), _SUBSYSTEM << 8 | kind, _REQUEST, 0, 0) + content


def attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def held_packets(data: bytes) -> Iterator[Held]:
    """The packets that a read of the socket announces."""
    at = 0
    while at + _MESSAGE.size <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        if length < _MESSAGE.size or at + length > len(data):
            return
        if kind == _SUBSYSTEM << 8 | _PACKET:
            yield from _packet(data, at + _MESSAGE.size, at + length)
        at += (length + 3) & ~3


def _packet(data: bytes, at: int, end: int) -> Iterator[Held]:
    if at + _GENERIC.size > end:
        return
    _, _, queue = _GENERIC.unpack_from(data, at)
    at += _GENERIC.size
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size or at + length > end:
            return
        if kind & 0x3FFF == _PACKET_HEADER:
            yield Held(queue, struct.unpack_from(">I", data, at + _ATTRIBUTE.size)[0])
        at += (length + 3) & ~3
