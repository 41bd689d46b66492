"""Pogonip as our scheduler runs it: applications that arrive together are decided together.

The prototype decides on whatever pods exist, so a queue that appears late finds the edge taken. A live scheduler of ours
holds every application until no pod has appeared for `settle` seconds, but none for longer than a few times that (the
rule of AtomicDeployment, for the plugins and the solvers alike), and then decides on all complete ones at once: queues
first, each application as a whole or not at all. How many applications fit depends on how far apart they arrive, which
the paper does not say; so the spacing is a parameter. What was placed is never moved.
"""

from math import floor

from ecotone.placement.heuristic.pod_by_pod import Pod
from ecotone.placement.heuristic.pogonip import Greedy, Tie, microservices_or_reject, queue_or_reject
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import Placement
from ecotone.scheduling.arrival import PATIENCE, settling


def gathered(
    instance: Instance, *, seconds: dict[Pod, float], settle: float, tie: Tie = "random", seed: int = 0
) -> Placement:
    """`seconds` says when each pod is created; the API server keeps whole seconds of it."""
    greedy = Greedy(instance, tie=tie, seed=seed)
    created = {pod: float(floor(moment)) for pod, moment in seconds.items()}
    members = {a: [pod for pod in created if pod[0] == a] for a in range(len(instance.applications))}
    waiting = set(members)
    looks = {when + wait for when in created.values() for wait in (settle, PATIENCE * settle)}
    for now in sorted(looks):
        pending = {a: [created[pod] for pod in members[a] if seconds[pod] <= now] for a in waiting}
        newest = max((when for known in pending.values() for when in known), default=now)
        due = [
            a
            for a, known in pending.items()
            if len(known) == len(members[a]) and not settling(now=now, own=max(known), newest=newest, settle=settle)
        ]
        due.sort(key=lambda a: (instance.applications[a].max_delay_ms, min(seconds[pod] for pod in members[a])))
        for a in [a for a in due if queue_or_reject(greedy, a)]:
            microservices_or_reject(greedy, a)
        waiting -= set(due)
    return greedy.result()
