"""From a topology to an application: services, services outside the cluster, and channels.

This is where the profile's types get their meaning, and where values that TOSCA accepts but Kubernetes would refuse
(names, labels, quantities) are found while their place in the file is still known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecotone.manifests.yaml.positions import Node, collector_paused
from ecotone.tosca.language.checks import Checks, is_dns_label, label_value_from
from ecotone.tosca.language.definitions import EntityType
from ecotone.tosca.language.functions import Properties
from ecotone.tosca.language.problems import Problems
from ecotone.tosca.language.template import ServiceTemplate, examine, open_template
from ecotone.tosca.language.topology import NodeTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILE = "ecotone/profile.yaml"
MILLISECONDS = 1000
ASYNCHRONOUS = ("Asynchronous", "HTTPServerPush", "AMQP")


@dataclass(frozen=True, slots=True)
class Service:
    """One service of the application, in or outside the cluster, with what the profile lets one say about it."""

    name: str
    external: bool
    settings: dict[str, Any] = field(default_factory=dict)
    """The `deployment` or `proxy` properties."""
    endpoint: dict[str, Any] = field(default_factory=dict)
    """The `service` or `endpoint` properties."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def fixed_index(self) -> int | None:
        return self.settings.get("index")


@dataclass(frozen=True, slots=True)
class Channel:
    """One way in which a service uses another."""

    source: str
    target: str
    type: str
    priority: int
    deadline_ms: float | int | None = None
    protocol: str | None = None
    """The profile's own type nearest to `type`, without `Route`; None for a plain PriorityRoute."""
    soft: bool = False
    """True if the deadline may be missed at a price."""

    @property
    def asynchronous(self) -> bool:
        return self.protocol in ASYNCHRONOUS


@dataclass(frozen=True, slots=True)
class Application:
    """Services and channels under one name, which is the app-group in the cluster."""

    name: str
    services: tuple[Service, ...]
    channels: tuple[Channel, ...]
    notes: tuple[str, ...] = ()


def load_application(
    path: str | Path,
    *,
    inputs: Mapping[str, Node] | None = None,
    name: str | None = None,
    root: Path | None = None,
) -> Application:
    """Read and check a template file as an application; imports stay below `root` (else the template's folder)."""
    with collector_paused():
        return application_of(open_template(path, inputs=inputs, root=root), name=name)


def parse_application(
    text: str | bytes, *, file: str = "<template>", inputs: Mapping[str, Node] | None = None, name: str | None = None
) -> Application:
    """Read and check a template given as text; only bundled profiles can be imported."""
    return application_of(examine(text, name=file, folder=None, inputs=inputs), name=name)


def application_of(template: ServiceTemplate, *, name: str | None = None) -> Application:
    """What a template means; everything Kubernetes would refuse is raised at once."""
    reader = _Reader(template.problems)
    group = name if name is not None else _group(template)
    services = []
    for node in template.topology.nodes.values():
        service = reader.service(node)
        if service is not None:
            services.append(service)
    known = {service.name for service in services}
    channels = [channel for node in template.topology.nodes.values() for channel in reader.channels(node, known)]
    template.problems.raise_if_any()
    return Application(group, tuple(services), tuple(channels), tuple(template.notes))


def _group(template: ServiceTemplate) -> str:
    """The template's name where it can be an app-group, the nearest name that can where not: TOSCA allows more in names.

    A file of types alone makes no group, so there is nothing to say about its name.
    """
    group = template.name if is_dns_label(template.name) else label_value_from(template.name)
    metadata = template.file.root.get("metadata")
    named = metadata.get("template_name") if metadata is not None else None
    if named is not None and named.value == template.name != group and template.topology.nodes:
        template.problems.note(named, f"the app-group of `{template.name}` is called `{group}`: labels allow no more")
    return group


def _is(entity: EntityType, name: str) -> bool:
    return any(ancestor.name == name and ancestor.at.file == PROFILE for ancestor in entity.lineage())


class _Reader:
    """Reads the profile's capabilities off node templates."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._checks = Checks(problems)

    def service(self, node: NodeTemplate) -> Service | None:
        if _is(node.type, "ExternalService"):
            return self._external(node)
        if _is(node.type, "Service"):
            return self._internal(node)
        self._problems.note(node.at, f"`{node.name}` is neither a Service nor an ExternalService and is left out")
        return None

    def _internal(self, node: NodeTemplate) -> Service:
        deployment = node.capabilities["deployment"].properties
        port = node.capabilities["service"].properties
        self._checks.workload(deployment)
        self._checks.deployment(deployment)
        if port.get("port") is None and (port.get("targetPort") is not None or port.get("nodePort") is not None):
            at = port.place("targetPort" if port.get("targetPort") is not None else "nodePort")
            self._problems.report(at, f"`{node.name}` has a targetPort or nodePort but no port", hint="add `port`")
        return self._made(node, False, deployment, port)

    def _external(self, node: NodeTemplate) -> Service:
        proxy = node.capabilities["proxy"].properties
        endpoint = node.capabilities["endpoint"].properties
        self._checks.workload(proxy)
        self._checks.labels(proxy, "near")
        self._checks.host(endpoint, "host")
        return self._made(node, True, proxy, endpoint)

    def _made(self, node: NodeTemplate, external: bool, settings: Properties, endpoint: Properties) -> Service:
        metadata = node.capabilities["metadata"].properties
        self._checks.name(node.name, node.at)
        self._checks.labels(metadata, "labels", reserved=True)
        self._checks.annotations(metadata, "annotations")
        return Service(
            node.name,
            external,
            settings.values(),
            endpoint.values(),
            metadata.get("labels") or {},
            metadata.get("annotations") or {},
        )

    def channels(self, node: NodeTemplate, known: set[str]) -> list[Channel]:
        found = []
        for requirement in node.requirements:
            relationship, target = requirement.relationship, requirement.target
            if relationship is None or target is None or not _is(relationship, "PriorityRoute"):
                continue
            if node.name not in known or target.name not in known:
                self._problems.note(requirement.at, f"the route to `{target.name}` is left out: it is no service")
                continue
            deadline = requirement.properties.get("deadline")
            found.append(
                Channel(
                    node.name,
                    target.name,
                    relationship.name,
                    requirement.properties.get("priority") or 0,
                    _number(deadline.base * MILLISECONDS) if deadline is not None else None,
                    _protocol(relationship),
                    soft=bool(requirement.properties.get("soft")),
                )
            )
        return found


def _protocol(relationship: EntityType) -> str | None:
    own = next(ancestor for ancestor in relationship.lineage() if ancestor.at.file == PROFILE)
    return own.name.removesuffix("Route") if own.name != "PriorityRoute" else None


def _number(value: Fraction) -> float | int:
    return int(value) if value.denominator == 1 else float(value)
