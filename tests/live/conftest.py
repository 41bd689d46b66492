"""Fixtures of the tests that run the whole loop: a real control plane, Prometheus, node-exporter, Envoy."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_plane.conftest import control_plane_binaries, start_cluster

__all__ = ["control_plane_binaries", "start_cluster"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.live)
