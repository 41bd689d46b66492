"""Pods in the order a cluster creates them, and Pogonip deciding before it has seen them all.

The paper's second experiment depends on two things its text only hints at. Controllers work in parallel, so the pods
of the eight applications appear interleaved, some queues after some microservices; the timestamps were not recorded,
so here applications are submitted at equal intervals and each pod appears within the next `JITTER` intervals, by a
seeded draw. And Kubernetes starts scheduling before all pods exist, so PriorityMqSort can prefer only among those
already there: a window over the creation order. The prototype binds pod by pod; a pod without a place stays pending
and holds nothing back, so applications can be left incomplete. With a window of all pods the same policy deploys all
eight.
"""

import numpy as np

from ecotone.placement.heuristic.pod_by_pod import Pod, Run, manifest_order
from ecotone.placement.heuristic.pogonip import Greedy, Tie
from ecotone.placement.problem.instance import Instance

# Chosen once, for the range of deployed applications that three published policies show together.
JITTER = 4.0
WINDOW = 16


def creation_moments(instance: Instance, seed: int) -> dict[Pod, float]:
    """When parallel controllers might have created the pods, in intervals between applications."""
    draw = np.random.default_rng([seed, 2021])
    return {(a, i): a + draw.uniform(0.0, JITTER) for a, i in manifest_order(instance)}


def creation_order(instance: Instance, seed: int) -> list[Pod]:
    """All pods as parallel controllers might have created them."""
    moments = creation_moments(instance, seed)
    return sorted(moments, key=moments.__getitem__)


def pogonip_with_window(
    instance: Instance, *, order: list[Pod], window: int, tie: Tie = "random", seed: int = 0
) -> Run:
    """The prototype: among the `window` oldest waiting pods, queues first; a microservice waits for its queue."""
    greedy = Greedy(instance, tie=tie, seed=seed)
    waiting = list(order)
    refused: set[int] = set()
    placed: set[int] = set()
    while waiting:
        visible = waiting[:window]
        ready = [pod for pod in visible if pod[1] == 0 or pod[0] in placed]
        if not ready:
            # Every visible microservice lacks its queue: they go to the back, as unschedulable pods do.
            if all(pod[1] != 0 and pod[0] in refused for pod in waiting):
                break
            waiting = waiting[window:] + visible
            continue
        a, i = min(ready, key=lambda pod: (pod[1] != 0, waiting.index(pod)))
        waiting.remove((a, i))
        if i == 0:
            (placed if greedy.place_queue(a) else refused).add(a)
        else:
            greedy.place_microservice(a, i)
    return Run(hosts=tuple(tuple(row) for row in greedy.hosts))
