"""The schema of TOSCA templates that use our profile: TOSCA's keynames, and the properties of the profile's own types.

Nodes of the types `Service` and `ExternalService` are described property by property. Types that a template derives may add
properties that no schema knows beforehand: of those only the keynames are checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from ecotone.cli.schema.parts import FLAG, WHOLE, Schema, document, either, list_of, map_of, mapping, words
from ecotone.manifests.yaml.positions import load_document
from ecotone.tosca.application import PROFILE
from ecotone.tosca.language import grammar

_ANY: Schema = {}
_STRING: Schema = {"type": "string"}
# Any value may be worked out by a function, `{get_input: replicas}`, which is a mapping with one key.
_FUNCTION: Schema = {"type": "object", "minProperties": 1, "maxProperties": 1}
_TYPES: dict[str, Schema] = {"integer": WHOLE, "string": _STRING, "boolean": FLAG, "scalar-unit.time": _STRING}


def schema() -> Schema:
    sections: dict[str, Schema] = dict.fromkeys(sorted(grammar.SERVICE_TEMPLATE), _ANY)
    sections["tosca_definitions_version"] = words((grammar.VERSION,))
    sections["imports"] = list_of(_ANY)
    for section, kind in grammar.TYPE_SECTIONS.items():
        sections[section] = either({"type": "null"}, map_of(_keyed(grammar.TYPES[kind])))
    topology: dict[str, Schema] = dict.fromkeys(sorted(grammar.TOPOLOGY), _ANY)
    topology["node_templates"] = either({"type": "null"}, map_of(_node()))
    sections["topology_template"] = mapping(topology)
    return document(
        "TOSCA 1.3 template with Ecotone's profile", mapping(sections, required=("tosca_definitions_version",))
    )


def _keyed(keys: Iterable[str]) -> Schema:
    return mapping(dict.fromkeys(sorted(keys), _ANY))


def _node() -> Schema:
    profile = _profile()
    parts: dict[str, Schema] = dict.fromkeys(sorted(grammar.NODE_TEMPLATE), _ANY)
    parts["type"] = {
        **_STRING,
        "examples": [name for name, each in profile["node_types"].items() if name != "Component"],
    }
    parts["requirements"] = list_of({**map_of(_requirement(profile)), "maxProperties": 1})
    ours = [
        {
            "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
            "then": {"properties": {"capabilities": _capabilities(profile, each)}},
        }
        for name, each in profile["node_types"].items()
        if name != "Component"
    ]
    return {**mapping(parts, required=()), "allOf": ours}


def _requirement(profile: Mapping[str, Any]) -> Schema:
    parts: dict[str, Schema] = dict.fromkeys(sorted(grammar.REQUIREMENT_ASSIGNMENT), _ANY)
    routes = {**_STRING, "examples": list(profile["relationship_types"])}
    parts["relationship"] = either(routes, {**_keyed(grammar.RELATIONSHIP_ASSIGNMENT)})
    return either(_STRING, mapping(parts))


def _capabilities(profile: Mapping[str, Any], node_type: Mapping[str, Any]) -> Schema:
    names = {**profile["node_types"]["Component"]["capabilities"], **node_type.get("capabilities", {})}
    made = {}
    for name, kind in names.items():
        parts: dict[str, Schema] = dict.fromkeys(sorted(grammar.CAPABILITY_ASSIGNMENT), _ANY)
        parts["properties"] = mapping(_properties(profile, "capability_types", kind))
        made[name] = mapping(parts)
    return mapping(made)


def _properties(profile: Mapping[str, Any], section: str, kind: str) -> dict[str, Schema]:
    """Those of the type and of all that it derives from."""
    found: dict[str, Schema] = {}
    while kind in profile[section]:
        given = profile[section][kind]
        for name, each in given.get("properties", {}).items():
            found.setdefault(name, _property(profile, each))
        kind = given["derived_from"]
    return found


def _property(profile: Mapping[str, Any], given: Mapping[str, Any]) -> Schema:
    kind, entry = given["type"], given.get("entry_schema", {})
    if kind == "map":
        shape = map_of(either(_property(profile, entry), _FUNCTION) if entry else _ANY)
    elif kind == "list":
        shape = list_of(either(_property(profile, entry), _FUNCTION) if entry else _ANY)
    elif kind in profile["data_types"]:
        shape = mapping(_properties(profile, "data_types", kind))
    else:
        shape = _TYPES[kind]
    told = {"description": given["description"]} if "description" in given else {}
    return {**either({**shape, **_limits(given.get("constraints", ()))}, _FUNCTION), **told}


def _limits(constraints: Iterable[Mapping[str, Any]]) -> Schema:
    made: Schema = {}
    for each in constraints:
        for name, given in each.items():
            if name == "greater_or_equal":
                made["minimum"] = given
            elif name == "in_range":
                made["minimum"], made["maximum"] = given
            elif name == "min_length":
                made["minLength"] = given
            elif name == "valid_values":
                made["enum"] = list(given)
    return made


def _profile() -> dict[str, Any]:
    text = resources.files("ecotone.tosca").joinpath("profiles", *PROFILE.split("/")).read_bytes()
    found: dict[str, Any] = load_document(text, file=PROFILE).plain()
    return found
