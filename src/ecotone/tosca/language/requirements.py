"""Requirements: which node, which capability, by which relationship.

A requirement may name a node template or only a node type; a relationship may be named, inline, or left to the type's
definition. All forms end in one `Requirement` that says where it leads. When a type is named and several templates fit,
the choice would be arbitrary, so that is an error that asks for a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.definitions import EntityType, PropertyDef, RequirementDef
from ecotone.tosca.language.functions import Context, Properties
from ecotone.tosca.language.grammar import RELATIONSHIP_ASSIGNMENT, REQUIREMENT_ASSIGNMENT, Shape
from ecotone.tosca.language.types import TypeTable

if TYPE_CHECKING:
    from ecotone.tosca.language.topology import NodeTemplate, Topology


class MakeProperties(Protocol):
    """Creates a property set that can call the topology's functions."""

    def __call__(
        self, definitions: dict[str, PropertyDef], assigned: Node | None, *, what: str, at: Node
    ) -> Properties: ...


@dataclass(slots=True, eq=False)
class Requirement:
    """One assigned requirement and where it leads."""

    name: str
    at: Node
    target: NodeTemplate | None
    capability: str | None
    relationship: EntityType | None
    properties: Properties


class RequirementReader:
    """Reads the requirements of every node template once all of them are known."""

    def __init__(self, topology: Topology, types: TypeTable, shape: Shape, properties: MakeProperties) -> None:
        self._topology = topology
        self._types = types
        self._shape = shape
        self._problems = shape.problems
        self._properties = properties

    def read(self) -> None:
        for node in self._topology.nodes.values():
            section = node.node.get("requirements")
            if section is not None:
                for key, given in self._shape.sequenced(section, f"the requirements of `{node.name}`"):
                    self._assign(node, key, given)
            self._check_counts(node)

    def _check_counts(self, node: NodeTemplate) -> None:
        for definition in node.type.requirements.values():
            assigned = [r for r in node.requirements if r.name == definition.name]
            if not assigned and definition.occurrences.lower == 1:
                self._imply(node, definition)
            elif len(assigned) not in definition.occurrences:
                last = assigned[-1].at if assigned else node.at
                self._problems.report(
                    last,
                    f"`{node.name}` has {len(assigned)} requirements `{definition.name}`, "
                    f"its type wants {definition.occurrences}",
                )

    def _imply(self, node: NodeTemplate, definition: RequirementDef) -> None:
        """A requirement that must be there and is not written: it leads to the only node that fits, if there is one."""
        what = f"the requirement `{definition.name}` of `{node.name}`"
        target, capability = self._choose(definition, definition.node, None, what, node.at)
        if target is None:
            return
        relationship = definition.relationship
        properties = self._properties(relationship.properties if relationship else {}, None, what=what, at=node.at)
        properties.context = Context(properties=properties, source=node, target=target)
        implied = Requirement(definition.name, node.at, target, capability, relationship, properties)
        node.requirements.append(implied)
        self._check_ends(node, implied, node.at)

    def _assign(self, node: NodeTemplate, key: Node, given: Node) -> None:
        definition = node.type.requirements.get(key.text)
        if definition is None:
            self._problems.unknown(key, "requirement", key.text, node.type.requirements, of=f"of `{node.name}`")
            return
        what = f"the requirement `{key.text}` of `{node.name}`"
        if not given.is_scalar and not self._shape.keyed(given, REQUIREMENT_ASSIGNMENT, what):
            return
        named = given if given.is_scalar else given.get("node")
        occurrences = given.get("occurrences")
        if occurrences is not None:
            self._types.occurrences(occurrences)
        relationship, assigned, at = self._relationship(definition, given, what)
        definitions = relationship.properties if relationship is not None else {}
        requirement = Requirement(
            key.text, key, None, None, relationship, self._properties(definitions, assigned, what=what, at=at)
        )
        node.requirements.append(requirement)
        if named is not None and (named.is_null or self._shape.text(named, f"the node of {what}") is None):
            if named.is_null:
                self._problems.report(key, f"{what} names no node")
            return
        requirement.target, requirement.capability = self._target(definition, named, given, what, key)
        requirement.properties.context = Context(
            properties=requirement.properties, source=node, target=requirement.target
        )
        self._check_ends(node, requirement, named or key)

    def _relationship(
        self, definition: RequirementDef, given: Node, what: str
    ) -> tuple[EntityType | None, Node | None, Node]:
        """The relationship's type, its assigned properties, and where to report about it."""
        node = given.get("relationship") if given.is_mapping else None
        if node is None:
            return definition.relationship, None, definition.at if given.is_null else given
        if node.is_mapping:
            if not self._shape.keyed(node, RELATIONSHIP_ASSIGNMENT, f"the relationship of {what}"):
                return None, None, node
            named, assigned = node.get("type"), node.get("properties")
            if named is None:
                return definition.relationship, assigned, node
        else:
            named, assigned = node, None
        word = self._shape.text(named, f"the relationship of {what}")
        if word is None:
            return None, None, node
        template = self._topology.relationships.get(word)
        if template is not None and node.is_scalar:
            entity: EntityType | None = template.type
            assigned = template.assigned
        else:
            file = self._topology.file
            if word in self._topology.declared("relationship_templates"):
                return None, None, node
            if file.find("relationship", word) is None:
                valid = [*self._topology.relationships, *file.visible("relationship")]
                self._problems.unknown(named, "relationship type or template", word, valid)
                return None, None, node
            entity = self._types.find(file, "relationship", named)
        base = definition.relationship
        if entity is not None and base is not None and not entity.derives_from(base):
            self._problems.report(named, f"`{word}` does not derive from `{base.name}`, which {what} wants")
            return None, None, node
        return entity, assigned, node

    def _target(
        self, definition: RequirementDef, named: Node | None, given: Node, what: str, key: Node
    ) -> tuple[NodeTemplate | None, str | None]:
        wanted = given.get("capability") if given.is_mapping else None
        if named is not None and named.value in self._topology.nodes:
            target = self._topology.nodes[named.value]
            if definition.node is not None and not target.type.derives_from(definition.node):
                self._problems.report(named, f"`{target.name}` is no `{definition.node.name}`, which {what} wants")
                return None, None
            return target, self._capability(target, definition, wanted, what, named)
        kind = definition.node
        if named is not None:
            if self._topology.file.find("node", named.value) is None:
                declared = self._topology.declared("node_templates")
                if named.value not in declared:
                    self._problems.unknown(named, "node template", named.value, declared)
                return None, None
            kind = self._types.find(self._topology.file, "node", named)
        return self._choose(definition, kind, wanted, what, named or key)

    def _choose(
        self,
        definition: RequirementDef,
        kind: EntityType | None,
        wanted: Node | None,
        what: str,
        at: Node,
    ) -> tuple[NodeTemplate | None, str | None]:
        """No template is named: take the only one that fits."""
        fitting = [
            other
            for other in self._topology.nodes.values()
            if (kind is None or other.type.derives_from(kind))
            and next(self._matching(other, definition, wanted), None) is not None
        ]
        if len(fitting) == 1:
            return fitting[0], next(self._matching(fitting[0], definition, wanted))
        names = ", ".join(f"`{other.name}`" for other in fitting[:5])
        problem = f"several fit: {names}" if fitting else "none fits"
        self._problems.report(at, f"{what} names no node template, and {problem}", hint="write `node: NAME`")
        return None, None

    def _capability(
        self, target: NodeTemplate, definition: RequirementDef, wanted: Node | None, what: str, at: Node
    ) -> str | None:
        found = next(self._matching(target, definition, wanted), None)
        if found is not None:
            return found
        if wanted is not None and wanted.is_scalar and wanted.text in target.capabilities:
            kind = definition.capability.name if definition.capability is not None else "?"
            self._problems.report(wanted, f"the capability `{wanted.text}` of `{target.name}` is no `{kind}`")
        elif wanted is not None:
            word = wanted.text or wanted.describe()
            self._problems.unknown(wanted, "capability", word, target.capabilities, of=f"of `{target.name}`")
        else:
            kind = definition.capability.name if definition.capability is not None else "?"
            self._problems.report(at, f"`{target.name}` offers no capability `{kind}`, which {what} wants")
        return None

    def _matching(self, target: NodeTemplate, definition: RequirementDef, wanted: Node | None) -> Iterator[str]:
        for name, capability in target.capabilities.items():
            if definition.capability is not None and not capability.type.derives_from(definition.capability):
                continue
            if wanted is None or wanted.value == name or capability.type.is_a(str(wanted.value)):
                yield name

    def _check_ends(self, node: NodeTemplate, requirement: Requirement, at: Node) -> None:
        target, relationship = requirement.target, requirement.relationship
        if target is None or requirement.capability is None:
            return
        capability = target.capabilities[requirement.capability]
        allowed = relationship.valid_types if relationship is not None else []
        if allowed and not any(capability.type.derives_from(valid) for valid in allowed):
            names = ", ".join(valid.name for valid in allowed)
            kind = relationship.name if relationship is not None else ""
            self._problems.report(at, f"a `{kind}` cannot lead to `{capability.type.name}`, only to {names}")
        if capability.valid_sources and not any(node.type.derives_from(valid) for valid in capability.valid_sources):
            names = ", ".join(valid.name for valid in capability.valid_sources)
            self._problems.report(
                at, f"`{node.name}` may not use the capability `{capability.name}` of `{target.name}`, only {names} may"
            )
