"""The application graph: what `tosca graph` prints and everything downstream reads.

The JSON form is also a store: written once, it answers queries later without the template (see `query`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecotone.manifests.yaml.positions import Node, load_document
from ecotone.model.errors import InputError
from ecotone.tosca.application import Application, Channel
from ecotone.tosca.language.files import LIMITS, read_limited
from ecotone.tosca.ordering import order


@dataclass(frozen=True, slots=True)
class GraphService:
    """A service as the graph knows it."""

    name: str
    external: bool
    index: int
    replicas: int = 1
    image: str | None = None


@dataclass(frozen=True, slots=True)
class ApplicationGraph:
    """Services with their index, channels, and the circles that were broken to compute it."""

    name: str
    services: tuple[GraphService, ...]
    channels: tuple[Channel, ...]
    broken: tuple[tuple[str, str], ...] = ()

    def index(self) -> dict[str, int]:
        return {service.name: service.index for service in self.services}

    def affinity(self) -> dict[str, dict[str, int]]:
        """Static affinity: source -> target -> sum of the priorities of their channels."""
        result: dict[str, dict[str, int]] = {}
        for channel in self.channels:
            peers = result.setdefault(channel.source, {})
            peers[channel.target] = peers.get(channel.target, 0) + channel.priority
        return result

    def pair_affinity(self) -> dict[str, dict[str, int]]:
        """What pods are annotated with: a channel's priority belongs to the pair, so it stands on both ends."""
        result: dict[str, dict[str, int]] = {}
        for channel in self.channels:
            ends = ((channel.source, channel.target), (channel.target, channel.source))
            for end, other in ends[: 1 if channel.source == channel.target else 2]:
                peers = result.setdefault(end, {})
                peers[other] = peers.get(other, 0) + channel.priority
        return result

    def deadlines(self, *, soft: bool = False) -> dict[str, dict[str, float | int]]:
        """The tightest deadline per pair, in milliseconds, of the hard ones or of the soft ones."""
        result: dict[str, dict[str, float | int]] = {}
        for channel in self.channels:
            if channel.deadline_ms is not None and channel.soft == soft:
                peers = result.setdefault(channel.source, {})
                peers[channel.target] = min(peers.get(channel.target, channel.deadline_ms), channel.deadline_ms)
        return result

    def protocols(self) -> dict[str, dict[str, str]]:
        """How a pair talks; of several channels the one that waits for answers, then the one of highest priority."""
        result: dict[str, dict[str, str]] = {}
        ranked = sorted(self.channels, key=lambda channel: (not channel.asynchronous, channel.priority))
        for channel in ranked:
            if channel.protocol is not None:
                result.setdefault(channel.source, {})[channel.target] = channel.protocol
        return result

    def as_dict(self) -> dict[str, Any]:
        """The shape that `tosca graph -o json` prints."""
        return {
            "name": self.name,
            "services": [
                {
                    "name": service.name,
                    "external": service.external,
                    "index": service.index,
                    "replicas": service.replicas,
                    "image": service.image,
                }
                for service in self.services
            ],
            "channels": [
                {
                    "source": channel.source,
                    "target": channel.target,
                    "type": channel.type,
                    "priority": channel.priority,
                    "deadline_ms": channel.deadline_ms,
                    "protocol": channel.protocol,
                    **({"soft": True} if channel.soft else {}),
                }
                for channel in self.channels
            ],
        }

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)


def graph_of(application: Application) -> ApplicationGraph:
    """Index an application's services and gather its channels."""
    pairs: dict[tuple[str, str], int] = {}
    for channel in application.channels:
        pair = (channel.source, channel.target)
        pairs[pair] = pairs.get(pair, 0) + channel.priority
    ordered = order([service.name for service in application.services], pairs)
    services = tuple(
        GraphService(
            service.name,
            service.external,
            ordered.index[service.name] if service.fixed_index is None else service.fixed_index,
            service.settings.get("replicas", 1),
            service.settings.get("image"),
        )
        for service in application.services
    )
    return ApplicationGraph(application.name, services, application.channels, ordered.broken)


def read_graph(path: Path) -> ApplicationGraph:
    """A graph stored by `tosca graph`."""
    try:
        text = read_limited(path)
    except OSError as error:
        raise InputError(f"cannot read the graph: {error.strerror}", file=str(path)) from None
    root = load_document(text, file=str(path), limits=LIMITS)
    services = tuple(
        GraphService(
            _field(node, "name", str),
            _field(node, "external", bool),
            _field(node, "index", int),
            _optional(node, "replicas", 1),
            _optional(node, "image", None),
        )
        for node in _listed(root, "services")
    )
    known = {service.name for service in services}
    channels = []
    for node in _listed(root, "channels"):
        channel = Channel(
            _field(node, "source", str),
            _field(node, "target", str),
            _field(node, "type", str),
            _field(node, "priority", int),
            _optional(node, "deadline_ms", None),
            _optional(node, "protocol", None),
            soft=_optional(node, "soft", False) is True,
        )
        for end in ("source", "target"):
            if getattr(channel, end) not in known:
                raise (node.get(end) or node).error(f"unknown service `{getattr(channel, end)}`")
        channels.append(channel)
    return ApplicationGraph(_field(root, "name", str), services, tuple(channels))


def _listed(root: Node, key: str) -> list[Node]:
    section = root.get(key)
    if section is None or not section.is_sequence:
        raise (section or root).error(f"a stored graph has a list `{key}`", hint="write it with `ecotone tosca graph`")
    return section.elements()


def _field(node: Node, key: str, kind: type) -> Any:
    found = node.get(key)
    if found is None or type(found.value) is not kind:
        raise (found or node).error(f"`{key}` must be a {kind.__name__}")
    return found.value


def _optional(node: Node, key: str, otherwise: Any) -> Any:
    found = node.get(key)
    return otherwise if found is None or not found.is_scalar else found.value
