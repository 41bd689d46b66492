"""Fixtures of the tests that run against a real control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from control_plane import binaries
from control_plane.cluster import Cluster
from ecotone.manifests import figures_policy
from missing import lacking

LONG = (
    "test_kubedsm",
    "test_pages",
    "test_rbac",
    "test_safety",
    "test_pogonip",
    "test_parity",
    "test_terms",
    "test_faults",
    "test_descheduler_chaos",
    "test_manifests",
    "test_tenant",
    "test_descheduler",
    "test_live_commands",
    "test_extender",
    "test_preemption",
    "test_rbac_descheduler",
    "test_scheduler",
    "test_fences",
    "test_hostile_objects",
    "test_figures_policy",
    "test_cluster",
    "test_volumes",
    "test_primitives",
)
"""The modules that take long, longest first: where two workers share the modules, what is begun last should be short."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.control_plane)
    rank = {name: number for number, name in enumerate(LONG)}
    ordered = iter(sorted(ours, key=lambda item: rank.get(item.path.stem, len(rank))))
    items[:] = [next(ordered) if here in item.path.parents else item for item in items]


@pytest.fixture(scope="session")
def control_plane_binaries() -> Path:
    found = binaries.directory()
    if found is None:
        lacking("the control plane's binaries are missing: make controlplane")
    return found


@pytest.fixture(scope="session")
def start_cluster(
    control_plane_binaries: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Cluster]]:
    clusters: list[Cluster] = []

    def start(*, keeps_figures: bool = True, **options: bool) -> Cluster:
        """`keeps_figures`: with the admission policy without which programs believe nothing that is measured."""
        cluster = Cluster(tmp_path_factory.mktemp("cluster"), **options)
        clusters.append(cluster)
        cluster.start()
        if keeps_figures:
            cluster.create(figures_policy.policy(), figures_policy.binding())
        return cluster

    yield start
    for cluster in clusters:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    """A cluster of this test module's own: etcd, API server and controllers, no kubelets."""
    cluster = start_cluster()
    yield cluster
    cluster.stop()
