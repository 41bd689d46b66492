"""ICMP echo messages: their bytes, and whose answer a message is. Pure.

The kernel fills in the identifier and checksum of an unprivileged (datagram) socket's messages and hands out only answers
to them. A token of our own in the payload still tells apart what a raw socket may see besides.
"""

from __future__ import annotations

import struct

ECHO_REQUEST = {4: 8, 6: 128}
ECHO_REPLY = {4: 0, 6: 129}
TOKEN_BYTES = 8
_HEADER = struct.Struct("!BBHHH")


def echo_request(version: int, sequence: int, token: bytes) -> bytes:
    head = _HEADER.pack(ECHO_REQUEST[version], 0, 0, 0, sequence)
    if version == 6:
        return head + token  # the kernel computes ICMPv6's checksum in every case
    return _HEADER.pack(ECHO_REQUEST[version], 0, checksum(head + token), 0, sequence) + token


def answered(version: int, message: bytes, *, token_length: int = TOKEN_BYTES) -> tuple[int, bytes] | None:
    """The sequence number and token of an echo reply; None if it is another message."""
    if len(message) < _HEADER.size + token_length:
        return None
    kind, code, _, _, sequence = _HEADER.unpack_from(message)
    if kind != ECHO_REPLY[version] or code != 0:
        return None
    return sequence, message[_HEADER.size : _HEADER.size + token_length]


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
