"""A policy must come to rest: at one instant only so many of its decisions are carried out, then the run ends with an error.

In virtual time a pod can come and go for ever while the clock stands still. Whatever a policy may have to do at once, first
placements and a node's death among it, is a few decisions for each pod.
"""

from __future__ import annotations

from collections import Counter, deque

from ecotone.model.errors import RestlessError

AT_LEAST = 1000
PER_POD = 10
_NAMED = 4


class Instant:
    """Counts what is carried out while the clock stands still: `AT_LEAST` decisions may be, and `PER_POD` for each pod."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._now: float | None = None
        self._kinds: Counter[str] = Counter()
        self._last: deque[str] = deque(maxlen=_NAMED)

    def count(self, now: float, kind: str, what: str, *, pods: int) -> None:
        """One more decision: of which kind, about which pod and node, and how many pods there are."""
        if now != self._now:
            self._now = now
            self._kinds.clear()
        self._kinds[kind] += 1
        self._last.append(f"{kind} {what}")
        most = AT_LEAST + PER_POD * pods
        if self._kinds.total() > most:
            kinds = ", ".join(f"{number} x {name}" for name, number in sorted(self._kinds.items()))
            raise RestlessError(
                f"policy {self._policy} never comes to rest: more than {most} decisions at t = {now:g} s ({kinds}); "
                f"the last ones: {'; '.join(self._last)}"
            )
