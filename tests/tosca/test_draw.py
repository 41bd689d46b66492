"""Drawings: text for terminals, DOT, SVG."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from ecotone.tosca import Channel, application_graph
from ecotone.tosca.draw import as_dot, as_svg, as_text
from ecotone.tosca.graph import ApplicationGraph, GraphService

CONTRACT = Path(__file__).parent / "valid" / "contract.yaml"


def test_text_reads_from_the_entry_points() -> None:
    assert (
        as_text(application_graph(CONTRACT))
        == """contract: 4 services, 3 channels
0  front-end
   ├─ HTTPRoute 100 ─▶ catalogue
   └─ MQTTRoute 60 ≤ 200 ms ─▶ sensors
1  catalogue
   └─ TCPRoute 85 ─▶ catalogue-db (external)
1  sensors
2  catalogue-db (external)
"""
    )


def test_dot_quotes_names() -> None:
    text = as_dot(application_graph(CONTRACT))
    assert '"front-end" -> "sensors" [label="MQTTRoute 60 ≤ 200 ms", style=dotted];' in text
    assert text.startswith('digraph "contract" {')


def test_svg_is_well_formed_and_draws_everything() -> None:
    graph = application_graph(CONTRACT)
    root = ElementTree.fromstring(as_svg(graph))
    shapes = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{shapes}g")) == 4
    assert len(root.findall(f"{shapes}path")) == 3


def test_drawings_survive_odd_names_and_empty_graphs() -> None:
    odd = ApplicationGraph('a"<b', (GraphService('x"<&', False, 0),), (Channel('x"<&', 'x"<&', "T<", 500),))
    ElementTree.fromstring(as_svg(odd))
    assert '\\"' in as_dot(odd)
    empty = ApplicationGraph("e", (), ())
    ElementTree.fromstring(as_svg(empty))
    assert as_text(empty) == "e: 0 services, 0 channels\n"
