"""What a placement of an application must keep, and what it pays beside the milliseconds that requests take."""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.model.arrays import Floats, Mask
from ecotone.scheduling.redundancy.tables import Redundancy


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Two workloads that must be near each other: `away[m, n]`, too far with the one on m and the other on n."""

    workload: int
    peer: int
    away: Mask


@dataclass(frozen=True, slots=True)
class Limits:
    """What a placement must keep and what it pays beside J.

    `allowed[w, n]`: the filters take the workload there; `demand[w, r]` and `free[n, r]`: requests and room without this
    application; `movable[w]`; `price[w, n]` in ms for the whole workload there; `moving`: ms a pod; `near`: who must be
    near whom; `redundancy`: on how many nodes and in how many zones, None if that does not matter; `lean`: nobody moves
    for prices alone.
    """

    allowed: Mask
    demand: Floats
    free: Floats
    movable: Mask
    price: Floats
    moving: float = 0.1
    near: tuple[Near, ...] = ()
    redundancy: Redundancy | None = None
    lean: bool = False
