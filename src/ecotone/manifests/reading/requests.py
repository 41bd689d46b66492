"""What a pod asks for, all containers considered, as kube-scheduler counts it.

Containers run side by side, so they add up, and sidecars (init containers that keep running) with them. Plain init
containers run one after the other before that, each beside the sidecars started so far; the pod needs the larger of the
two phases. Requests given for the whole pod win over that sum, and the runtime's overhead comes on top.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ecotone.manifests import wire
from ecotone.model import quantity
from ecotone.model.errors import InputError

DEFAULT_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
DEFAULTS = {"cpu": DEFAULT_CPU, "memory": DEFAULT_MEMORY}

Amounts = dict[str, int]


@lru_cache(maxsize=8192)
def amount(resource: str, text: wire.Quantity) -> int:
    """A quantity in its column's unit; negative ones make no sense anywhere, and none is larger than `LARGEST`."""
    try:
        return quantity.bounded(resource, text)
    except InputError as error:
        message = error.message.removeprefix(f"{resource}: ")
        raise InputError(f"{resource}: {message}", hint=error.hint) from None


def amounts(given: Mapping[str, wire.Quantity]) -> Amounts:
    return {resource: amount(resource, text) for resource, text in given.items()}


def effective(pod: wire.PodSpec, status: wire.PodStatus | None = None) -> tuple[Amounts, tuple[int, int]]:
    """Requests of the pod, and its CPU and memory where a container that asks for nothing counts 100m and 200Mi."""
    own = _own_requests(pod, status)
    requests = _total(pod, own, defaults={})
    whole = _whole_pod(pod, requests)
    missing = {name: least for name, least in DEFAULTS.items() if not whole or name not in {**requests, **whole}}
    nonzero = _total(pod, own, defaults=missing) if missing else requests
    overhead = amounts(pod.overhead)
    requests, nonzero = _plus({**requests, **whole}, overhead), _plus({**nonzero, **whole}, overhead)
    return requests, (nonzero.get("cpu", 0), nonzero.get("memory", 0))


def cpu_limit(pod: wire.PodSpec) -> int | None:
    """The millicores that it may use at most; None where one of its containers has no limit."""
    if pod.resources is not None and "cpu" in pod.resources.limits:
        return amount("cpu", pod.resources.limits["cpu"])
    found = [amounts(each.resources.limits).get("cpu") if each.resources else None for each in pod.containers]
    told = [each for each in found if each is not None]
    return min(quantity.LARGEST, sum(told)) if found and len(told) == len(found) else None


def _own_requests(pod: wire.PodSpec, status: wire.PodStatus | None) -> dict[int, Amounts]:
    """Each container's requests; one that is being resized counts with the most it has or wants."""
    statuses = {} if status is None else {each.name: each for each in _statuses(status) if each.resources is not None}
    infeasible = status is not None and any(
        each.type == "PodResizePending" and each.reason == "Infeasible" for each in status.conditions
    )
    found = {}
    running = [*pod.containers, *(each for each in pod.init_containers if each.restart_policy == "Always")]
    resizable = {id(container) for container in running} if statuses else ()
    for container in (*pod.containers, *pod.init_containers):
        asked = _asked(container.resources)
        seen = statuses.get(container.name) if id(container) in resizable else None
        if seen is not None:
            actual = amounts(seen.resources.requests if seen.resources else {})
            held = _larger(actual, amounts(seen.allocated_resources))
            asked = held if infeasible else _larger(asked, held)
        found[id(container)] = asked
    return found


def _statuses(status: wire.PodStatus) -> Iterable[wire.ContainerStatus]:
    return (*status.container_statuses, *status.init_container_statuses)


def _asked(resources: wire.ResourceRequirements | None) -> Amounts:
    """Requests; a limit without a request is one, as the API server fills in."""
    if resources is None:
        return {}
    asked = amounts(resources.requests)
    return {**amounts(resources.limits), **asked} if resources.limits else asked


def _total(pod: wire.PodSpec, own: Mapping[int, Amounts], *, defaults: Mapping[str, int]) -> Amounts:
    together: Amounts = {}
    for container in pod.containers:
        together = _plus(together, {**defaults, **own[id(container)]})
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in pod.init_containers:
        asked = {**defaults, **own[id(container)]}
        if container.restart_policy == "Always":
            together = _plus(together, asked)
            sidecars = _plus(sidecars, asked)
            starting = _larger(starting, sidecars)
        else:
            starting = _larger(starting, _plus(asked, sidecars))
    return _larger(together, starting)


def _whole_pod(pod: wire.PodSpec, summed: Amounts) -> Amounts:
    """Requests for the pod as a whole; a limit there stands in only where no container asks for that resource."""
    if pod.resources is None:
        return {}
    limits = {name: each for name, each in amounts(pod.resources.limits).items() if name not in summed}
    whole = {**limits, **amounts(pod.resources.requests)}
    return {name: each for name, each in whole.items() if name in DEFAULTS or name.startswith("hugepages-")}


def _plus(left: Amounts, right: Mapping[str, int]) -> Amounts:
    """The sum, which is bounded as each amount is: a hundred containers may ask for the most."""
    return {name: min(quantity.LARGEST, left.get(name, 0) + right.get(name, 0)) for name in {**left, **right}}


def _larger(left: Amounts, right: Mapping[str, int]) -> Amounts:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}
