"""Draws that depend on names and a seed alone.

A tie broken at random must not depend on the order in which anything was visited, so a draw is a hash of the seed,
the component and the host, never the next number of a generator. Host names are hashed once; a draw for one component
over thousands of hosts is then one vector operation.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]


def key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def keys(names: Sequence[str]) -> Keys:
    return np.array([key(name) for name in names], dtype=np.uint64)


def draws(seed: int, name: str, hosts: Keys) -> Keys:
    """One uniform 64-bit draw per host for the component `name`."""
    state = hosts ^ np.uint64(key(f"{seed}\0{name}"))
    with np.errstate(over="ignore"):
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
