"""Ecotone on a bed, installed and removed with the commands a user types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from ecotone.testbed.application.system import PROMETHEUS_URL
from ecotone.testbed.bed import Bed
from ecotone.testbed.images.contents import ECOTONE_IMAGE, ENVOY_IMAGE
from ecotone.testbed.processes import run

NAMESPACE = "kube-system"
READY_SECONDS = 300.0
MIN_GAIN_MS = 5
DEPLOYMENTS = ("ecotone-scheduler", "ecotone-monitor", "ecotone-descheduler")
# Nobody but the bed itself adds targets or rules to its Prometheus, whose targets are a list.
WHOLE = ("--image", ECOTONE_IMAGE, "--prometheus", PROMETHEUS_URL, "--trust-prometheus")


def ecotone(*arguments: str) -> str:
    """What a command of Ecotone prints."""
    done = subprocess.run(
        [sys.executable, "-m", "ecotone", *arguments], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, f"ecotone {' '.join(arguments)}: {done.stderr[-2000:]}"
    return done.stdout


def kubectl(bed: Bed, *arguments: str, text: str | None = None) -> str:
    return run(bed.binaries / "kubectl", f"--kubeconfig={bed.kubeconfig}", *arguments, text=text, seconds=240)


def helm(bed: Bed, *arguments: str) -> str:
    return run(bed.binaries / "helm", *arguments)


def install(bed: Bed) -> None:
    """`ecotone manifests | kubectl apply -f -`, until every program is ready."""
    kubectl(bed, "apply", "--server-side", "-f", "-", text=ecotone("manifests", *WHOLE))
    for name in DEPLOYMENTS:
        bed.wait_for_rollout(NAMESPACE, f"deployment/{name}", seconds=READY_SECONDS)
    bed.wait_for_rollout(NAMESPACE, "daemonset/ecotone-probe", seconds=READY_SECONDS)


def install_input_proxy(bed: Bed, front_end: str) -> None:
    text = ecotone("manifests", "--front-end", front_end, "--proxy-image", ENVOY_IMAGE)
    kubectl(bed, "apply", "--server-side", "-f", "-", text=text)
    namespace, _, workload = front_end.partition(":")[0].partition("/")
    bed.wait_for_rollout(namespace, f"daemonset/{workload}-input", seconds=READY_SECONDS)


def watched(application: str, namespace: str) -> Sequence[dict[str, Any]]:
    """The objects that make the monitor and the descheduler look, at the pace of a test."""
    version = "ecotone.dev/v1alpha1"
    spec = {"runPeriod": 5, "window": "20s"}
    moving = {"coolDownSeconds": 5, "minGainMilliseconds": MIN_GAIN_MS}
    return [
        {"apiVersion": version, "kind": "Cluster", "metadata": {"name": "all"}, "spec": spec},
        {
            "apiVersion": version,
            "kind": "AppGroup",
            "metadata": {"name": application, "namespace": namespace},
            "spec": {**spec, "name": application, "dialect": "envoy", "descheduler": moving},
        },
    ]
