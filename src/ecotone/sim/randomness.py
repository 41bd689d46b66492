"""Random numbers that belong to a purpose, not to a moment.

Every source of chance has its own stream, keyed by a hash of (seed, purpose). What one policy does can therefore not
shift the draws of anything else: all policies of a trial meet the same users, the same demands and the same losses, and
differences between them are differences of policy.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_BATCH = 512


def derive(seed: int, *purpose: str | int) -> int:
    """A 64-bit seed for one purpose."""
    text = "\x1f".join((str(seed), *map(str, purpose)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def stream(seed: int, *purpose: str | int) -> random.Random:
    """Uniform and normal draws for one purpose."""
    return random.Random(derive(seed, *purpose))


def creation_order(services: Sequence[T], seed: int) -> list[T]:
    """The order in which the trial with this seed creates its first pods, simulated or real."""
    order = list(services)
    stream(seed, "creation order").shuffle(order)
    return order


class Exponentials:
    """Standard exponential draws, made in batches and handed out as slices: the demands of whole requests."""

    __slots__ = ("_batch", "_generator", "_next")

    def __init__(self, seed: int, *purpose: str | int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(derive(seed, *purpose)))
        self._batch: list[float] = []
        self._next = 0

    def take(self, count: int) -> list[float]:
        start, end = self._next, self._next + count
        if end > len(self._batch):
            rest = self._batch[start:]
            self._batch = rest + self._generator.standard_exponential(max(_BATCH, count)).tolist()
            start, end = 0, count
        self._next = end
        return self._batch[start:end]
