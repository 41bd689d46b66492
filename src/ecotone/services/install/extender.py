"""The extender's Deployment and Service, and what to paste into a stock kube-scheduler's configuration.

An extender's score is an integer 0 to 10 that kube-scheduler multiplies by the weight and by ten. The default plugins'
weights add up to 12 (hundreds of points), but between *feasible* nodes their sum rarely differs by more than two
hundred: with weight 10 two buckets of difference in the network term are two hundred points, and decide.

``nodeCacheCapable`` is a must: without it kube-scheduler sends every node with every pod, and 1.36 then even scores
resources as if the nodes were empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.services.install.network import network_policy
from ecotone.services.install.rbac import EXTENDER, extender_rbac
from ecotone.services.install.scheduler import NEEDS
from ecotone.services.install.workloads import IMAGE, budget, container, deployment, pod

PORT = 10361
WEIGHT = 10


def extender(
    *,
    namespace: str = "kube-system",
    image: str = IMAGE,
    policy: str = "ecotone",
    replicas: int = 2,
    allow_from: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Its account and role come with it: whoever does not ask for an extender does not get its rights either."""
    arguments = ["serve", "extender", f"--policy={policy}", f"--listen=0.0.0.0:{PORT}"]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": EXTENDER, "namespace": namespace},
        "spec": {
            "selector": {"app.kubernetes.io/name": EXTENDER},
            "ports": [{"name": "http", "port": PORT, "targetPort": PORT}],
        },
    }
    configuration = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "ecotone-extender-kube-scheduler",
            "namespace": namespace,
            "annotations": {"ecotone.dev/why": "paste data into the --config file of your kube-scheduler"},
        },
        "data": {"config.yaml": _yaml(extender_configuration(f"http://{EXTENDER}.{namespace}.svc:{PORT}"))},
    }
    main = container(arguments, image=image, port=PORT, needs=NEEDS)
    spec = pod([main], account=EXTENDER, priority="system-cluster-critical")
    return [
        *extender_rbac(namespace=namespace),
        deployment(EXTENDER, spec, namespace=namespace, replicas=replicas),
        budget(EXTENDER, namespace=namespace),
        service,
        network_policy(EXTENDER, namespace=namespace, port=PORT, allow_from=allow_from),
        configuration,
    ]


def extender_configuration(url: str, *, tls: dict[str, str] | None = None, bind: bool = False) -> dict[str, Any]:
    """A KubeSchedulerConfiguration; an extender that does not answer is ignored, not waited for.

    ``tls`` names files on the kube-scheduler's side (certFile, keyFile, caFile); binding needs them.
    """
    entry: dict[str, Any] = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "weight": WEIGHT,
        "nodeCacheCapable": True,
        "ignorable": True,
        "httpTimeout": "2s",
    }
    if tls is not None:
        entry |= {"enableHTTPS": True, "tlsConfig": tls}
    if bind:
        entry["bindVerb"] = "bind"
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [entry],
    }


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False))
