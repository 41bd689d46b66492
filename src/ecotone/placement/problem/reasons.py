"""Why an application was not admitted, in words a person can act on.

The reason is found against what is left after everything else was placed, from the queue outwards: unreachable, too
big for any node, too big for what is left, no room for a microservice either near the queue or in the cloud.
"""

import numpy as np

from ecotone.model.arrays import Mask
from ecotone.placement.problem.instance import Component, Instance, QueueApplication, delay_bound
from ecotone.placement.problem.remaining import Remaining

RIVALS = "others took the room it needs"


def amounts(instance: Instance, component: Component) -> str:
    """The component's demands in units people use."""
    parts = []
    for resource, amount in zip(instance.resources, component.demand, strict=True):
        if resource == "cpu":
            parts.append(f"{amount}m CPU")
        elif resource == "memory":
            parts.append(f"{amount / 2**20:.0f} MiB")
        elif amount and resource != "pods":
            parts.append(f"{amount} {resource}")
    return ", ".join(parts)


def queue_candidates(instance: Instance, application: QueueApplication) -> Mask:
    """Edge hosts that may carry the queue as far as rules and delays go, whatever is free."""
    allowed = instance.allowed(application.queue)
    if application.queue.pinned is not None:
        assert allowed is not None
        return allowed & instance.is_edge
    mask = instance.is_edge & (instance.control_distance <= application.max_delay_ms)
    if allowed is not None:
        mask = mask & allowed
    for component in application.microservices:
        if component.pinned is not None and instance.is_edge[instance.index[component.pinned]]:
            row = instance.delay(component)[instance.index[component.pinned]]
            mask = mask & (row <= delay_bound(application, component))
    return mask


def edge_candidates(instance: Instance, application: QueueApplication, component: Component, queue: int) -> Mask:
    """Edge hosts within the delay bound of a queue on `queue` that the component's own rules permit."""
    allowed = instance.allowed(component)
    if component.pinned is not None and application.queue.pinned is not None:
        assert allowed is not None
        return allowed & instance.is_edge
    mask: Mask = instance.is_edge & (instance.delay(component)[queue] <= delay_bound(application, component))
    return mask if allowed is None else mask & allowed


def cloud_candidates(instance: Instance, component: Component, queue: int) -> Mask:
    """Cloud hosts the component may be forwarded to: only its channel's own bound holds there."""
    row = instance.delay(component)[queue]
    mask: Mask = ~instance.is_edge & np.isfinite(row)
    if component.qos is not None and component.qos.max_latency_ms is not None:
        mask = mask & (row <= component.qos.max_latency_ms)
    allowed = instance.allowed(component)
    return mask if allowed is None else mask & allowed


def explain(instance: Instance, application: QueueApplication, remaining: Remaining) -> str:
    """The first thing that stands in the application's way on the capacity that `remaining` says is left."""
    queue = application.queue
    bound = f"{application.max_delay_ms:g} ms"
    reachable = queue_candidates(instance, application)
    if not reachable.any():
        if queue.pinned is not None:
            return f"queue {queue.name} runs on {queue.pinned}, which is not an edge node"
        return f"queue {queue.name}: no permitted edge node within {bound} of the control node"
    if queue.pinned is None:
        if not _roomy(instance, queue, reachable).any():
            return (
                f"queue {queue.name} ({amounts(instance, queue)}) is too big for each of the {reachable.sum()} edge "
                f"nodes within {bound} of the control node"
            )
        reachable = remaining.fits(queue, reachable)
        if not reachable.any():
            return (
                f"queue {queue.name} ({amounts(instance, queue)}): no room left on any edge node within {bound} "
                f"of the control node; {RIVALS}"
            )
    for component in application.microservices:
        if component.pinned is None and not _placeable(instance, application, component, remaining, reachable):
            cloud = "no cloud node has room" if len(instance.cloud) else "there is no cloud node"
            return (
                f"microservice {component.name} ({amounts(instance, component)}): no room on edge nodes within "
                f"{bound} of its queue, and {cloud}"
            )
    return f"its components fit one by one but not together; {RIVALS}"


def _roomy(instance: Instance, component: Component, within: Mask) -> Mask:
    return within & (instance.free >= np.asarray(component.demand, dtype=np.int64)).all(axis=1)


def _placeable(
    instance: Instance, application: QueueApplication, component: Component, remaining: Remaining, queues: Mask
) -> bool:
    for queue in np.flatnonzero(queues):
        near = edge_candidates(instance, application, component, int(queue))
        far = cloud_candidates(instance, component, int(queue))
        if remaining.fits(component, near | far).any():
            return True
    return False
