"""From Kubernetes manifests.

Workloads become services with their image, ports, replicas and resources; the Kubernetes Service that selects a
workload gives its port; autoscalers and disruption budgets are recognised. Channels come from static affinities when
the manifests carry them (ours do), else from names mentioned in the environment. Manifests compiled from a template
therefore come back as that template, up to how it was written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ecotone.manifests.keys import AFFINITY, APP_GROUP, DEADLINES, EXTERNAL, INDEX, PROTOCOLS, ROLE, SOFT_DEADLINES
from ecotone.manifests.yaml.positions import Node
from ecotone.model.errors import InputError
from ecotone.model.quantity import whole
from ecotone.tosca.importers.draft import DEFAULT_PRIORITY, Draft, DraftChannel, DraftService
from ecotone.tosca.importers.guess import mentioned
from ecotone.tosca.importers.objects import WORKLOADS, at, json_mapping, kind, name, objects, plain, strings, text
from ecotone.tosca.language.checks import RESERVED_LABELS, is_dns_label, label_value_from
from ecotone.tosca.ordering import order

DEEPEST = 999_999_999
_KEPT_ANNOTATIONS = frozenset({EXTERNAL, "kubectl.kubernetes.io/last-applied-configuration"})


def import_manifests(texts: Iterable[tuple[str, str | bytes]], *, app_group: str | None = None) -> Draft:
    """A draft from (file, text) pairs of Kubernetes objects."""
    sources = list(texts)
    found = objects(sources)
    workloads = select_workloads(found, app_group)
    if not workloads:
        raise InputError(
            "no Deployment, StatefulSet or DaemonSet is among the objects", file=sources[0][0] if sources else None
        )
    draft = Draft(app_group or group_name(workloads, sources[0][0]))
    for workload in workloads:
        service = _service(workload, found)
        if service.name in draft.services:
            raise workload.error(f"two workloads are called `{service.name}`", hint="import one namespace at a time")
        draft.services[service.name] = service
    for external in found:
        if kind(external) == "Service" and text(at(external, "spec", "type")) == "ExternalName":
            _external_name(draft, external)
    aliases = _aliases(found, workloads)
    peers = {service_name(workload): workload for workload in workloads}
    for workload in workloads:
        connect(draft, workload, aliases, peers)
    _keep_indices(draft, workloads)
    return draft


def select_workloads(found: list[Node], app_group: str | None) -> list[Node]:
    """The workloads of a group, or all of them."""
    workloads = [item for item in found if kind(item) in WORKLOADS]
    if app_group is None:
        return workloads
    return [item for item in workloads if group_of(item) == app_group]


def group_of(workload: Node) -> str:
    labels = strings(at(workload, "metadata", "labels")) | strings(
        at(workload, "spec", "template", "metadata", "labels")
    )
    return labels.get(APP_GROUP, "")


def group_name(workloads: list[Node], file: str) -> str:
    """The common app-group, else the name of the file."""
    groups = {group_of(workload) for workload in workloads}
    only = groups.pop() if len(groups) == 1 else ""
    stem = Path(file).name.split(".")[0]
    return only if is_dns_label(only) else label_value_from(only or stem or "application")


def _service(workload: Node, found: list[Node]) -> DraftService:
    service = DraftService(service_name(workload))
    if service.name != name(workload):
        service.remarks.append(f"called {name(workload)} in the cluster")
    annotations = strings(at(workload, "metadata", "annotations"))
    pod_labels = strings(at(workload, "spec", "template", "metadata", "labels"))
    service.labels = {
        key: value for key, value in strings(at(workload, "metadata", "labels")).items() if key not in RESERVED_LABELS
    }
    service.annotations = {key: value for key, value in annotations.items() if key not in _KEPT_ANNOTATIONS}
    pod = at(workload, "spec", "template", "spec")
    container = _container(pod, workload)
    replicas = at(workload, "spec", "replicas")
    if replicas is not None and replicas.value != 1:
        service.settings["replicas"] = replicas.plain()
    host, _, port = annotations.get(EXTERNAL, "").rpartition(":")
    number = whole(port, most=65_535)
    if host and number is not None:
        service.external = True
        service.endpoint = {"host": host, "port": number}
        _proxy(service, container, pod)
    else:
        _own_pods(service, container, pod, pod_labels)
        _port(service, workload, container, found)
        _scaling(service, workload, found)
    _resources(service, container)
    scheduler = text(at(pod, "schedulerName"))
    if scheduler and scheduler != "default-scheduler":
        service.settings["schedulerName"] = scheduler
    return service


def service_name(workload: Node) -> str:
    original = name(workload)
    return original if is_dns_label(original) else label_value_from(original)


def _container(pod: Node | None, workload: Node) -> Node:
    containers = at(pod, "containers")
    elements = containers.elements() if containers is not None else []
    if not elements or not elements[0].is_mapping:
        raise workload.error(f"the workload `{name(workload)}` has no containers")
    return elements[0]


def _proxy(service: DraftService, container: Node, pod: Node | None) -> None:
    image = text(at(container, "image"))
    if image:
        service.settings["image"] = image
    required = at(
        pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    )
    terms = required.elements() if required is not None else []
    near: dict[str, str] = {}
    for expression in (at(terms[0], "matchExpressions") or terms[0]).elements() if len(terms) == 1 else []:
        values = at(expression, "values")
        if text(at(expression, "operator")) == "In" and values is not None and len(values.elements()) == 1:
            near[text(at(expression, "key"))] = values.elements()[0].text
    if near:
        service.settings["near"] = near


def _own_pods(service: DraftService, container: Node, pod: Node | None, labels: dict[str, str]) -> None:
    service.settings["image"] = text(at(container, "image"))
    for key in ("command", "args"):
        words = plain(at(container, key))
        if words:
            service.settings[key] = [str(word) for word in words]
    environment = at(container, "env")
    values = {}
    for variable in environment.elements() if environment is not None else []:
        value = at(variable, "value")
        if value is not None:
            values[text(at(variable, "name"))] = value.text
        elif at(variable, "valueFrom") is not None:
            service.remarks.append(f"the variable {text(at(variable, 'name'))} comes from elsewhere and is left out")
    if values:
        service.settings["env"] = values
    selector = strings(at(pod, "nodeSelector"))
    if selector:
        service.settings["nodeSelector"] = selector
    if labels.get(ROLE) in ("message-queue", "microservice"):
        service.settings["role"] = labels[ROLE]
    containers = at(pod, "containers")
    if containers is not None and len(containers.elements()) > 1:
        service.remarks.append("has more containers: only the first is carried over")


def _selecting(workload: Node, found: list[Node]) -> Node | None:
    """The Kubernetes Service that leads to a workload's pods; one of the same name first."""
    labels = strings(at(workload, "spec", "template", "metadata", "labels"))
    namespace = text(at(workload, "metadata", "namespace"))
    matching = []
    for item in found:
        if kind(item) != "Service" or text(at(item, "metadata", "namespace")) != namespace:
            continue
        selector = strings(at(item, "spec", "selector"))
        if selector and selector.items() <= labels.items():
            matching.append(item)
    return min(matching, key=lambda item: name(item) != name(workload), default=None)


