"""The chart is installed with the page's own command, by a real Helm, on a real control plane."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from control_plane import binaries
from control_plane.cluster import Cluster
from examples.lines import CHART, lines_of
from examples.transcripts import REPOSITORY
from missing import lacking


def test_the_chart_is_installed_as_documented(tmp_path: Path) -> None:
    found = binaries.directory()
    if found is None or not (found / "helm").exists():
        lacking("Helm or the control plane's binaries are missing (scripts/controlplane --nodes builds them)")
    cluster = Cluster(tmp_path / "cluster", controllers=False).start()
    try:
        for line in lines_of(CHART):
            helm(cluster, *shlex.split(line.command)[1:])
        assert "ecotone-scheduler" in cluster.kubectl("get", "deployments", "-n", "kube-system").stdout
        helm(cluster, "uninstall", "ecotone", "--namespace", "kube-system")
        assert "ecotone" not in cluster.kubectl("get", "deployments,clusterroles", "-A").stdout
    finally:
        cluster.stop()


def helm(cluster: Cluster, *words: str) -> None:
    done = subprocess.run(
        [cluster.bin / "helm", *words], cwd=REPOSITORY, env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
