"""Types with their inheritance worked out.

A declaration becomes an `EntityType` when someone first asks for it: its ancestors first (walked with a loop, so that a
chain of thousands or a circle cannot exhaust the stack), then its own definitions refined over the inherited ones. The
standard's rule for refinement is kept strictly: a redefined property keeps its type (or one derived from it) and all
inherited constraints; it may add constraints and change the default.
"""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.manifests.spelling import nearest
from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.constraints import INVALID, Constraint, read_constraints
from ecotone.tosca.language.definitions import (
    ONCE,
    PRIMITIVES,
    CapabilityDef,
    EntityType,
    PropertyDef,
    RequirementDef,
    Schema,
)
from ecotone.tosca.language.files import Declaration, SourceFile
from ecotone.tosca.language.functions import calls_function
from ecotone.tosca.language.grammar import (
    ATTRIBUTE,
    CAPABILITY_DEFINITION,
    PROPERTY,
    REQUIREMENT_DEFINITION,
    SCHEMA,
    TYPES,
    Shape,
)
from ecotone.tosca.language.scalars import Range
from ecotone.tosca.language.values import Checker

_MODELLED = ("node", "capability", "relationship", "data")


class TypeTable:
    """Looks types up by name as a file sees them, building each once."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._problems = shape.problems
        self.checker = Checker(shape.problems)

    def find(self, file: SourceFile, kind: str, at: Node, name: str | None = None) -> EntityType | None:
        """The type named at a place; unknown names are reported with the nearest known one."""
        word = name if name is not None else self._shape.text(at, f"a {kind} type")
        if word is None:
            return None
        declaration = file.find(kind, word)
        if declaration is None:
            self._unknown(file, at, f"{kind} type", word, file.visible(kind))
            return None
        return self.resolve(declaration)

    def _unknown(self, file: SourceFile, at: Node, noun: str, word: str, valid: list[str]) -> None:
        """An unknown type; where an import failed only near misses are worth a word, the rest follows from that."""
        if not file.incomplete or nearest(word, valid, cutoff=0.8) is not None:
            self._problems.unknown(at, noun, word, valid)

    def resolve_all(self, file: SourceFile) -> None:
        """Build every type a file declares, so that errors in unused types are found too."""
        for kind in TYPES:
            for declaration in file.declared.get(kind, {}).values():
                self.resolve(declaration)

    def resolve(self, declaration: Declaration) -> EntityType | None:
        chain: list[Declaration] = []
        current: Declaration | None = declaration
        while current is not None and current.type is None and not current.broken:
            if current in chain:
                self._report_circle(chain[chain.index(current) :])
                break
            chain.append(current)
            current = self._parent(current)
        for link in reversed(chain):
            if not link.broken and link.type is None:
                self._build(link)
        return declaration.type

    def _parent(self, declaration: Declaration) -> Declaration | None:
        if not declaration.node.is_mapping:
            return None
        named = declaration.node.get("derived_from")
        if named is None or not (named.is_scalar and isinstance(named.value, str)):
            return None
        if declaration.kind == "data" and named.value in PRIMITIVES:
            return None
        return declaration.file.find(declaration.kind, named.value)

    def _report_circle(self, circle: list[Declaration]) -> None:
        names = " -> ".join([*(link.name for link in circle), circle[0].name])
        for link in circle:
            link.broken = True
            self._problems.report(
                link.node.get("derived_from") or link.key,
                f"the {link.kind} type `{link.name}` derives from itself: {names}",
            )

    def _build(self, declaration: Declaration) -> None:
        kind, node, file = declaration.kind, declaration.node, declaration.file
        what = f"the {kind} type `{declaration.name}`"
        declaration.type = built = EntityType(kind, declaration.name, declaration.key)
        if node.is_null and kind not in _MODELLED:
            return
        if not self._shape.keyed(node, TYPES[kind], what):
            return
        self._shape.common(node, what)
        parent = self._inherit(declaration, built)
        if kind == "data":
            self._build_data(built, node, file, what)
        self._build_properties(built, node, file, what)
        for key, attribute in self._shape.section(node, "attributes", f"the attributes of {what}"):
            built.attributes.add(key.text)
            if self._shape.keyed(attribute, ATTRIBUTE, f"the attribute `{key.text}`"):
                self.schema(attribute, file, f"the attribute `{key.text}`")
        if kind == "node":
            self._build_capabilities(built, parent, node, file)
            self._build_requirements(built, parent, node, file)
        for key_name, other in (("valid_target_types", "capability"), ("valid_source_types", "node")):
            listed = node.get(key_name)
            if listed is not None:
                built.valid_types = self._type_list(listed, other, file)

    def _inherit(self, declaration: Declaration, built: EntityType) -> EntityType | None:
        named = declaration.node.get("derived_from")
        if named is None:
            return None
        word = self._shape.text(named, "derived_from")
        if word is None:
            return None
        if declaration.kind == "data" and word in PRIMITIVES:
            built.primitive = word
            return None
        found = declaration.file.find(declaration.kind, word)
        if found is None:
            valid = declaration.file.visible(declaration.kind)
            if declaration.kind == "data":
                valid = [*valid, *PRIMITIVES]
            self._unknown(declaration.file, named, f"{declaration.kind} type", word, valid)
            return None
        parent = found.type
        if parent is None:
            return None
        built.parent = parent
        built.properties = dict(parent.properties)
        built.attributes = set(parent.attributes)
        built.capabilities = dict(parent.capabilities)
        built.requirements = dict(parent.requirements)
        built.valid_types = list(parent.valid_types)
        built.primitive, built.entry = parent.primitive, parent.entry
        built.constraints = list(parent.constraints)
        return parent

    def _type_list(self, node: Node, kind: str, file: SourceFile) -> list[EntityType]:
        found = (self.find(file, kind, element) for element in self._shape.sequence(node, f"a list of {kind} types"))
        return [entity for entity in found if entity is not None]

    def _build_data(self, built: EntityType, node: Node, file: SourceFile, what: str) -> None:
        entry = node.get("entry_schema")
        if entry is not None:
            built.entry = self._entry(entry, file, f"the entries of {what}")
        if built.primitive is not None and node.get("properties") is not None:
            self._problems.report(
                node.key("properties") or node, f"{what} derives from `{built.primitive}` and cannot have properties"
            )
        constraints = node.get("constraints")
        if constraints is not None:
            schema = Schema(built, built.at)
            built.constraints += self._constraints(constraints, schema)

    def _build_properties(self, built: EntityType, node: Node, file: SourceFile, what: str) -> None:
        section = node.get("properties")
        if section is not None and (built.primitive is None or built.kind != "data"):
            built.properties = self.properties(section, built.properties, file, what)

    def properties(
        self, section: Node, inherited: Mapping[str, PropertyDef], file: SourceFile, what: str
    ) -> dict[str, PropertyDef]:
        """Property definitions refined over inherited ones."""
        result = dict(inherited)
        if not self._shape.mapping(section, f"the properties of {what}"):
            return result
        for key, node in section.entries():
            definition = self.property(key, node, inherited.get(key.text), file)
            if definition is not None:
                result[key.text] = definition
        return result

    def property(
        self,
        key: Node,
        node: Node,
        inherited: PropertyDef | None,
        file: SourceFile,
        *,
        keys: frozenset[str] = PROPERTY,
        noun: str = "property",
    ) -> PropertyDef | None:
        """One property (or parameter) definition; None when nothing usable is left of it."""
        name, what = key.text, f"the {noun} `{key.text}`"
        if not self._shape.keyed(node, keys, what):
            return inherited
        self._shape.common(node, what)
        schema = self._refined(key, node, inherited, file, what)
        if schema is None:
            return inherited
        required = self._flag(node.get("required"), inherited.required if inherited is not None else True)
        default = node.get("default")
        if default is None and inherited is not None:
            default = inherited.default
        definition = PropertyDef(name, schema, required, default)
        if default is not None:
            definition.default_is_static = not calls_function(default)
            if definition.default_is_static:
                at_fault = self.checker.check(default, schema, f"the default of {what}") is INVALID
                if at_fault:
                    definition.default = None
                    definition.required = False
        return definition

    def _refined(
        self, key: Node, node: Node, inherited: PropertyDef | None, file: SourceFile, what: str
    ) -> Schema | None:
        if inherited is None:
            if node.get("type") is None:
                self._problems.report(key, f"{what} needs a `type`")
                return None
            return self.schema(node, file, what)
        before = inherited.schema
        if node.get("type") is None:
            schema = Schema(before.type, key, entry=before.entry, key=before.key)
            schema.constraints = [*before.constraints, *self._own_constraints(node, schema)]
            return schema
        own = self.schema(node, file, what)
        if own is None:
            return None
        if not before.accepts(own):
            self._problems.report(
                node.get("type") or node,
                f"{what} is redefined as `{own.shown}`, but it is inherited as `{before.shown}`",
                hint=f"a redefinition keeps the type: `{before.shown}`",
            )
            return None
        own.entry, own.key = own.entry or before.entry, own.key or before.key
        own.constraints = [*before.constraints, *own.constraints]
        return own

    def schema(self, node: Node, file: SourceFile, what: str) -> Schema | None:
        """The schema part of a definition: type, constraints, entry_schema, key_schema."""
        named = node.get("type")
        if named is None:
            self._problems.report(node, f"{what} needs a `type`")
            return None
        word = self._shape.text(named, f"the type of {what}")
        if word is None:
            return None
        kind = self._value_type(word, named, file)
        if kind is None:
            return None
        schema = Schema(kind, named)
        if isinstance(kind, EntityType) and kind.entry is not None:
            schema.entry = kind.entry
        for part in ("entry_schema", "key_schema"):
            given = node.get(part)
            if given is None:
                continue
            if schema.primitive not in ("list", "map") or (part == "key_schema" and schema.primitive != "map"):
                self._problems.report(node.key(part) or given, f"`{part}` does not apply to the type `{word}`")
                continue
            inner = self._entry(given, file, f"the {part} of {what}")
            if part == "entry_schema":
                schema.entry = inner
            else:
                schema.key = inner
        schema.constraints = self._own_constraints(node, schema)
        return schema

    def _value_type(self, word: str, at: Node, file: SourceFile) -> str | EntityType | None:
        declaration = file.find("data", word)
        if declaration is not None:
            return self.resolve(declaration)
        if word in PRIMITIVES:
            return word
        self._unknown(file, at, "type", word, [*PRIMITIVES, *file.visible("data")])
        return None

    def _entry(self, node: Node, file: SourceFile, what: str) -> Schema | None:
        if node.is_scalar:
            word = self._shape.text(node, what)
            kind = self._value_type(word, node, file) if word is not None else None
            return Schema(kind, node) if kind is not None else None
        return self.schema(node, file, what) if self._shape.keyed(node, SCHEMA, what) else None

    def _own_constraints(self, node: Node, schema: Schema) -> list[Constraint]:
        return self._constraints(node.get("constraints"), schema)

    def _constraints(self, node: Node | None, schema: Schema) -> list[Constraint]:
        bare = Schema(schema.type, schema.at, entry=schema.entry, key=schema.key)
        return read_constraints(
            node,
            primitive=schema.primitive,
            convert=lambda argument: self.checker.check(argument, bare, "the constraint's value", narrowed=False),
            problems=self._problems,
        )

    def _flag(self, node: Node | None, otherwise: bool) -> bool:
        if node is None:
            return otherwise
        if node.is_scalar and isinstance(node.value, bool):
            return node.value
        self._problems.report(node, f"`required` must be true or false, not {node.describe()}")
        return otherwise

    def _build_capabilities(self, built: EntityType, parent: EntityType | None, node: Node, file: SourceFile) -> None:
        for key, given in self._shape.section(node, "capabilities", f"the capabilities of `{built.name}`"):
            definition = self._capability(key, given, parent.capabilities.get(key.text) if parent else None, file)
            if definition is not None:
                built.capabilities[key.text] = definition

    def _capability(
        self, key: Node, given: Node, inherited: CapabilityDef | None, file: SourceFile
    ) -> CapabilityDef | None:
        what = f"the capability `{key.text}`"
        if given.is_scalar:
            entity = self.find(file, "capability", given)
        elif not self._shape.keyed(given, CAPABILITY_DEFINITION, what):
            return None
        elif given.get("type") is None and inherited is not None:
            entity = inherited.type
        elif given.get("type") is None:
            self._problems.report(key, f"{what} needs a `type`")
            return None
        else:
            entity = self.find(file, "capability", given.get("type") or given)
        if entity is None:
            return None
        properties: dict[str, PropertyDef] = dict(entity.properties)
        if inherited is not None:
            if not entity.derives_from(inherited.type):
                self._problems.report(
                    given.get("type") or given,
                    f"{what} is redefined as `{entity.name}`, which does not derive from `{inherited.type.name}`",
                )
                return None
            properties |= {n: p for n, p in inherited.properties.items() if p is not inherited.type.properties.get(n)}
        refinements = given.get("properties")
        if refinements is not None:
            properties = self.properties(refinements, properties, file, what)
        sources = given.get("valid_source_types")
        valid = self._type_list(sources, "node", file) if sources is not None else list(entity.valid_types)
        occurrences = given.get("occurrences")
        if occurrences is not None:
            self.occurrences(occurrences)
        return CapabilityDef(key.text, entity, properties, valid, key)

    def _build_requirements(self, built: EntityType, parent: EntityType | None, node: Node, file: SourceFile) -> None:
        section = node.get("requirements")
        if section is None:
            return
        seen: set[str] = set()
        for key, given in self._shape.sequenced(section, f"the requirements of `{built.name}`"):
            if key.text in seen:
                self._problems.report(key, f"the requirement `{key.text}` is declared twice")
                continue
            seen.add(key.text)
            inherited = parent.requirements.get(key.text) if parent else None
            definition = self._requirement(key, given, inherited, file)
            if definition is not None:
                built.requirements[key.text] = definition

    def _requirement(
        self, key: Node, given: Node, inherited: RequirementDef | None, file: SourceFile
    ) -> RequirementDef | None:
        what = f"the requirement `{key.text}`"
        base = inherited or RequirementDef(key.text, key)
        if given.is_scalar:
            capability = self.find(file, "capability", given)
            return RequirementDef(key.text, key, capability, base.node, base.relationship, base.occurrences)
        if not self._shape.keyed(given, REQUIREMENT_DEFINITION, what):
            return None
        if given.get("capability") is None and inherited is None:
            self._problems.report(key, f"{what} needs a `capability`")
        definition = RequirementDef(key.text, key, base.capability, base.node, base.relationship, base.occurrences)
        definition.capability = self._narrowed(given.get("capability"), "capability", base.capability, file)
        definition.node = self._narrowed(given.get("node"), "node", base.node, file)
        relationship = given.get("relationship")
        if relationship is not None and relationship.is_mapping:
            self._shape.keyed(relationship, frozenset({"type", "interfaces"}), f"the relationship of {what}")
            relationship = relationship.get("type")
        definition.relationship = self._narrowed(relationship, "relationship", base.relationship, file)
        occurrences = given.get("occurrences")
        if occurrences is not None:
            definition.occurrences = self.occurrences(occurrences)
        return definition

    def _narrowed(self, node: Node | None, kind: str, before: EntityType | None, file: SourceFile) -> EntityType | None:
        if node is None:
            return before
        entity = self.find(file, kind, node)
        if entity is not None and before is not None and not entity.derives_from(before):
            self._problems.report(node, f"the {kind} type `{entity.name}` does not derive from `{before.name}`")
            return before
        return entity if entity is not None else before

    def occurrences(self, node: Node) -> Range:
        """`[lower, upper]`, upper may be UNBOUNDED."""
        value = self.checker.check(node, Schema("range", node), "occurrences")
        if value is INVALID:
            return ONCE
        if value.lower < 0:
            self._problems.report(node, "occurrences cannot be negative")
            return ONCE
        return value if isinstance(value, Range) else ONCE
