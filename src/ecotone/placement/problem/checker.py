"""An independent judge of placements.

Written against the problem statement alone: it shares no code with the solvers, walks the pods one by one in plain
Python and reports every broken rule in words. Every answer of every solver passes through it in tests, and the
resolver and the planner refuse to hand out an answer it objects to.
"""

from collections import defaultdict

from ecotone.placement.problem.instance import Component, Instance, QueueApplication
from ecotone.placement.problem.solution import Placement

TOLERANCE_MS = 1e-9


def violations(instance: Instance, placement: Placement) -> list[str]:
    """Every rule the placement breaks; empty when it is valid."""
    if len(placement.hosts) != len(instance.applications):
        return [f"{len(placement.hosts)} answers for {len(instance.applications)} applications"]
    found: list[str] = []
    load: dict[int, list[int]] = defaultdict(lambda: [0] * len(instance.resources))
    for application, hosts in zip(instance.applications, placement.hosts, strict=True):
        if hosts is None:
            if not placement.reasons.get(application.name):
                found.append(f"{application.name}: rejected without a reason")
            continue
        if len(hosts) != 1 + len(application.microservices) or any(not 0 <= h < len(instance.hosts) for h in hosts):
            found.append(f"{application.name}: not every component has a host (all or nothing)")
            continue
        found += _application(instance, application, hosts)
        for component, host in zip(application.components, hosts, strict=True):
            if component.pinned is None:
                for r, amount in enumerate(component.demand):
                    load[host][r] += amount
    for host, amounts in load.items():
        for r, amount in enumerate(amounts):
            # Demands of zero never overload: a host may be over-committed by others before us.
            if amount > 0 and amount > instance.hosts[host].free[r]:
                name, resource = instance.hosts[host].name, instance.resources[r]
                found.append(f"{name}: {amount} {resource} placed, {instance.hosts[host].free[r]} free")
    return found


def _application(instance: Instance, application: QueueApplication, hosts: tuple[int, ...]) -> list[str]:
    found: list[str] = []
    queue = hosts[0]
    where = instance.hosts[queue]
    if where.tier != "edge":
        found.append(f"{application.name}: queue on {where.name}, which is not an edge node")
    to_control = min(float(instance.distance[instance.index[name], queue]) for name in instance.control)
    if application.queue.pinned is None and to_control > application.max_delay_ms + TOLERANCE_MS:
        bound = application.max_delay_ms
        found.append(f"{application.name}: queue {to_control:g} ms from the control node, bound {bound:g}")
    for component, host in zip(application.components, hosts, strict=True):
        found += _rules(instance, application, component, host)
    for component, host in zip(application.microservices, hosts[1:], strict=True):
        if component.pinned is not None and application.queue.pinned is not None:
            continue  # nothing was decided here
        found += _channel(instance, application, component, queue=queue, host=host)
    return found


def _rules(instance: Instance, application: QueueApplication, component: Component, host: int) -> list[str]:
    name = instance.hosts[host].name
    if component.pinned is not None:
        moved = f"{application.name}/{component.name}: moved from {component.pinned}"
        return [] if name == component.pinned else [moved]
    if component.allowed is not None and name not in component.allowed:
        return [f"{application.name}/{component.name}: not allowed on {name}"]
    return []


def _channel(
    instance: Instance, application: QueueApplication, component: Component, *, queue: int, host: int
) -> list[str]:
    found: list[str] = []
    place = f"{application.name}/{component.name}: on {instance.hosts[host].name}"
    bound = application.max_delay_ms
    requirement = component.qos
    delay = float(instance.distance[queue, host])
    if requirement is not None:
        if instance.links is not None and host != queue:
            path = instance.links.best_path(instance.hosts[queue].name, instance.hosts[host].name, requirement)
            if path is None:
                return [f"{place} no path to its queue meets the channel's requirements"]
            delay = path.latency_ms
        if requirement.max_latency_ms is not None and delay > requirement.max_latency_ms + TOLERANCE_MS:
            found.append(f"{place}, {delay:g} ms from its queue, channel bound {requirement.max_latency_ms:g}")
    if delay == float("inf"):
        found.append(f"{place}, which its queue cannot reach")
    if instance.hosts[host].tier == "edge" and delay > bound + TOLERANCE_MS:
        found.append(f"{place}, {delay:g} ms from its queue, bound {bound:g}")
    return found
