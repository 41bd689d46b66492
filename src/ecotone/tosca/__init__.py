"""TOSCA service templates: describe an application's communication, get manifests that place well.

A template names the services of an application and the protocols between them. Here it is read strictly
(`read_template`), understood (`load_application`), ordered (`application_graph`) and compiled to Kubernetes objects
(`application_objects`) that carry static affinities and indices for the scheduler.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ecotone.tosca.application import Application, Channel, Service, load_application, parse_application
from ecotone.tosca.compiler import compile_application
from ecotone.tosca.graph import ApplicationGraph, graph_of, read_graph
from ecotone.tosca.language.problems import TemplateError
from ecotone.tosca.language.template import ServiceTemplate, parse_template, read_inputs, read_template
from ecotone.tosca.query import GraphStore

__all__ = [
    "Application",
    "ApplicationGraph",
    "Channel",
    "GraphStore",
    "Service",
    "ServiceTemplate",
    "TemplateError",
    "application_graph",
    "application_objects",
    "compile_application",
    "graph_of",
    "load_application",
    "parse_application",
    "parse_template",
    "read_graph",
    "read_inputs",
    "read_template",
]


def application_objects(path: str | Path) -> list[dict[str, Any]]:
    """The Kubernetes objects a template compiles to."""
    return compile_application(load_application(path))


def application_graph(path: str | Path) -> ApplicationGraph:
    """Services with their index and channels with priority and deadline."""
    return graph_of(load_application(path))