def _port(service: DraftService, workload: Node, container: Node, found: list[Node]) -> None:
    selecting = _selecting(workload, found)
    listed = at(selecting, "spec", "ports")
    ports = listed.elements() if listed is not None else []
    if not ports:
        return
    first = ports[0]
    port = plain(at(first, "port"))
    if not isinstance(port, int):
        raise first.error(f"the port of the Service `{name(selecting or workload)}` is no number")
    service.endpoint["port"] = port
    target = _target_port(at(first, "targetPort"), container)
    if target is not None and target != port:
        service.endpoint["targetPort"] = target
    protocol = text(at(first, "protocol"))
    if protocol and protocol != "TCP":
        service.endpoint["protocol"] = protocol
    node_port = plain(at(first, "nodePort"))
    if isinstance(node_port, int):
        service.endpoint["nodePort"] = node_port
    if len(ports) > 1:
        service.remarks.append(f"its Service has {len(ports)} ports: only the first is carried over")


def _target_port(node: Node | None, container: Node) -> int | None:
    """A target port may be a number or the name of a container's port."""
    if node is None:
        return None
    if isinstance(node.value, int):
        return node.value
    ports = at(container, "ports")
    for port in ports.elements() if ports is not None else []:
        number = plain(at(port, "containerPort"))
        if text(at(port, "name")) == node.text and isinstance(number, int):
            return number
    return None


def _scaling(service: DraftService, workload: Node, found: list[Node]) -> None:
    labels = strings(at(workload, "spec", "template", "metadata", "labels"))
    for item in found:
        if kind(item) == "HorizontalPodAutoscaler" and text(at(item, "spec", "scaleTargetRef", "name")) == name(
            workload
        ):
            scaling = _autoscale(item)
            if scaling is not None:
                service.settings["autoscale"] = scaling
        if kind(item) == "PodDisruptionBudget":
            selector = strings(at(item, "spec", "selector", "matchLabels"))
            if selector and selector.items() <= labels.items():
                for key in ("minAvailable", "maxUnavailable"):
                    value = plain(at(item, "spec", key))
                    if isinstance(value, int):
                        service.settings["disruption"] = {key: value}


def _autoscale(item: Node) -> dict[str, int] | None:
    most = plain(at(item, "spec", "maxReplicas"))
    metrics = at(item, "spec", "metrics")
    if not isinstance(most, int):
        return None
    scaling = {"min": plain(at(item, "spec", "minReplicas")) or 1, "max": most}
    for metric in metrics.elements() if metrics is not None else []:
        share = plain(at(metric, "resource", "target", "averageUtilization"))
        if text(at(metric, "resource", "name")) == "cpu" and isinstance(share, int):
            scaling["cpu"] = share
    return scaling


