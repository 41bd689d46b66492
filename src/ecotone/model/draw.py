"""Randomness without state: a draw is a hash of (seed, pod uid, node name).

Reordering pods, batching them or adding nodes changes no other draw, so a replay gives the same answer and simulated
policies can share their luck.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    start = (hash_text(uid) ^ hash_text(f"seed {seed}")) & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        mixed = names + np.uint64(start)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
