"""Who may reach our programs: a NetworkPolicy for each that listens.

Scrapers and schedulers run in the namespace that the programs run in, or in one labelled ``ecotone.dev/reaches: "true"``.
A kube-scheduler on the host's network has the address of its node instead of a pod's: such addresses are named by
``--allow-from``. Kubelets' probes pass in every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REACHES = {"ecotone.dev/reaches": "true"}


def network_policy(name: str, *, namespace: str, port: int, allow_from: Sequence[str] = ()) -> dict[str, Any]:
    sources: list[dict[str, Any]] = [
        {"podSelector": {}},
        {"namespaceSelector": {"matchLabels": REACHES}},
        *({"ipBlock": {"cidr": cidr}} for cidr in allow_from),
    ]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "ecotone"}},
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": sources, "ports": [{"protocol": "TCP", "port": port}]}],
        },
    }
