"""What round trips really took, seen where packets leave and enter a namespace.

    python capture.py FILE

Run inside the namespace. Echo requests and TCP handshakes are matched with their answers, by the kernel's own time stamps;
FILE has, by address, how many there were and how many seconds they took in all. A busy machine delays packets on their way
through user space: this sees it as whoever sent them does.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path

DEVICE = "wire"
ETH_P_ALL = 3
SO_TIMESTAMPNS = 35
OUTGOING = 4
ICMP, TCP = 1, 6
ECHO, REPLY = 8, 0
SYN, SYN_ACK = 0x02, 0x12

Key = tuple[str, int, bytes]
"""The other end, the protocol, and what tells one round trip from the next."""


def looked_at(packet: bytes, *, outgoing: bool) -> Key | None:
    """Whose round trip begins (outgoing) or ends here; None: it is something else."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[9] not in (ICMP, TCP):
        return None
    other = ".".join(map(str, packet[16:20] if outgoing else packet[12:16]))
    inner = packet[4 * (packet[0] & 15) :]
    if len(inner) < 16:
        return None
    if packet[9] == ICMP:
        wanted = ECHO if outgoing else REPLY
        return (other, ICMP, inner[4:16]) if inner[0] == wanted else None
    wanted = SYN if outgoing else SYN_ACK
    return (other, TCP, inner[0:4] if outgoing else inner[2:4] + inner[0:2]) if inner[13] & 0x3F == wanted else None


def stamp(extra: list[tuple[int, int, bytes]]) -> float:
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack_from("qq", data)
            return float(seconds) + float(nanoseconds) / 1e9
    raise RuntimeError("the kernel gave no time stamp")


def main() -> None:
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    seen.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    seen.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    seen.bind((DEVICE, ETH_P_ALL))
    sent: dict[Key, float] = {}
    took: dict[str, list[float]] = {}
    told_at = 0.0
    while True:
        packet, extra, _, address = seen.recvmsg(2048, 256)
        outgoing = address[2] == OUTGOING
        key = looked_at(packet, outgoing=outgoing)
        if key is not None and outgoing:
            # A port that was given up is used again: the latest request is the one that is answered.
            sent[key] = stamp(extra)
        elif key is not None and key in sent:
            sums = took.setdefault(key[0], [0.0, 0.0])
            sums[0] += 1
            sums[1] += stamp(extra) - sent.pop(key)
        if time.monotonic() - told_at > 0.5:
            told_at = time.monotonic()
            # In one step: a reader sees the old or the new, never half of it.
            Path(sys.argv[1] + ".part").write_text(json.dumps(took))
            Path(sys.argv[1] + ".part").replace(sys.argv[1])


if __name__ == "__main__":
    main()
