"""Randomness without state: a draw is a hash of (seed, pod uid, node name).

Reordering pods, batching them or adding nodes changes no other draw, so a replay gives the same answer and simulated
policies can share their luck.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b

import numpy as np

from ecotone.model.arrays import Floats, Hashes


def hash_text(text: str) -> int:
    """64 well-mixed bits of a text, the same on every machine and run."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def hash_texts(texts: Iterable[str]) -> Hashes:
    return np.array([hash_text(text) for text in texts], dtype=np.uint64)


def draws(*, seed: int, uid: str, names: Hashes) -> Floats:
    """One uniform number in [0, 1) per name."""
    return _bits(seed, uid, names).astype(np.float64) * 2.0**-53


def luckiest(*, seed: int, uid: str, names: Hashes) -> int:
    """Where the highest of these numbers is."""
    return int(_bits(seed, uid, names).argmax())


def _bits(seed: int, uid: str, names: Hashes) -> Hashes:
    """The 53 bits of each number."""
    start = (hash_text(uid) ^ _seed(seed)) & 0xFFFFFFFFFFFFFFFF
    mixed = names + np.uint64(start)
    for shift, factor in _MIXING:
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    mixed >>= np.uint64(11)
    return mixed


_MIXING = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


@cache
def _seed(seed: int) -> int:
    return hash_text(f"seed {seed}")
