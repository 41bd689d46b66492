"""Who may reach our programs: a NetworkPolicy for each that listens.

Our own programs, and whoever is labelled ``ecotone.dev/reaches: "true"``: a pod in the namespace that the programs run in,
or another namespace as a whole. Being in that namespace is no reason: in kube-system run programs of many hands. A
kube-scheduler on the host's network has the address of its node instead of a pod's: such addresses are named by
``--allow-from``. Kubelets' probes pass in every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REACHES = {"ecotone.dev/reaches": "true"}
PART_OF = {"app.kubernetes.io/part-of": "ecotone"}


def network_policy(
    name: str, *, namespace: str, port: int, allow_from: Sequence[str] = (), neighbours: bool = False
) -> dict[str, Any]:
    """``neighbours``: all pods of the namespace, as for a proxy that belongs to the application there."""
    selectors: tuple[dict[str, Any], ...] = (
        ({},) if neighbours else ({"matchLabels": PART_OF}, {"matchLabels": REACHES})
    )
    sources: list[dict[str, Any]] = [
        *({"podSelector": selector} for selector in selectors),
        {"namespaceSelector": {"matchLabels": REACHES}},
        *({"ipBlock": {"cidr": cidr}} for cidr in allow_from),
    ]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(PART_OF)},
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": sources, "ports": [{"protocol": "TCP", "port": port}]}],
        },
    }
