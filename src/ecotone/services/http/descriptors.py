"""File descriptors are shared between those who call us and the API server we call: each side gets a part.

A listener that accepts until no descriptor is left also stops the client beside it: bindings, watches and the lease need
descriptors too. So the listener's share is small and fixed, and the client is told what remains.
"""

from __future__ import annotations

import resource

RESERVED = 48
"""Standard streams, the event loop, listening sockets, files of credentials, a credential plugin's pipes."""
SERVED_AT_MOST = 64
ACCEPTED_AT_ONCE = 16
"""Connections that an event loop takes in one turn, each with a descriptor, before the gate can turn any away."""
QUEUED = 512
"""Connections that the kernel keeps for us in the meantime; they take none of our descriptors."""
ENOUGH = 65_536


def raise_limit() -> int:
    """Lifts the soft limit to the hard one (no higher than anybody needs); returns what is allowed now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return ENOUGH if soft == resource.RLIM_INFINITY else soft


def served(limit: int) -> int:
    """How many connections a listener keeps open at a time."""
    return max(4, min(SERVED_AT_MOST, (limit - RESERVED - ACCEPTED_AT_ONCE) // 4))


def called(limit: int, *, wanted: int) -> int:
    """How many connections a client may have open beside a listener."""
    return max(4, min(wanted, limit - RESERVED - ACCEPTED_AT_ONCE - served(limit)))
