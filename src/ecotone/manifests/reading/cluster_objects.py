"""What surrounds pods and nodes: disruption budgets, Services, network maps and reservations."""

from __future__ import annotations

from ecotone.manifests import wire
from ecotone.manifests.reading.pods import namespace_of
from ecotone.manifests.reading.requests import amounts
from ecotone.manifests.reading.selectors import label_selector
from ecotone.manifests.times import parse_time
from ecotone.model.columns.network import NetworkMap, known
from ecotone.model.objects import AppGroup, DisruptionBudget, Reservation, ServiceSelector, WorkloadKey
from ecotone.model.selectors import LabelSelector

# PreferClose is the former name of PreferSameZone; what is not known is balanced uniformly.
DISTRIBUTIONS = {
    "PreferSameNode": "PreferSameNode",
    "PreferSameZone": "PreferSameZone",
    "PreferClose": "PreferSameZone",
}


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
    distribution = DISTRIBUTIONS.get(given.spec.traffic_distribution or "")
    return ServiceSelector(namespace_of(given.metadata), given.metadata.name, selector, distribution)


def to_network_map(given: wire.NetworkMap) -> NetworkMap:
    rtt = {
        origin: {target: value for target, value in row.items() if value is not None and known(value)}
        for origin, row in given.spec.rtt.items()
    }
    return NetworkMap(given.spec.topology_key, rtt)


def to_reservation(given: wire.Reservation) -> Reservation:
    spec, namespace = given.spec, namespace_of(given.metadata)
    named_kind, _, name = spec.workload.rpartition("/")
    kind = spec.kind or named_kind
    return Reservation(
        name=given.metadata.name,
        namespace=namespace,
        workload=WorkloadKey(namespace, name, kind or "Deployment"),
        template_hash=spec.pod_template_hash,
        node=spec.node,
        requests=tuple(sorted(amounts(spec.resources).items())),
        replaces_uid=spec.replaces_uid,
        expires=parse_time(spec.expires) if spec.expires else float("inf"),
        taken_by=given.status.taken_by,
        priority=spec.priority,
    )


def group_figures(given: wire.AppGroup) -> dict[str, dict[str, str]]:
    """Of a large group: per `Kind/name` what would be annotations of that workload. Nonsense is left out."""
    found = given.status.get("workloads")
    if not isinstance(found, dict):
        return {}
    return {
        str(name): {str(key): text for key, text in texts.items() if isinstance(text, str)}
        for name, texts in found.items()
        if isinstance(texts, dict)
    }


def to_app_group(given: wire.AppGroup) -> AppGroup:
    spec = given.spec
    latency = {} if spec.qos is None else spec.qos.latency
    return AppGroup(
        namespace=namespace_of(given.metadata),
        name=spec.name or given.metadata.name,
        tier_latency_ms={tier: float(value) for tier, value in latency.items() if value is not None and known(value)},
        slo_percentile=95.0 if spec.slo is None else spec.slo.percentile,
        slo_ms=None if spec.slo is None else spec.slo.milliseconds,
        paused=spec.paused,
    )
