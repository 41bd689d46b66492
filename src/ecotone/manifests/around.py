"""What surrounds pods and nodes: disruption budgets, Services, network maps and reservations."""

from __future__ import annotations

from ecotone.manifests import wire
from ecotone.manifests.pods import namespace_of
from ecotone.manifests.requests import amounts
from ecotone.manifests.selectors import label_selector
from ecotone.manifests.times import parse_time
from ecotone.model.network import NetworkMap
from ecotone.model.objects import DisruptionBudget, Reservation, ServiceSelector, WorkloadKey
from ecotone.model.selectors import LabelSelector


def to_budget(given: wire.PodDisruptionBudget) -> DisruptionBudget:
    """The controller's own count of what may go; where it has not counted yet, nothing may."""
    return DisruptionBudget(
        namespace=namespace_of(given.metadata),
        name=given.metadata.name,
        selector=label_selector(given.spec.selector),
        allowed=max(0, given.status.disruptions_allowed or 0),
    )


def to_service(given: wire.Service) -> ServiceSelector | None:
    """A Service without selector has endpoints of its own making: nothing to learn from it."""
    if not given.spec.selector:
        return None
    selector = LabelSelector.of_labels(given.spec.selector)
    return ServiceSelector(namespace_of(given.metadata), given.metadata.name, selector)


def to_network_map(given: wire.NetworkMap) -> NetworkMap:
    rtt = {
        origin: {target: value for target, value in row.items() if value is not None}
        for origin, row in given.spec.rtt.items()
    }
    return NetworkMap(given.spec.topology_key, rtt)


def to_reservation(given: wire.Reservation) -> Reservation:
    spec, namespace = given.spec, namespace_of(given.metadata)
    kind, _, name = spec.workload.rpartition("/")
    return Reservation(
        name=given.metadata.name,
        namespace=namespace,
        workload=WorkloadKey(namespace, name, kind or "Deployment"),
        template_hash=spec.pod_template_hash,
        node=spec.node,
        requests=tuple(sorted(amounts(spec.resources).items())),
        replaces_uid=spec.replaces_uid,
        expires=parse_time(spec.expires) if spec.expires else float("inf"),
    )
