"""The resolver's contract as an OpenAPI document, made from the same structs that decode and encode it."""

from __future__ import annotations

from typing import Any

import msgspec

from ecotone.services.resolver.api import Job, PlacementAnswer, PlacementRequest, Problem

JSON = "application/json"
RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds after which to try again."}}
LOCATION = {"Location": {"schema": {"type": "string"}, "required": True, "description": "Where to ask for the job."}}


def document(version: str) -> dict[str, Any]:
    structs = (PlacementRequest, PlacementAnswer, Job, Problem)
    (request, result, job, problem), components = msgspec.json.schema_components(
        structs, ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ecotone placement resolver",
            "version": version,
            "description": "Applications and infrastructure in, placement out.",
        },
        "paths": {
            "/v1/placements": {"post": _post(request, result, job, problem)},
            "/v1/jobs/{id}": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True,
                     "schema": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"}},
                ],
                "get": {
                    "operationId": "getJob",
                    "summary": "How far a job is, and its answer when it is done.",
                    "responses": {
                        "200": _response("The job.", job),
                        "401": _response("No valid token.", problem),
                        "404": _response("No such job, or it was forgotten.", problem),
                    },
                },
                "delete": {
                    "operationId": "cancelJob",
                    "summary": "Ends a job, whatever it is doing.",
                    "responses": {
                        "200": _response("The job as it is now.", job),
                        "401": _response("No valid token.", problem),
                        "404": _response("No such job, or it was forgotten.", problem),
                    },
                },
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _post(request: Any, result: Any, job: Any, problem: Any) -> dict[str, Any]:
    return {
        "operationId": "resolvePlacement",
        "summary": "Places applications on an infrastructure.",
        "description": "Small problems are answered at once; what takes longer becomes a job (202).",
        "requestBody": {"required": True, "content": {JSON: {"schema": request}}},
        "responses": {
            "200": _response("The placement.", result),
            "202": {**_response("Not done yet: the job to ask for.", job), "headers": LOCATION},
            "400": _response("Not JSON, or not of this shape.", problem),
            "401": _response("No valid token.", problem),
            "408": _response("The body did not arrive in time.", problem),
            "413": _response("Too large.", problem),
            "415": _response("Not JSON by its content type.", problem),
            "422": _response("The description contradicts itself.", problem),
            "503": {**_response("Busy, or the solver was lost.", problem), "headers": RETRY},
        },
    }


def _response(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": schema}}}
