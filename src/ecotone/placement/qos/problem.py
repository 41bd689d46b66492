"""The instance: services and nodes as arrays.

`current` counts the pods that run now, `pods` all there should be (the difference is new). `latency` is what a pod of a
service costs on a node in milliseconds, `target` what was promised, `weight` how much missing it counts. `fixed` of the
current pods stay where they are. Limits: `budget` on moves in all, `most_moves` per service. `mix` is the weight of each
service in future fit, counted on the nodes of `near`. `move_cost` is the hysteresis: milliseconds of H that one move must be
worth; 0 makes the stages purely lexicographic. `broken_ms` is what a promise that is not kept counts beyond its milliseconds
(the later version's gamma): without it two promises that are nearly kept are as good as one that is. `spread`: on how many
nodes and in how many zones services have to stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.placement.qos.spread import Spread

ROUNDING = 1e-9
BROKEN = 1e-6  # milliseconds over target that are rounding and not a broken promise


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    size: Floats
    capacity: Floats
    latency: Floats
    target: Floats
    weight: Floats
    pods: Ints
    current: Ints
    fixed: Ints
    allowed: Mask
    near: Mask
    mix: Floats
    budget: int | None = None
    most_moves: Ints | None = None
    move_cost: float = 0.0
    broken_ms: float = 0.0
    spread: Spread | None = None

    @classmethod
    def of(
        cls,
        *,
        size: Floats,
        capacity: Floats,
        latency: Floats,
        target: Floats,
        pods: Ints,
        current: Ints,
        weight: Floats | None = None,
        fixed: Ints | None = None,
        allowed: Mask | None = None,
        near: Mask | None = None,
        mix: Floats | None = None,
        budget: int | None = None,
        most_moves: Ints | None = None,
        move_cost: float = 0.0,
        broken_ms: float = 0.0,
    ) -> Problem:
        """With the usual defaults: equal weights, everything allowed and movable, near = the best latency of a service."""
        services, nodes = latency.shape
        return cls(
            size=np.asarray(size, np.float64).reshape(services, -1),
            capacity=np.asarray(capacity, np.float64).reshape(nodes, -1),
            latency=np.asarray(latency, np.float64),
            target=np.asarray(target, np.float64),
            weight=np.ones(services) if weight is None else weight,
            pods=np.asarray(pods, np.int64),
            current=np.asarray(current, np.int64),
            fixed=np.zeros_like(current) if fixed is None else fixed,
            allowed=np.ones(latency.shape, np.bool_) if allowed is None else allowed,
            near=(latency <= latency.min(axis=1, keepdims=True)).any(axis=0) if near is None else near,
            mix=np.full(services, 1.0 / max(1, services)) if mix is None else mix,
            budget=budget,
            most_moves=most_moves,
            move_cost=move_cost,
            broken_ms=broken_ms,
        )

    @property
    def services(self) -> int:
        return len(self.pods)

    @property
    def nodes(self) -> int:
        return len(self.capacity)

    @property
    def worst(self) -> Floats:
        """What a pod that runs nowhere counts as, per service."""
        worst: Floats = self.latency.max(axis=1, initial=0.0)
        return worst

    def used(self, x: Ints) -> Floats:
        used: Floats = x.T @ self.size
        return used

    def losses(self, x: Ints) -> Floats:
        """Weighted milliseconds over target, and what a broken promise counts beside them, per service."""
        missing = self.pods - x.sum(axis=1)
        total = (x * self.latency).sum(axis=1) + missing * self.worst
        mean = np.divide(total, self.pods, out=np.zeros(self.services), where=self.pods > 0)
        over: Floats = np.maximum(0.0, mean - self.target)
        lost: Floats = self.weight * over + self.broken_ms * (over > BROKEN)
        return np.where(self.pods > 0, lost, 0.0)

    def loss(self, x: Ints) -> float:
        return float(self.losses(x).sum())

    def moves(self, x: Ints) -> int:
        return int(np.maximum(0, self.current - x).sum())

    def fit(self, x: Ints) -> float:
        """Pods that the near nodes could still take, each service as if it came alone, weighed by the mix."""
        free = self.capacity - self.used(x) + ROUNDING * self.capacity
        total = 0.0
        for node in np.flatnonzero(self.near).tolist():
            total += float(self.mix @ (self._extra(free[node]) * self.allowed[:, node]))
        return total

    def _extra(self, free: Floats) -> Floats:
        ratio = np.full(self.size.shape, np.inf)
        np.divide(np.maximum(free, 0.0), self.size, out=ratio, where=self.size > 0)
        extra: Floats = np.floor(ratio.min(axis=1))
        return np.where(np.isfinite(extra), extra, 0.0)

    def violations(self, x: Ints) -> list[str]:
        """What an answer must not do, in words."""
        found = []
        if (x < 0).any() or (x.sum(axis=1) > self.pods).any():
            found.append("counts")
        if (self.used(x) > self.capacity * (1 + 1e-6) + 1e-9).any():
            found.append("capacity")
        if (x[~self.allowed] > np.minimum(self.current, x)[~self.allowed]).any():
            found.append("allowed")
        if (x < self.fixed).any():
            found.append("fixed")
        if self.budget is not None and self.moves(x) > self.budget:
            found.append("budget")
        if self.most_moves is not None and (np.maximum(0, self.current - x).sum(axis=1) > self.most_moves).any():
            found.append("moves of a service")
        if self.spread is not None and self.spread.lacks(x).any():
            found.append("redundancy")
        return found

    def part(self, x: Ints, *, nodes: Ints, services: Ints) -> Problem:
        """The same question about some nodes and services only, with everything else as in `x`.

        The loss of a service is the same but for a constant: what its pods elsewhere cost is taken off its target.
        """
        elsewhere = np.ones(self.nodes, np.bool_)
        elsewhere[nodes] = False
        rest = x[services][:, elsewhere]
        left = self.pods[services] - rest.sum(axis=1)
        spent = (rest * self.latency[services][:, elsewhere]).sum(axis=1)
        whole, some = self.pods[services].astype(np.float64), np.maximum(left, 1)
        others = np.ones(self.services, np.bool_)
        others[services] = False
        gone = np.maximum(0, self.current - x)
        settled = gone[services][:, elsewhere].sum(axis=1)
        return replace(
            self,
            size=self.size[services],
            capacity=self.capacity[nodes] - x[others][:, nodes].T @ self.size[others],
            latency=self.latency[np.ix_(services, nodes)],
            target=(whole * self.target[services] - spent) / some,
            weight=self.weight[services] * some / np.maximum(whole, 1.0),
            pods=left,
            current=self.current[np.ix_(services, nodes)],
            fixed=self.fixed[np.ix_(services, nodes)],
            allowed=self.allowed[np.ix_(services, nodes)],
            near=self.near[nodes],
            mix=self.mix[services],
            budget=None if self.budget is None else self.budget - int(settled.sum()) - int(gone[others].sum()),
            most_moves=None if self.most_moves is None else self.most_moves[services] - settled,
            spread=None
            if self.spread is None
            else self.spread.part(x, nodes=nodes, services=services, elsewhere=elsewhere),
        )

    @property
    def counts_moves(self) -> bool:
        """True if moves are limited or cost something, and not only compared."""
        return self.budget is not None or self.most_moves is not None or self.move_cost > 0.0
