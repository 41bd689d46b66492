"""A cluster whose pods are scraped by a Prometheus that finds them by itself, as in a real one.

There are no kubelets: pods are objects, and small exporters stand where their addresses point, on loopback. Every
PodMonitor is a scrape pool in the shape that Prometheus' operator gives it. The operator may be one that keeps tenants in
their namespace (`enforced`), as docs/monitoring.md asks for, or not.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from control_plane.cluster import Cluster, Refused
from control_plane.objects import node
from control_plane.processes import Child, free_ports, wait_until
from ecotone.manifests import keys
from live.discovery import Discovery
from live.planted import Planted
from live.shop import install_crds
from real_programs import tool

NODES = ("edge-1", "edge-2", "cloud-1")
SERVICES = {
    # namespace/workload -> kind, the nodes its pods run on
    "shop/web": ("Deployment", ("edge-1", "edge-2")),
    "shop/db": ("Deployment", ("cloud-1",)),
    "bank/ledger": ("Deployment", ("cloud-1",)),
    "evil/mallory": ("Deployment", ("edge-1",)),
    "kube-system/ecotone-probe": ("DaemonSet", NODES),
    "monitoring/node-exporter": ("DaemonSet", NODES),
}
ON_NODE = {"monitoring/node-exporter"}
KUBELET = 10250
_NUMBERS = itertools.count(1)


@dataclass
class Pod:
    namespace: str
    workload: str
    name: str
    node: str
    exporter: Planted

    @property
    def labels(self) -> dict[str, str]:
        """What its target has, in a PodMonitor of its own namespace."""
        return {
            "job": f"{self.namespace}/all",
            "instance": self.exporter.target,
            "namespace": self.namespace,
            "pod": self.name,
        }


@dataclass
class ScrapedCluster:
    cluster: Cluster
    directory: Path
    enforced: bool = True
    pods: dict[str, list[Pod]] = field(default_factory=dict)
    kubelets: dict[str, Planted] = field(default_factory=dict)
    monitors: dict[str, dict[str, Any]] = field(default_factory=dict)
    url: str = ""
    _child: Child | None = None

    def __post_init__(self) -> None:
        self.discovery = Discovery(self.cluster)

    def install(self) -> None:
        install_crds(self.cluster)
        for name in NODES:
            address = self._address()
            self.kubelets[name] = Planted(address, KUBELET)
            addresses = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
            self.cluster.create(node(name, cpu="4", memory="8Gi", addresses=addresses))
        for namespace in sorted({one.partition("/")[0] for one in SERVICES} - {"kube-system"}):
            self.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for name, (kind, places) in SERVICES.items():
            self._workload(name, kind, places)
        self.monitors |= {
            f"podMonitor/{name.partition('/')[0]}/all/0": self.pod_monitor(name.partition("/")[0]) for name in SERVICES
        }

    def one(self, workload: str, node: str = "") -> Pod:
        return next(pod for pod in self.pods[workload] if node in ("", pod.node))

    def _workload(self, full: str, kind: str, places: tuple[str, ...]) -> None:
        namespace, _, name = full.partition("/")
        labels = {"app": name}
        grouped = {} if namespace in ("kube-system", "monitoring") else {"app-group": namespace}
        template = {
            "metadata": {"labels": {**labels, **grouped}},
            "spec": {"containers": [{"name": "main", "image": "registry.test/none"}]},
        }
        spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
        if kind == "Deployment":
            spec["replicas"] = len(places)
        self.cluster.create(
            {
                "apiVersion": "apps/v1",
                "kind": kind,
                "metadata": {"name": name, "namespace": namespace, "labels": grouped},
                "spec": spec,
            }
        )
        owner = self.cluster.call("GET", f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s/{name}")["metadata"]
        self.pods[full] = [
            self._pod(
                full,
                f"{name}-{number}",
                place,
                {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": owner["uid"], "controller": True},
                template,
            )
            for number, place in enumerate(places)
        ]

    def _pod(self, full: str, name: str, place: str, owner: dict[str, Any], template: dict[str, Any]) -> Pod:
        namespace, _, workload = full.partition("/")
        on_node = full in ON_NODE
        address = self.kubelets[place].address if on_node else self._address()
        exporter = Planted(address)
        port = {"name": "metrics", "containerPort": exporter.port}
        spec = {
            "nodeName": place,
            "hostNetwork": on_node,
            "containers": [{**template["spec"]["containers"][0], "ports": [port]}],
        }
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner],
        }
        path = f"/api/v1/namespaces/{namespace}/pods"
        self.cluster.call("POST", path, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        status = {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        merge = "application/merge-patch+json"
        self.cluster.call("PATCH", f"{path}/{name}/status", {"status": status}, content_type=merge)
        return Pod(namespace, workload, name, place, exporter)

    def _address(self) -> str:
        """A loopback address of this process's own."""
        here = os.getpid()
        return f"127.{64 + here // 256 % 64}.{here % 256}.{next(_NUMBERS)}"

    # Prometheus

    def pod_monitor(self, namespace: str, **changed: Any) -> dict[str, Any]:
        """A scrape pool as the operator makes it of a PodMonitor of that namespace."""
        said = changed.pop("metric_relabel_configs", [])
        relabel = changed.pop("relabel_configs", [])
        job = changed.pop("job", f"{namespace}/all")
        if self.enforced:
            changed.pop("honor_labels", None)
            said = [*said, {"target_label": "namespace", "replacement": namespace}]
        return {
            "http_sd_configs": [self.discovery.pods(changed.pop("discovers", [namespace]))],
            "relabel_configs": [
                {"source_labels": ["__meta_kubernetes_pod_container_port_name"], "regex": "metrics", "action": "keep"},
                {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
                {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
                {"target_label": "job", "replacement": job},
                *relabel,
                *([{"target_label": "namespace", "replacement": namespace}] if self.enforced else []),
            ],
            "metric_relabel_configs": said,
            **changed,
        }

    def _kubelet_job(self) -> dict[str, Any]:
        return {
            "honor_labels": True,
            "metrics_path": "/metrics/cadvisor",
            "http_sd_configs": [self.discovery.nodes()],
        }

    def start(self) -> None:
        port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{port}"
        self._write()
        self._child = Child(
            "prometheus",
            [
                tool("prometheus"),
                f"--config.file={self.directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={self.directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--web.enable-lifecycle",
                "--log.level=warn",
            ],
            log=self.directory / "prometheus.log",
        )
        self.wait_scraped()

    def _write(self) -> None:
        pools = {"kubelet": self._kubelet_job(), **self.monitors}
        document = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "scrape_configs": [{"job_name": name, **given} for name, given in pools.items()],
        }
        (self.directory / "prometheus.yml").write_text(yaml.safe_dump(json.loads(json.dumps(document))))

    def reload(self) -> None:
        """What an operator does when a PodMonitor has changed."""
        self._write()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/-/reload", method="POST"), timeout=10).close()
        self.wait_scraped()

    def behave(self) -> None:
        """The tenant's pod says nothing any more, and his PodMonitor is an ordinary one."""
        self.one("evil/mallory").exporter.clear()
        self.replace("/apis/ecotone.dev/v1alpha1/namespaces/evil/appgroups/greedy")
        usual = {name: given for name, given in self.monitors.items() if not name.startswith("podMonitor/evil/")}
        usual["podMonitor/evil/all/0"] = self.pod_monitor("evil")
        if usual != self.monitors:
            self.monitors = usual
            self.reload()

    def replace(self, path: str, wanted: dict[str, Any] | None = None) -> None:
        """Whatever is there goes, and this comes."""
        with contextlib.suppress(Refused):
            self.cluster.call("DELETE", path)
        if wanted is not None:
            self.cluster.create(wanted)

    def wait_scraped(self) -> None:
        """Returns when every pool has targets, and each has been scraped."""
        wait_until(self._scraped, timeout=60, what="scraped targets", child=self._child)

    def _scraped(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/targets?state=active", timeout=5) as answer:
                targets = json.loads(answer.read())["data"]["activeTargets"]
        except OSError:
            return False
        pools = {one["scrapePool"] for one in targets}
        # What the tenant exposes may be more than is scraped in a second.
        waited_for = [one for one in targets if not one["scrapePool"].startswith("podMonitor/evil/")]
        tried = all(one["health"] != "unknown" for one in targets)
        return pools == {"kubelet", *self.monitors} and tried and all(one["health"] == "up" for one in waited_for)

    def app_group(self, namespace: str, *, name: str = "", **spec: Any) -> dict[str, Any]:
        given = {"runPeriod": 1, "name": name or namespace, "window": "6s", **spec}
        return _resource("AppGroup", {"name": name or namespace, "namespace": namespace}, given)

    def monitored(self) -> None:
        self.cluster.create(_resource("Cluster", {"name": "all"}, {"runPeriod": 1, "window": "6s"}))
        self.cluster.create(self.app_group("shop"), self.app_group("bank"))

    def written(self) -> dict[str, dict[str, str]]:
        """Every annotation of ours on nodes, and on workloads of others than the tenant."""
        objects = {f"node {name}": f"/api/v1/nodes/{name}" for name in NODES}
        for full, (kind, _) in SERVICES.items():
            namespace, _, name = full.partition("/")
            if namespace in ("shop", "bank"):
                objects[full] = f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s/{name}"
        found = {}
        for name, path in objects.items():
            annotations = self.cluster.call("GET", path)["metadata"].get("annotations", {})
            found[name] = {key: value for key, value in annotations.items() if key.startswith(keys.PREFIX)}
        return found

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop(grace=5)
        self.discovery.stop()
        for several in self.pods.values():
            for one in several:
                one.exporter.stop()
        for kubelet in self.kubelets.values():
            kubelet.stop()


def _resource(kind: str, metadata: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "ecotone.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
