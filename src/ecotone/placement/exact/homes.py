"""What may stand on one host together with its queues, listed.

A relaxation puts 0.94 of an application on a host that holds 0.94 of it: no delay, no waste, and nothing like it exists. A
home is a whole number of queues on a host and of their own microservices beside them, so W[v,s] ("host v is home s") tells
the relaxation which microservices must live elsewhere, and what room is left for those of other hosts. Queues and own
microservices follow from W, which makes them the solver's least worry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ecotone.model.arrays import Ints

MOST_HOMES = 400


@dataclass(frozen=True, slots=True)
class Tenant:
    """An application class that may put its queue on the host; per component class demand and number, None if not here."""

    queue: Ints
    most: int
    own: tuple[tuple[Ints, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Homes:
    """One row per home: queues per tenant, own microservices per tenant and component class, room that is left."""

    queues: Ints
    own: tuple[Ints, ...]
    left: Ints


def homes(room: Ints, tenants: Sequence[Tenant]) -> Homes | None:
    """Every home with at least one queue; None when there are too many to list."""
    found: list[tuple[tuple[int, ...], Ints]] = [((), room)]
    for tenant in tenants:
        found = [grown for counts, left in found for grown in _add(counts, left, tenant.queue, tenant.most)]
        if len(found) > MOST_HOMES:
            return None
    queues = len(tenants)
    found = [each for each in found if any(each[0])]
    for t, tenant in enumerate(tenants):
        for own in tenant.own:
            if own is None:
                found = [((*counts, 0), left) for counts, left in found]
            else:
                demand, k = own
                found = [grown for counts, left in found for grown in _add(counts, left, demand, k * counts[t])]
            if len(found) > MOST_HOMES:
                return None
    if not found:
        return None
    table = np.array([counts for counts, _ in found], dtype=np.int64)
    ends = np.cumsum([queues] + [len(tenant.own) for tenant in tenants])
    return Homes(
        queues=table[:, :queues],
        own=tuple(table[:, begin:end] for begin, end in pairwise(ends)),
        left=np.array([left for _, left in found], dtype=np.int64),
    )


def _add(counts: tuple[int, ...], left: Ints, demand: Ints, most: int) -> list[tuple[tuple[int, ...], Ints]]:
    grown = []
    for count in range(most + 1):
        rest = left - count * demand
        if (rest < 0).any():
            break
        grown.append(((*counts, count), rest))
    return grown


def fits(left: Ints, demand: Ints) -> Ints:
    """How many copies fit into each room."""
    asked = demand > 0
    return np.asarray((left[:, asked] // demand[asked]).min(axis=1), dtype=np.int64)


def divides(left: Ints, demand: Ints) -> bool:
    """True if every room holds a whole number of copies, so that a capacity row says as much as a count."""
    asked = demand > 0
    share = (left[:, asked] / demand[asked]).min(axis=1)
    return bool((share - np.floor(share + 1e-9) <= 1e-9).all())
