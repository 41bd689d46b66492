"""Whom a node probes. Pure.

Up to ``ALL`` nodes everybody probes everybody. Above, that would be n² probes and n² series, so each node probes a fixed
sample of ``SAMPLE`` others; coordinates predict the rest. The sample is drawn by a hash of the two names: every node has
its own, it stays the same while the nodes do (a series must last to be averaged), and one node more or less changes
about one entry of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

ALL = 64
SAMPLE = 16


def chosen(own: str, others: Iterable[str], *, most: int = ALL, sample: int = SAMPLE) -> list[str]:
    """The nodes that this one probes, in order of name."""
    names = sorted({name for name in others if name != own})
    if len(names) + 1 <= most:
        return names
    return sorted(sorted(names, key=lambda name: _draw(own, name))[:sample])


def _draw(own: str, other: str) -> bytes:
    return blake2b(f"{own}\0{other}".encode(), digest_size=8).digest()
