"""Asks Puccini what a template means, one template per process (its compiler keeps state within a process).

Prints one JSON object: whether the template is valid, and per node template its types, property values and where its
requirements lead, in the same normal form as `normal_form.py` gives ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def value(data: Any) -> Any:
    """Puccini wraps typed scalars; what counts is the number or the canonical text."""
    if isinstance(data, Mapping):
        if "scalar" in data and "$number" in data:
            return {"number": float(data["$number"])}
        if "$string" in data:
            return {"text": data.get("$originalString", data["$string"])}
        if set(data) == {"lower", "upper"}:
            upper = data["upper"]
            return [data["lower"], None if upper >= 2**63 else upper]
        return {str(key): value(inner) for key, inner in data.items()}
    if isinstance(data, str):
        return str(data)
    if isinstance(data, Sequence):
        return [value(inner) for inner in data]
    for kind in (bool, int, float):
        if isinstance(data, kind):
            return kind(data)
    return data


def types(data: Any) -> list[str]:
    return sorted(name.replace("tosca::", "tosca:") for name in data)


def node(vertex: Any, clout: Any) -> dict[str, Any]:
    properties = vertex["properties"]
    return {
        "types": types(properties["types"]),
        "properties": value(dict(properties["properties"] or {})),
        "capabilities": {
            name: {"types": types(capability["types"]), "properties": value(dict(capability["properties"] or {}))}
            for name, capability in properties["capabilities"].items()
        },
        "requirements": [
            {
                "name": edge["properties"]["name"],
                "target": clout["vertexes"][edge["targetID"]]["properties"]["name"],
                "capability": edge["properties"]["capability"],
                "types": types(edge["properties"]["types"]),
                "properties": value(dict(edge["properties"]["properties"] or {})),
            }
            for edge in vertex["edgesOut"]
        ],
    }


def answer(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data))


def main() -> None:
    import puccini.tosca

    try:
        clout = puccini.tosca.compile(sys.argv[1])
    except puccini.tosca.Problems as problems:
        answer({"valid": False, "why": [str(problem.get("message")) for problem in problems.problems]})
        return
    except Exception as error:
        answer({"valid": False, "why": [str(error)]})
        return
    nodes = {
        vertex["properties"]["name"]: node(vertex, clout)
        for vertex in clout["vertexes"].values()
        if vertex["metadata"]["puccini"]["kind"] == "NodeTemplate"
    }
    answer({"valid": True, "nodes": nodes})


if __name__ == "__main__":
    main()
