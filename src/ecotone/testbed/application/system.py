"""What every cluster has beside its applications, for a bed: names of Services, and a Prometheus that collects figures.

Images are local ones (`make images`); nothing is pulled. CoreDNS and Prometheus run on the node named, by default the first
cloud node, so that a test may cut any other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ecotone.testbed.figures import PORT as FIGURES_PORT
from ecotone.testbed.images.contents import DNS_IMAGE, PROMETHEUS_IMAGE
from ecotone.testbed.layout import API_ADDRESS, DNS_SERVICE, BedNode

NAMESPACE = "kube-system"
MONITORING = "monitoring"
PROMETHEUS_URL = f"http://prometheus.{MONITORING}.svc.cluster.local:9090"
SCRAPE_SECONDS = 5
CPU_SERIES = "container_cpu_usage_seconds_total"
_AS_MEASURED = f"machine_{CPU_SERIES}"
_COREFILE = """.:1053 {
    errors
    health :8080
    ready :8181
    kubernetes cluster.local in-addr.arpa {
        pods insecure
        ttl 5
    }
    cache 5
}
"""
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


def dns_objects(*, node: str) -> list[dict[str, Any]]:
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces", "endpoints"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    ports = [{"name": "dns", "port": 53, "targetPort": 1053, "protocol": "UDP"},
             {"name": "dns-tcp", "port": 53, "targetPort": 1053, "protocol": "TCP"}]  # fmt: skip
    container = {
        "name": "coredns",
        "image": DNS_IMAGE,
        "args": ["-conf", "/config/Corefile"],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
    }
    return [
        *_account("coredns", NAMESPACE, rules),
        _config("coredns", NAMESPACE, {"Corefile": _COREFILE}),
        _deployment("coredns", NAMESPACE, container, node=node),
        _service("kube-dns", NAMESPACE, "coredns", ports, address=DNS_SERVICE),
    ]


def prometheus_objects(nodes: Sequence[BedNode], *, node: str, core: float) -> list[dict[str, Any]]:
    """A Prometheus on `node` that collects from all of them; `core` of a machine's is one of those that nodes offer."""
    rules = [{"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]}]
    container = {
        "name": "prometheus",
        "image": PROMETHEUS_IMAGE,
        "args": [
            "--config.file=/config/prometheus.yml", "--storage.tsdb.path=/data", "--storage.tsdb.retention.time=2h",
            "--web.listen-address=:9090", "--storage.tsdb.min-block-duration=1h", "--storage.tsdb.max-block-duration=1h",
        ],
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": 9090}, "periodSeconds": 1},
    }  # fmt: skip
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": MONITORING}},
        *_account("prometheus", MONITORING, rules),
        _config(
            "prometheus",
            MONITORING,
            {"prometheus.yml": _prometheus_configuration(nodes), "rules.yml": _offered_cores(core)},
        ),
        _deployment("prometheus", MONITORING, container, node=node),
        _service("prometheus", MONITORING, "prometheus", [{"name": "web", "port": 9090, "targetPort": 9090}]),
    ]


def _prometheus_configuration(nodes: Sequence[BedNode]) -> str:
    bed = f"{API_ADDRESS}:{FIGURES_PORT}"
    kubelets = [{"targets": [f"{node.address}:10250"], "labels": {"node": node.name}} for node in nodes]
    jobs = [
        {"job_name": "nodes", "honor_labels": True, "static_configs": [{"targets": [bed]}]},
        {
            "job_name": "cadvisor",
            "scheme": "https",
            "metrics_path": "/metrics/cadvisor",
            "authorization": {"credentials_file": f"{_TOKEN}/token"},
            "tls_config": {"ca_file": f"{_TOKEN}/ca.crt"},
            "static_configs": kubelets,
            "metric_relabel_configs": [
                {
                    "source_labels": ["__name__"],
                    "regex": CPU_SERIES,
                    "target_label": "__name__",
                    "replacement": _AS_MEASURED,
                }
            ],
        },
        {"job_name": "pods", "http_sd_configs": [{"url": f"http://{bed}/targets", "refresh_interval": "5s"}]},
    ]
    period = f"{SCRAPE_SECONDS}s"
    every = {"scrape_interval": period, "scrape_timeout": period, "evaluation_interval": period}
    return json.dumps({"global": every, "rule_files": ["/config/rules.yml"], "scrape_configs": jobs}, indent=1)


def _offered_cores(core: float) -> str:
    """A kubelet counts the machine's CPU seconds, while it may offer other cores: pods' use is told in the latter.

    Otherwise a policy would take a pod that keeps a small node busy for one that uses next to nothing.
    """
    rule = {"record": CPU_SERIES, "expr": f"{_AS_MEASURED} / {core!r}"}
    return json.dumps({"groups": [{"name": "offered-cores", "rules": [rule]}]}, indent=1)


def _account(name: str, namespace: str, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": f"bed-{name}"}, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"bed-{name}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"bed-{name}"},
            "subjects": [subject],
        },
    ]


def _config(name: str, namespace: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def _service(
    name: str, namespace: str, app: str, ports: list[dict[str, Any]], *, address: str | None = None
) -> dict[str, Any]:
    spec: dict[str, Any] = {"selector": {"app": app}, "ports": ports}
    if address is not None:
        spec["clusterIP"] = address
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _deployment(name: str, namespace: str, container: dict[str, Any], *, node: str) -> dict[str, Any]:
    mounts = [{"name": "config", "mountPath": "/config", "readOnly": True}, {"name": "data", "mountPath": "/data"}]
    pod = {
        "serviceAccountName": name,
        "nodeSelector": {"kubernetes.io/hostname": node},
        "priorityClassName": "system-cluster-critical" if namespace == NAMESPACE else "",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "fsGroup": 65532,
                            "seccompProfile": {"type": "RuntimeDefault"}},
        "tolerations": [{"operator": "Exists"}],
        "containers": [{**container, "imagePullPolicy": "Never", "securityContext": _RESTRICTED, "volumeMounts": mounts}],
        "volumes": [{"name": "config", "configMap": {"name": name}}, {"name": "data", "emptyDir": {}}],
    }  # fmt: skip
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }
