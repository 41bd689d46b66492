"""Fixtures of the tests that run against a real control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from control_plane import binaries
from control_plane.cluster import Cluster
from control_plane.sharing import Shared
from ecotone.manifests import figures_policy
from missing import lacking


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.control_plane)


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


@pytest.fixture(scope="session")
def shared(start_cluster: Callable[..., Cluster]) -> Shared:
    """A worker's own; see `sharing`."""
    return Shared(lambda: start_cluster(controllers=False))


@pytest.fixture(scope="module")
def shared_cluster(shared: Shared) -> Iterator[Cluster]:
    """etcd and API server, lent to this module: empty at first, emptied after it, whatever it makes.

    Not for modules that stop or configure the API server, or install what lives as long as the cluster: custom resources,
    roles, admission policies. They take `cluster` or `start_cluster`.
    """
    yield from shared.lend()
