"""What types are made of, once read: schemas, properties, capabilities, requirements.

These are the flattened results: a type already holds everything it inherits, refined on the way down, so that nobody
after the type reader has to walk `derived_from` again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.scalars import UNITS, Range

if TYPE_CHECKING:
    from ecotone.tosca.language.constraints import Constraint

PRIMITIVES = frozenset(
    {"string", "integer", "float", "boolean", "timestamp", "null", "version", "range", "list", "map"}
)
PRIMITIVES |= UNITS.keys()
ONCE = Range(1, 1)


@dataclass(slots=True, eq=False)
class EntityType:
    """A node, capability, relationship or data type with all it inherits."""

    kind: str
    name: str
    at: Node
    parent: EntityType | None = None
    properties: dict[str, PropertyDef] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    capabilities: dict[str, CapabilityDef] = field(default_factory=dict)
    requirements: dict[str, RequirementDef] = field(default_factory=dict)
    valid_types: list[EntityType] = field(default_factory=list)
    primitive: str | None = None
    constraints: list[Constraint] = field(default_factory=list)
    entry: Schema | None = None

    def lineage(self) -> Iterator[EntityType]:
        """The type itself, then its ancestors."""
        current: EntityType | None = self
        while current is not None:
            yield current
            current = current.parent

    def derives_from(self, other: EntityType) -> bool:
        return any(ancestor is other for ancestor in self.lineage())

    def is_a(self, name: str) -> bool:
        return any(ancestor.name == name for ancestor in self.lineage())


@dataclass(slots=True, eq=False)
class Schema:
    """The type of a value: a primitive's name or a data type, narrowed by constraints."""

    type: str | EntityType
    at: Node
    constraints: list[Constraint] = field(default_factory=list)
    entry: Schema | None = None
    key: Schema | None = None

    @property
    def primitive(self) -> str | None:
        """The built-in type underneath; None for a data type with properties."""
        return self.type if isinstance(self.type, str) else self.type.primitive

    @property
    def shown(self) -> str:
        return self.type if isinstance(self.type, str) else self.type.name

    def accepts(self, narrower: Schema) -> bool:
        """May a redefinition use `narrower` in place of this? Only the same type or one derived from it."""
        if isinstance(self.type, EntityType) and isinstance(narrower.type, EntityType):
            return narrower.type.derives_from(self.type)
        if isinstance(self.type, str):
            return self.type == narrower.primitive
        return False


@dataclass(slots=True, eq=False)
class PropertyDef:
    """A property a type declares."""

    name: str
    schema: Schema
    required: bool
    default: Node | None
    default_is_static: bool = True


@dataclass(slots=True, eq=False)
class CapabilityDef:
    """A capability a node type offers, with its type's properties as refined there."""

    name: str
    type: EntityType
    properties: dict[str, PropertyDef]
    valid_sources: list[EntityType]
    at: Node


@dataclass(slots=True, eq=False)
class RequirementDef:
    """What a node type needs from others, how often, and by which kind of relationship."""

    name: str
    at: Node
    capability: EntityType | None = None
    node: EntityType | None = None
    relationship: EntityType | None = None
    occurrences: Range = ONCE
