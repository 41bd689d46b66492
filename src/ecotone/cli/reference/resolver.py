"""The resolver's problem and answer, from its OpenAPI document."""

from __future__ import annotations

from typing import Any

from ecotone.cli.reference.markdown import anchor, code, table, value
from ecotone.cli.reference.markdown import page as whole
from ecotone.services.resolver.openapi import document

_HEAD = """`ecotone serve resolver` places whole applications for programs that speak HTTP and JSON: applications and
infrastructure in, placement out. It serves the OpenAPI document that this page is made from under `/v1/openapi.json`."""

_HUGE = 1e6  # bounds from here on only keep nonsense out


def page() -> str:
    contract = document("reference")
    parts = [_HEAD]
    for path, operations in contract["paths"].items():
        for method, operation in operations.items():
            if method != "parameters":
                parts += _operation(f"{method.upper()} {path}", operation)
    for name, schema in contract["components"]["schemas"].items():
        parts += [f"## {name}", schema.get("description", ""), _fields(schema)]
    return whole("The resolver's problem format", *parts)


def _operation(name: str, operation: dict[str, Any]) -> list[str]:
    body = operation.get("requestBody")
    told = " ".join(filter(None, [operation["summary"], operation.get("description")]))
    if body is not None:
        told += f" The body is a {_type(next(iter(body['content'].values()))['schema'])}."
    rows = [
        [code(status), each["description"], _type(next(iter(each["content"].values()))["schema"])]
        for status, each in operation["responses"].items()
    ]
    return [f"## {name}", told, table(["status", "meaning", "body"], rows)]


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        [code(name), _type(each), "required" if name in required else code(value(each.get("default"))), _meaning(each)]
        for name, each in schema.get("properties", {}).items()
    ]
    return table(["field", "type", "default", "meaning"], rows) if rows else ""


def _meaning(schema: dict[str, Any]) -> str:
    return next((each["description"] for each in (schema, *schema.get("anyOf", ())) if "description" in each), "")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{anchor(name)})"
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        limits = [
            f"{word} {schema[key]}"
            for key, word in (("minItems", "at least"), ("maxItems", "at most"))
            if key in schema
        ]
        return f"list of {_type(schema['items'])}" + (f" ({', '.join(limits)})" if limits else "")
    bounds = [
        f"{word} {schema[key]:g}"
        for key, word in (("minimum", "from"), ("maximum", "to"))
        if schema.get(key, _HUGE) < _HUGE
    ]
    return " ".join([schema.get("type", "any"), *bounds])
