"""The shape of a TOSCA Simple Profile 1.3 file: which keys may stand where.

The tables are the standard's keynames (chapter 3). What we read but do not act upon is still checked for its place, so
that a misspelt `interfaces` is found even though lifecycle scripts mean nothing to a scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator

from ecotone.manifests.yaml.positions import Node
from ecotone.tosca.language.problems import Problems

VERSION = "tosca_simple_yaml_1_3"


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


SERVICE_TEMPLATE = _keys(
    "tosca_definitions_version namespace metadata description dsl_definitions repositories imports artifact_types"
    " data_types capability_types interface_types relationship_types node_types group_types policy_types"
    " topology_template template_name template_author template_version"
)
TOPOLOGY = _keys(
    "description inputs node_templates relationship_templates groups policies outputs substitution_mappings workflows"
)
IMPORT = _keys("file repository namespace_uri namespace_prefix")
_TYPE = "derived_from version metadata description properties attributes"
TYPES = {
    "node": _keys(f"{_TYPE} requirements capabilities interfaces artifacts"),
    "capability": _keys(f"{_TYPE} valid_source_types"),
    "relationship": _keys(f"{_TYPE} interfaces valid_target_types"),
    "data": _keys("derived_from version metadata description properties constraints key_schema entry_schema"),
    "interface": _keys("derived_from version metadata description inputs operations notifications"),
    "artifact": _keys("derived_from version metadata description mime_type file_ext properties"),
    "group": _keys(f"{_TYPE} members interfaces"),
    "policy": _keys("derived_from version metadata description properties targets triggers"),
}
TYPE_SECTIONS = {f"{kind}_types": kind for kind in TYPES}
PROPERTY = _keys(
    "type description required default status constraints key_schema entry_schema external-schema metadata"
)
ATTRIBUTE = _keys("type description default status key_schema entry_schema constraints")
PARAMETER = PROPERTY | {"value"}
SCHEMA = _keys("type description constraints key_schema entry_schema")
CAPABILITY_DEFINITION = _keys("type description properties attributes valid_source_types occurrences")
REQUIREMENT_DEFINITION = _keys("capability node relationship occurrences description metadata")
NODE_TEMPLATE = _keys(
    "type description metadata directives properties attributes requirements capabilities interfaces artifacts"
    " node_filter copy"
)
RELATIONSHIP_TEMPLATE = _keys("type description metadata properties attributes interfaces copy")
CAPABILITY_ASSIGNMENT = _keys("properties attributes occurrences")
REQUIREMENT_ASSIGNMENT = _keys("node capability relationship node_filter occurrences")
RELATIONSHIP_ASSIGNMENT = _keys("type properties interfaces")
GROUP = _keys("type description metadata properties attributes members interfaces")
POLICY = _keys("type description metadata properties targets triggers")


class Shape:
    """Checks places: is this a mapping with known keys, a list, a text? Reports and says whether to go on."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def mapping(self, node: Node, what: str) -> bool:
        if node.is_mapping:
            return True
        self.problems.report(node, f"{what} must be a mapping, not {node.describe()}")
        return False

    def keyed(self, node: Node, keys: frozenset[str], what: str) -> bool:
        """A mapping whose keys are all known; unknown ones are reported and the rest stays usable."""
        if not self.mapping(node, what):
            return False
        for name, (key, _) in node.value.items():
            if name not in keys:
                self.problems.unknown(key, "key", name, keys, of=f"in {what}")
        return True

    def sequence(self, node: Node, what: str) -> list[Node]:
        if node.is_sequence:
            return node.elements()
        self.problems.report(node, f"{what} must be a list, not {node.describe()}")
        return []

    def text(self, node: Node | None, what: str) -> str | None:
        """A non-empty string, or None after reporting (or when absent)."""
        if node is None:
            return None
        if node.is_scalar and isinstance(node.value, str) and node.value:
            return node.value
        quoted = f'write "{node.text}"' if node.is_scalar and node.text else None
        self.problems.report(node, f"{what} must be a string, not {node.describe()}", hint=quoted)
        return None

    def section(self, parent: Node, key: str, what: str) -> Iterator[tuple[Node, Node]]:
        """The (name, definition) pairs under `key`, if any."""
        node = parent.get(key)
        if node is not None and self.mapping(node, what):
            yield from node.entries()

    def sequenced(self, node: Node, what: str) -> Iterator[tuple[Node, Node]]:
        """TOSCA's list of single-key mappings, as used for requirements and policies."""
        for element in self.sequence(node, what):
            if element.is_mapping and len(element.value) == 1:
                yield from element.entries()
            elif element.is_mapping and len(element.value) > 1:
                second = list(element.value.values())[1][0]
                self.problems.report(
                    second,
                    f"each element of {what} has one name; `{second.text}` is a second one",
                    hint="begin it with `- `",
                )
                yield from list(element.entries())[:1]
            else:
                self.problems.report(element, f"each element of {what} must be `name: ...`, not {element.describe()}")

    def common(self, node: Node, what: str) -> None:
        """Keys every entity may carry: description and metadata."""
        description = node.get("description")
        if description is not None and not (description.is_scalar and isinstance(description.value, str)):
            self.problems.report(
                description, f"the description of {what} must be a string, not {description.describe()}"
            )
        metadata = node.get("metadata")
        if metadata is not None and self.mapping(metadata, f"the metadata of {what}"):
            for _, value in metadata.entries():
                if not (value.is_scalar and isinstance(value.value, str)):
                    hint = f'write "{value.text}"' if value.is_scalar else None
                    self.problems.report(value, f"metadata must be strings, not {value.describe()}", hint=hint)
