"""Our reading of a template in the form the differential test compares."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ecotone.model.errors import InputError
from ecotone.tosca import read_template
from ecotone.tosca.language.definitions import EntityType
from ecotone.tosca.language.functions import Properties
from ecotone.tosca.language.scalars import Range, ScalarUnit, Version


def value(data: Any) -> Any:
    if isinstance(data, ScalarUnit):
        return {"number": float(data.base)}
    if isinstance(data, Range):
        return [data.lower, data.upper]
    if isinstance(data, dict):
        return {key: value(inner) for key, inner in data.items()}
    if isinstance(data, list):
        return [value(inner) for inner in data]
    return data


def values(properties: Properties) -> dict[str, Any]:
    result = {}
    for name, checked in properties.values().items():
        primitive = properties.definitions[name].schema.primitive
        if isinstance(checked, Version) or primitive == "timestamp":
            node = properties.evaluated(name, at=properties.place(name))
            result[name] = {"text": node.text if node is not None else ""}
        else:
            result[name] = value(checked)
    return result


def types(entity: EntityType | None) -> list[str]:
    names = [] if entity is None else [ancestor.name for ancestor in entity.lineage()]
    return sorted(re.sub(r"^tosca\.[a-z]+\.(network\.)?", "tosca:", name) for name in names)


def ours(path: Path) -> dict[str, Any]:
    try:
        template = read_template(path)
    except InputError as error:
        return {"valid": False, "why": str(error).splitlines()}
    nodes = {
        node.name: {
            "types": types(node.type),
            "properties": values(node.properties),
            "capabilities": {
                name: {"types": types(capability.type), "properties": values(capability.properties)}
                for name, capability in node.capabilities.items()
            },
            "requirements": [
                {
                    "name": requirement.name,
                    "target": requirement.target.name if requirement.target else None,
                    "capability": requirement.capability,
                    "types": types(requirement.relationship),
                    "properties": values(requirement.properties),
                }
                for requirement in node.requirements
            ],
        }
        for node in template.topology.nodes.values()
    }
    return {"valid": True, "nodes": nodes}
