"""The topology: node templates, their capabilities and requirements, resolved.

Reading goes in steps over the whole topology, because everything may refer to everything: inputs, then every node's
type, then where each requirement leads, and only then values, which may call `get_property` on any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.constraints import INVALID
from ecotone.tosca.language.definitions import EntityType, PropertyDef
from ecotone.tosca.language.files import SourceFile
from ecotone.tosca.language.functions import Context, Evaluator, Properties
from ecotone.tosca.language.grammar import (
    CAPABILITY_ASSIGNMENT,
    GROUP,
    NODE_TEMPLATE,
    PARAMETER,
    POLICY,
    RELATIONSHIP_TEMPLATE,
    TOPOLOGY,
    Shape,
)
from ecotone.tosca.language.requirements import Requirement, RequirementReader
from ecotone.tosca.language.types import TypeTable

_DIRECTIVES = ("create", "select", "selectable", "substitute", "substitutable")


@dataclass(slots=True, eq=False)
class Capability:
    """A capability of a node template with its values."""

    name: str
    type: EntityType
    properties: Properties
    at: Node
    valid_sources: list[EntityType]


@dataclass(slots=True, eq=False)
class NodeTemplate:
    """One node of the topology."""

    name: str
    type: EntityType
    at: Node
    node: Node
    properties: Properties
    capabilities: dict[str, Capability] = field(default_factory=dict)
    requirements: list[Requirement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class RelationshipTemplate:
    """A relationship described once, to be named by requirements."""

    name: str
    type: EntityType
    at: Node
    assigned: Node | None


class Topology:
    """Everything under `topology_template`, as one file declares it."""

    def __init__(self, file: SourceFile, types: TypeTable, shape: Shape, inputs: Mapping[str, Node]) -> None:
        self.file = file
        self._types = types
        self._shape = shape
        self._problems = shape.problems
        self._given = inputs
        self._evaluator = Evaluator(self, shape.problems)
        self.nodes: dict[str, NodeTemplate] = {}
        self.relationships: dict[str, RelationshipTemplate] = {}
        self._inputs: dict[str, PropertyDef] = {}
        self._input_values: dict[str, Node | None] = {}

    def read(self) -> None:
        root = self.file.root.get("topology_template")
        if root is None:
            self._check_given()
            return
        if not self._shape.keyed(root, TOPOLOGY, "the topology template"):
            return
        self._shape.common(root, "the topology template")
        self._read_inputs(root)
        self._read_relationships(root)
        self._read_nodes(root)
        RequirementReader(self, self._types, self._shape, self.properties).read()
        for node in self.nodes.values():
            self._settle(node)
        self._read_groups(root)
        for ignored in ("outputs", "substitution_mappings", "workflows"):
            key = root.key(ignored)
            if key is not None:
                self._problems.note(key, f"`{ignored}` is read and ignored: it has no meaning before deployment")

    def declared(self, section: str) -> list[str]:
        """The names of all templates in a section, sound or not."""
        root = self.file.root.get("topology_template")
        templates = root.get(section) if root is not None else None
        return templates.keys() if templates is not None else []

    def properties(
        self, definitions: dict[str, PropertyDef], assigned: Node | None, *, what: str, at: Node
    ) -> Properties:
        """A property set tied to this topology's evaluator."""
        if assigned is not None and not self._shape.mapping(assigned, f"the properties of {what}"):
            assigned = None
        return Properties(
            definitions,
            assigned,
            what=what,
            at=at,
            evaluator=self._evaluator,
            checker=self._types.checker,
            problems=self._problems,
        )

    def _read_inputs(self, root: Node) -> None:
        for key, node in self._shape.section(root, "inputs", "inputs"):
            definition = self._types.property(key, node, None, self.file, keys=PARAMETER, noun="input")
            if definition is not None:
                self._inputs[key.text] = definition
        self._check_given()
        for key, _ in self._shape.section(root, "inputs", "inputs"):
            definition = self._inputs.get(key.text)
            if definition is None:
                continue
            given = self._given.get(key.text) or definition.default
            if given is None and definition.required:
                self._problems.report(
                    key,
                    f"the input `{key.text}` has no value and no default",
                    hint=f"give it: --input {key.text}=VALUE",
                )
            value = None
            if given is not None:
                what = f"the input `{key.text}`"
                checked = self._types.checker.check(given, definition.schema, what)
                value = None if checked is INVALID else given
            self._input_values[key.text] = value

    def _check_given(self) -> None:
        for name, node in self._given.items():
            if name not in self._inputs:
                self._problems.unknown(node, "input", name, self._inputs)

    def input_value(self, word: Node) -> Node | None:
        """What an input stands for; None when its error is known or reported here."""
        if word.text not in self._input_values:
            if word.text not in self._inputs:
                self._problems.unknown(word, "input", word.text, self._inputs)
            return None
        value = self._input_values[word.text]
        if value is None and not self._inputs[word.text].required and self._inputs[word.text].default is None:
            self._problems.report(word, f"the input `{word.text}` has no value")
        return value

    def _read_relationships(self, root: Node) -> None:
        templates = root.get("relationship_templates")
        if templates is None or not self._shape.mapping(templates, "relationship_templates"):
            return
        for key, node in templates.entries():
            merged = self._copied(key, node, templates, "relationship template")
            entity = self._template_type(key, merged, "relationship") if merged is not None else None
            if entity is not None and merged is not None:
                self.relationships[key.text] = RelationshipTemplate(key.text, entity, key, merged.get("properties"))

    def _template_type(self, key: Node, node: Node, kind: str) -> EntityType | None:
        named = node.get("type")
        if named is None:
            self._problems.report(key, f"the {kind} template `{key.text}` needs a `type`")
            return None
        return self._types.find(self.file, kind, named)

    def _copied(self, key: Node, node: Node, siblings: Node, noun: str) -> Node | None:
        """The template with everything `copy` brings in; own keys win."""
        keys = NODE_TEMPLATE if noun == "node template" else RELATIONSHIP_TEMPLATE
        if not self._shape.keyed(node, keys, f"the {noun} `{key.text}`"):
            return None
        self._shape.common(node, f"the {noun} `{key.text}`")
        seen = [key.text]
        merged = dict(node.value)
        while (link := merged.pop("copy", None)) is not None:
            word = self._shape.text(link[1], "copy")
            if word is None:
                return None
            origin = siblings.get(word)
            if origin is None or not origin.is_mapping:
                self._problems.unknown(link[1], noun, word, siblings.keys())
                return None
            if word in seen:
                self._problems.report(link[1], f"the {noun} `{key.text}` copies itself: {' -> '.join([*seen, word])}")
                return None
            seen.append(word)
            merged = _overlaid(merged, origin.value)
        copy = Node("mapping", merged, file=node.file, line=node.line, column=node.column)
        return copy if len(seen) > 1 else node

    def _read_nodes(self, root: Node) -> None:
        templates = root.get("node_templates")
        if templates is None or not self._shape.mapping(templates, "node_templates"):
            return
        for key, node in templates.entries():
            merged = self._copied(key, node, templates, "node template")
            entity = self._template_type(key, merged, "node") if merged is not None else None
            if entity is None or merged is None:
                continue
            self.nodes[key.text] = self._node(key, merged, entity)

    def _node(self, key: Node, node: Node, entity: EntityType) -> NodeTemplate:
        what = f"the node template `{key.text}`"
        properties = self.properties(entity.properties, node.get("properties"), what=what, at=key)
        template = NodeTemplate(key.text, entity, key, node, properties)
        properties.context = Context(owner=template, properties=properties)
        self._read_capabilities(template)
        self._check_misplaced(template)
        self._check_attributes(node, entity.attributes | entity.properties.keys(), what)
        for ignored in ("interfaces", "artifacts", "node_filter"):
            at = node.key(ignored)
            if at is not None:
                self._problems.note(at, f"`{ignored}` of {what} is read and ignored")
        directives = node.get("directives")
        if directives is not None:
            for element in self._shape.sequence(directives, "directives"):
                word = self._shape.text(element, "a directive")
                if word is not None and word not in _DIRECTIVES:
                    self._problems.unknown(element, "directive", word, _DIRECTIVES)
        return template

    def _check_misplaced(self, template: NodeTemplate) -> None:
        """A property that one of the node's capabilities has was meant for it."""
        assigned = template.properties.assigned
        for name, (key, _) in assigned.value.items() if assigned is not None else ():
            owners = [c.name for c in template.capabilities.values() if name in c.properties.definitions]
            if name not in template.properties.definitions and owners:
                message = f"unknown property `{name}` of {template.properties.what}"
                self._problems.report(key, message, hint=f"it is a property of the capability `{owners[0]}`")

    def _check_attributes(self, node: Node, known: set[str], what: str) -> None:
        for key, _ in self._shape.section(node, "attributes", f"the attributes of {what}"):
            if key.text not in known:
                self._problems.unknown(key, "attribute", key.text, known, of=f"of {what}")

    def _read_capabilities(self, template: NodeTemplate) -> None:
        section = template.node.get("capabilities")
        if section is not None and not self._shape.mapping(section, f"the capabilities of `{template.name}`"):
            section = None
        definitions = template.type.capabilities
        for key, _ in section.entries() if section is not None else ():
            if key.text not in definitions:
                self._problems.unknown(key, "capability", key.text, definitions, of=f"of `{template.name}`")
        for name, definition in definitions.items():
            what = f"the capability `{name}` of `{template.name}`"
            given = section.get(name) if section is not None else None
            at = (section.key(name) if section is not None else None) or template.at
            assigned = None
            if given is not None and self._shape.keyed(given, CAPABILITY_ASSIGNMENT, what):
                assigned = given.get("properties")
                self._check_attributes(given, definition.type.attributes | definition.properties.keys(), what)
            properties = self.properties(definition.properties, assigned, what=what, at=at)
            properties.context = Context(owner=template, properties=properties)
            template.capabilities[name] = Capability(name, definition.type, properties, at, definition.valid_sources)

    def _settle(self, node: NodeTemplate) -> None:
        node.properties.settle()
        for capability in node.capabilities.values():
            capability.properties.settle()
        for requirement in node.requirements:
            requirement.properties.settle()

    def _read_groups(self, root: Node) -> None:
        """Groups and policies do not change the application, but the names in them must be right."""
        for key, node in self._shape.section(root, "groups", "groups"):
            self._check_grouping(key, node, "group", GROUP, "members")
        policies = root.get("policies")
        for key, node in self._shape.sequenced(policies, "policies") if policies is not None else ():
            self._check_grouping(key, node, "policy", POLICY, "targets")

    def _check_grouping(self, key: Node, node: Node, kind: str, keys: frozenset[str], members: str) -> None:
        if not self._shape.keyed(node, keys, f"the {kind} `{key.text}`"):
            return
        self._problems.note(key, f"the {kind} `{key.text}` is read and ignored")
        self._template_type(key, node, kind)
        listed = node.get(members)
        groups = self.file.root.get("topology_template")
        names: set[str] = set(self.nodes)
        if kind == "policy" and groups is not None and groups.get("groups") is not None:
            names |= set((groups.get("groups") or node).keys())
        for element in self._shape.sequence(listed, members) if listed is not None else ():
            word = self._shape.text(element, f"each of the {members}")
            if word is not None and word not in names:
                self._problems.unknown(element, "node template", word, names)


def _overlaid(own: dict[str, tuple[Node, Node]], base: dict[str, tuple[Node, Node]]) -> dict[str, tuple[Node, Node]]:
    """Two mappings as one: own values win, mappings inside are joined the same way."""
    result = dict(own)
    for name, (key, value) in base.items():
        if name not in result:
            result[name] = (key, value)
        elif result[name][1].is_mapping and value.is_mapping:
            mine = result[name][1]
            joined = _overlaid(mine.value, value.value)
            result[name] = (
                result[name][0],
                Node("mapping", joined, file=mine.file, line=mine.line, column=mine.column),
            )
    return result
