"""A draft of a template, and how it is written.

The written template is meant for a person: block style, one property per line, the reason for every guessed channel
beside it. It reads back as exactly what was drafted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ecotone.tosca import emit
from ecotone.tosca.language.functions import FUNCTIONS

DEFAULT_PRIORITY = {
    "PriorityRoute": 10,
    "SynchronousRoute": 80,
    "HTTPRoute": 100,
    "gRPCRoute": 90,
    "TCPRoute": 85,
    "AsynchronousRoute": 20,
    "HTTPServerPushRoute": 40,
    "AMQPRoute": 30,
}


@dataclass(slots=True)
class DraftService:
    """A service with the properties to write, per capability."""

    name: str
    external: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    endpoint: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DraftChannel:
    """A channel; `why` becomes a comment when it was a guess."""

    source: str
    target: str
    type: str
    priority: int | None = None
    deadline_ms: float | int | None = None
    why: str = ""
    soft: bool = False


@dataclass(slots=True)
class Draft:
    """Everything an importer found."""

    name: str
    services: dict[str, DraftService] = field(default_factory=dict)
    channels: list[DraftChannel] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What concerns the whole, above everything else in the file."""

    def connect(self, channel: DraftChannel) -> None:
        """Add a channel unless the pair is connected already: explicit knowledge comes before guesses."""
        if not any(known.target == channel.target for known in self.leaving(channel.source)):
            self.channels.append(channel)

    def leaving(self, name: str) -> list[DraftChannel]:
        return [channel for channel in self.channels if channel.source == name]

    def as_template(self) -> str:
        """The template's text."""
        lines = [
            *map(_comment, self.remarks),
            "tosca_definitions_version: tosca_simple_yaml_1_3",
            "",
            "metadata:",
            f"  template_name: {emit.text(self.name)}",
            "",
            "imports:",
            "- file: ecotone/profile.yaml",
            "",
            "topology_template:",
        ]
        templates = {service.name: _template(service) for service in self.services.values()}
        inputs: dict[str, Any] = {}
        for name, template in templates.items():
            _set_apart(name, template, inputs)
        if inputs:
            lines += ["  inputs:", *_indented(emit.document(inputs), "    ")]
        if not self.services:
            return "\n".join([*lines, "  node_templates: {}"]) + "\n"
        lines.append("  node_templates:")
        for service in self.services.values():
            lines.append("")
            lines += [f"    {_comment(remark)}" for remark in service.remarks]
            lines.append(f"    {emit.text(service.name)}:")
            lines += _indented(emit.document(templates[service.name]), "      ")
            lines += self._routes(service.name)
        return "\n".join(lines) + "\n"

    def _routes(self, name: str) -> list[str]:
        routes = [channel for channel in self.channels if channel.source == name]
        lines = ["      requirements:"] if routes else []
        for channel in routes:
            if channel.why:
                lines.append(f"      {_comment(channel.why)}")
            lines += _indented(emit.document([{"route": _route(channel)}]), "      ")
        return lines


def _comment(text: str) -> str:
    """One line whatever it quotes: remarks repeat words of files, which must not end the comment."""
    return "# " + "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))


def _template(service: DraftService) -> dict[str, Any]:
    capabilities: dict[str, Any] = {}
    metadata = {
        key: value for key, value in (("labels", service.labels), ("annotations", service.annotations)) if value
    }
    names = ("proxy", "endpoint") if service.external else ("deployment", "service")
    for name, properties in (("metadata", metadata), (names[0], service.settings), (names[1], service.endpoint)):
        if properties:
            capabilities[name] = {"properties": dict(properties)}
    template: dict[str, Any] = {"type": "ExternalService" if service.external else "Service"}
    if capabilities:
        template["capabilities"] = capabilities
    return template


def _set_apart(service: str, template: dict[str, Any], inputs: dict[str, Any]) -> None:
    """A single label called `token` would be read as a call of that function; as an input's default it is what it is."""
    for capability in template.get("capabilities", {}).values():
        properties = capability["properties"]
        for name, value in properties.items():
            if isinstance(value, dict) and len(value) == 1 and not FUNCTIONS.isdisjoint(value):
                chosen = f"{service}-{name}"
                inputs[chosen] = {"type": "map", "entry_schema": {"type": "string"}, "default": value}
                properties[name] = {"get_input": chosen}


def _route(channel: DraftChannel) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if channel.priority is not None and channel.priority != DEFAULT_PRIORITY.get(channel.type):
        properties["priority"] = channel.priority
    if channel.deadline_ms is not None:
        properties["deadline"] = f"{channel.deadline_ms:.12g} ms"
        if channel.soft:
            properties["soft"] = True
    relationship: Any = {"type": channel.type, "properties": properties} if properties else channel.type
    return {"node": channel.target, "relationship": relationship}


def _indented(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}" for line in text.splitlines()]
