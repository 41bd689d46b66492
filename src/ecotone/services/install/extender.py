"""The extender's Deployment and Service, and what to paste into a stock kube-scheduler's configuration.

An extender's score is an integer 0 to 10 that kube-scheduler multiplies by the weight and by ten. The default plugins'
weights add up to 12 (hundreds of points), but between *feasible* nodes their sum rarely differs by more than two
hundred: with weight 10 two buckets of difference in the network term are two hundred points, and decide.

``nodeCacheCapable`` is a must: without it kube-scheduler sends every node with every pod, and 1.36 then even scores
resources as if the nodes were empty.
"""

from __future__ import annotations

from typing import Any

from ecotone.services.install.rbac import EXTENDER
from ecotone.services.install.scheduler import IMAGE, deployment

PORT = 10361
WEIGHT = 10


def extender(
    *, namespace: str = "kube-system", image: str = IMAGE, policy: str = "ecotone", replicas: int = 2
) -> list[dict[str, Any]]:
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
    return [
        deployment(EXTENDER, namespace=namespace, image=image, arguments=arguments, port=PORT, replicas=replicas),
        service,
        configuration,
    ]


def extender_configuration(url: str, *, bind: bool = False) -> dict[str, Any]:
    """A KubeSchedulerConfiguration; an extender that does not answer is ignored, not waited for."""
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
