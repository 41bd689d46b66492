"""Small pieces that the schemas share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": ["string", "number"]}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}


def mapping(properties: Mapping[str, Schema], *, required: Iterable[str] = (), meaning: str = "") -> Schema:
    """These keys and no others."""
    made: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    needed = list(required)
    return {**({"description": meaning} if meaning else {}), **made, **({"required": needed} if needed else {})}


def map_of(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def list_of(value: Schema) -> Schema:
    return {"type": "array", "items": value}


def either(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


def words(choices: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(choices)}


def document(title: str, schema: Schema) -> Schema:
    return {"$schema": DIALECT, "title": title, **schema}
