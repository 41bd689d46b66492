"""What binding volumes needs to know survives reading, and writing a snapshot and reading it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ecotone.manifests import read_paths
from ecotone.manifests.writing.snapshot import snapshot_documents
from ecotone.model.objects import Claim, Volume
from ecotone.model.selectors import LabelSelector, Requirement

OBJECTS = [
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "shop",
            "annotations": {"volume.kubernetes.io/selected-node": "edge-1"},
        },
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}},
            "volumeMode": "Block",
            "selector": {"matchLabels": {"tier": "gold"}},
        },
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": {"capacity": {"storage": "8Gi"}, "volumeMode": "Block", "storageClassName": "local"},
        "status": {"phase": "Released"},
    },
]


@pytest.fixture
def snapshot(tmp_path: Path):
    return read(OBJECTS, tmp_path)


def read(objects, folder: Path):
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return read_paths([str(file)])


def expected(snapshot) -> None:
    assert snapshot.claims["shop/data"] == Claim(
        "shop",
        "data",
        storage_class="local",
        access_modes=frozenset({"ReadWriteOnce"}),
        request=5 * 1024**3,
        mode="Block",
        selector=LabelSelector((Requirement("tier", "In", ("gold",)),)),
        selected_node="edge-1",
    )
    assert snapshot.volumes["disk"] == Volume(
        "disk", storage_class="local", capacity=8 * 1024**3, mode="Block", available=False
    )


def test_size_mode_selector_and_chosen_node_are_read(snapshot) -> None:
    expected(snapshot)


def test_they_are_written_and_read_again(snapshot, tmp_path: Path) -> None:
    expected(read(snapshot_documents(snapshot), tmp_path))
