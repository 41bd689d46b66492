"""What a template may import: regular TOSCA files below its folder, and nothing is told about any other file."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ecotone.tosca import TemplateError, read_template

HEAD = "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [{file: ecotone/profile.yaml}, IMPORT]\n"
TYPES = HEAD.replace(", IMPORT", "") + "node_types: {Web: {derived_from: Service}}\n"
USE = "topology_template: {node_templates: {w: {type: Web, capabilities: {deployment: {properties: {image: x}}}}}}\n"
SECRET = "root:$6$hunter2:19000:0:99999:7:::\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "types.yaml").write_text(TYPES)
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def template(folder: Path, target: str) -> Path:
    path = folder / "app.yaml"
    path.write_text(HEAD.replace("IMPORT", f'"{target}"') + USE)
    return path


def refusal(folder: Path, target: str, *, root: Path | None = None) -> str:
    with pytest.raises(TemplateError) as caught:
        read_template(template(folder, target), root=root)
    return "\n".join(str(problem) for problem in caught.value.problems)


@pytest.mark.parametrize("target", ["../secret", "../types.yaml", "/etc/passwd", "linked.yaml", "folder/types.yaml"])
def test_a_file_outside_the_templates_folder_is_not_opened(folder: Path, target: str) -> None:
    (folder / "linked.yaml").symlink_to(folder.parent / "types.yaml")
    (folder / "folder").symlink_to(folder.parent)
    told = refusal(folder, target)
    assert "outside the template's folder" in told and "--import-root" in told
    assert "hunter2" not in told and "root:" not in told


def test_a_named_root_admits_what_lies_below_it(folder: Path) -> None:
    found = read_template(template(folder, "../types.yaml"), root=folder.parent)
    assert found.topology.nodes["w"].type.name == "Web"
    (folder.parent.parent / "elsewhere.yaml").write_text(TYPES)
    assert "outside" in refusal(folder, "../../elsewhere.yaml", root=folder.parent)


@pytest.mark.parametrize("content", [SECRET, "password: hunter2\n", "- hunter2\n", "hunter2", "{a: hunter2", "%\x00"])
def test_contents_of_what_is_not_tosca_are_not_quoted(folder: Path, content: str) -> None:
    (folder / "notes").write_text(content)
    told = refusal(folder, "notes")
    assert "does not declare tosca_definitions_version" in told
    assert "hunter2" not in told and "password" not in told


def test_a_mistake_in_an_imported_template_is_told_with_its_place(folder: Path) -> None:
    (folder / "types.yaml").write_text(TYPES + "node_types: [\n")
    assert "types.yaml:" in refusal(folder, "types.yaml")


def test_a_pipe_or_a_folder_is_refused_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "types").mkdir()
    begin = time.monotonic()
    assert "not a regular file" in refusal(folder, "pipe.yaml")
    assert "cannot import" in refusal(folder, "types")
    assert time.monotonic() - begin < 5
