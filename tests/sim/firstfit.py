"""A first-fit stand-in for a policy, so that the simulator's own tests depend on no policy."""

from __future__ import annotations

from ecotone.model import Bind, Decisions, Evict, Snapshot


class FirstFit:
    """Binds each pending pod to the first ready node with room, and never moves anything."""

    name = "test-first-fit"
    reserves_for = 0.0

    def schedule(self, snapshot: Snapshot) -> Decisions:
        free = {
            node.name: [node.allocatable["cpu"], node.allocatable["memory"]]
            for node in snapshot.nodes.nodes
            if node.ready and not node.unschedulable
        }
        for pod in snapshot.usage.pods():
            if pod.node in free:
                free[pod.node][0] -= pod.spec.request("cpu")
                free[pod.node][1] -= pod.spec.request("memory")
        binds = []
        for pod in snapshot.pending.values():
            required = pod.spec.node_affinity.required
            for name, left in free.items():
                if required and name not in required[0].fields[0].values:
                    continue
                needs = (pod.spec.request("cpu"), pod.spec.request("memory"))
                if left[0] >= needs[0] and left[1] >= needs[1]:
                    left[0] -= needs[0]
                    left[1] -= needs[1]
                    binds.append(Bind(pod.key, name, "first that fits"))
                    break
        return Decisions(tuple(binds))

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        return Decisions(())


class Mover(FirstFit):
    """Evicts one named pod once, at the first look after `at`."""

    def __init__(self, pod: str, target: str, *, at: float) -> None:
        self._move = Evict(f"default/{pod}", "a", target, 1.0, "points", "test")
        self._at = at
        self._done = False

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        if self._done or snapshot.now < self._at:
            return Decisions(())
        self._done = True
        return Decisions((self._move,))