def _resources(service: DraftService, container: Node) -> None:
    for group, names in (("requests", ("cpu", "memory")), ("limits", ("cpuLimit", "memoryLimit"))):
        for resource, setting in zip(("cpu", "memory"), names, strict=True):
            amount = text(at(container, "resources", group, resource))
            if amount:
                service.settings[setting] = amount


def _external_name(draft: Draft, item: Node) -> None:
    ports = at(item, "spec", "ports")
    port = plain(at(ports.elements()[0], "port")) if ports is not None and ports.elements() else None
    if name(item) in draft.services or not is_dns_label(name(item)):
        return
    service = DraftService(name(item), external=True)
    service.endpoint = {"host": text(at(item, "spec", "externalName")), "port": port if isinstance(port, int) else 443}
    if not isinstance(port, int):
        service.remarks.append("its port is not in the manifests: 443 is a guess")
    draft.services[service.name] = service


def _aliases(found: list[Node], workloads: list[Node]) -> dict[str, str]:
    """Names a workload is known by in the environment of others: its own and those of Services leading to it."""
    aliases = {name(workload): service_name(workload) for workload in workloads}
    for item in found:
        selector = strings(at(item, "spec", "selector")) if kind(item) == "Service" else {}
        for workload in workloads if selector else []:
            labels = strings(at(workload, "spec", "template", "metadata", "labels"))
            if selector.items() <= labels.items():
                aliases.setdefault(name(item), service_name(workload))
    return aliases


def _called_by(workload: Node, target: str, peers: dict[str, Node]) -> bool:
    """True if the channel between the two is the target's: affinity stands on both ends, protocols on the caller's.

    Where neither end names a protocol, the one nearer to the entry points is the caller.
    """
    other = peers.get(target)
    source = service_name(workload)
    if other is None or source not in _listed(other, AFFINITY):
        return False
    here, there = target in _listed(workload, PROTOCOLS), source in _listed(other, PROTOCOLS)
    if here != there:
        return there
    return not here and (_depth(other), target) < (_depth(workload), source)


def _listed(workload: Node, key: str) -> dict[str, Any]:
    return json_mapping(strings(at(workload, "spec", "template", "metadata", "annotations")).get(key))


def _depth(workload: Node) -> int:
    written = strings(at(workload, "spec", "template", "metadata", "labels")).get(INDEX, "")
    return whole(written, most=DEEPEST) or 0


def _own_part(priority: int, protocol: object, other: object) -> int:
    """Of a pair that calls each other, the part of the pair's priority that belongs to this direction."""
    mine, theirs = (DEFAULT_PRIORITY.get(f"{each}Route", 1) for each in (protocol, other))
    return priority * mine // (mine + theirs)


def connect(draft: Draft, workload: Node, aliases: dict[str, str], peers: dict[str, Node]) -> None:
    """Channels of a workload: static affinities if it has any, else mentions in its environment.

    `peers` are the workloads by name: a channel between two is listed by both and drawn once.
    """
    source = service_name(workload)
    annotations = strings(at(workload, "spec", "template", "metadata", "annotations"))
    hard = json_mapping(annotations.get(DEADLINES))
    deadlines = {**json_mapping(annotations.get(SOFT_DEADLINES)), **hard}
    affinity = json_mapping(annotations.get(AFFINITY))
    protocols = json_mapping(annotations.get(PROTOCOLS))
    for target, priority in affinity.items():
        if target in draft.services and _is_priority(priority) and not _called_by(workload, target, peers):
            deadline = deadlines.get(target)
            limit = deadline if _is_priority(deadline) and deadline else None
            named = f"{protocols.get(target)}Route"
            kind_of = named if named in DEFAULT_PRIORITY else "PriorityRoute"
            other = _listed(peers[target], PROTOCOLS).get(source) if target in peers and target != source else None
            both = other is not None and target in protocols
            value = _own_part(int(priority), protocols.get(target), other) if both else int(priority)
            soft = limit is not None and target not in hard
            draft.connect(DraftChannel(source, target, kind_of, value, limit, soft=soft))
    if affinity:
        return
    environment = draft.services[source].settings.get("env", {})
    names = aliases | {service: service for service in draft.services}
    ports = {alias: draft.services[target].endpoint.get("port") for alias, target in names.items()}
    for channel in mentioned(source, environment, names, ports):
        target = names[channel.target]
        if target != source:
            draft.connect(DraftChannel(source, target, channel.type, why=channel.why))


def _is_priority(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _keep_indices(draft: Draft, workloads: list[Node]) -> None:
    """Where the manifests' index is not what the channels give, it was somebody's wish: keep it."""
    pairs = {(channel.source, channel.target): channel.priority or 0 for channel in draft.channels}
    computed = order(list(draft.services), pairs).index
    for workload in workloads:
        labels = strings(at(workload, "spec", "template", "metadata", "labels"))
        written = whole(labels.get(INDEX, ""), most=DEEPEST)
        service = service_name(workload)
        if written is not None and written != computed[service]:
            draft.services[service].settings["index"] = written
