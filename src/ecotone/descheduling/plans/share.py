"""How many moves of one run an application may make: its plans share them."""

from __future__ import annotations

from collections import Counter

from ecotone.model.objects import Pod


class Share:
    """`most` for each application group, or for all pods of a namespace that are in none; None: no limit."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._taken: Counter[tuple[str, str]] = Counter()

    def left(self, pod: Pod) -> bool:
        return self._most is None or self._taken[_group(pod)] < self._most

    def takes(self, pod: Pod) -> bool:
        """Counts a move of this pod; False if there is none left for it."""
        if not self.left(pod):
            return False
        self._taken[_group(pod)] += 1
        return True


def _group(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.kind.app_group or ""
