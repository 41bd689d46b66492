"""What Prometheus' discovery of Kubernetes tells, for a Prometheus that was built without it.

The distribution's Prometheus has no `kubernetes_sd_configs`. This lists pods and nodes of the real API server and answers as an
HTTP discovery, with the labels that Prometheus' own would give: relabelling and everything after is Prometheus' own.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from control_plane.cluster import Cluster

META = "__meta_kubernetes_"


class Discovery:
    def __init__(self, cluster: Cluster) -> None:
        owner = self
        self._cluster = cluster

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(owner.groups(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def pods(self, namespaces: list[str]) -> dict[str, Any]:
        """In place of `role: pod`."""
        return {"url": f"{self._url}/pods/{','.join(namespaces)}", "refresh_interval": "1s"}

    def nodes(self) -> dict[str, Any]:
        """In place of `role: node`."""
        return {"url": f"{self._url}/nodes", "refresh_interval": "1s"}

    def groups(self, path: str) -> list[dict[str, Any]]:
        if path == "/nodes":
            return [_node(one) for one in self._cluster.list("/api/v1/nodes")]
        namespaces = path.rpartition("/")[2].split(",")
        pods = [pod for space in namespaces for pod in self._cluster.list(f"/api/v1/namespaces/{space}/pods")]
        return [group for pod in pods if pod.get("status", {}).get("podIP") for group in _pod(pod)]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _pod(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """One target for every port that a container declares."""
    meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
    common = {
        f"{META}namespace": meta["namespace"],
        f"{META}pod_name": meta["name"],
        f"{META}pod_uid": meta["uid"],
        f"{META}pod_ip": status["podIP"],
        f"{META}pod_node_name": spec["nodeName"],
    }
    return [
        {
            "targets": [f"{status['podIP']}:{port['containerPort']}"],
            "labels": {**common, f"{META}pod_container_port_name": port.get("name", "")},
        }
        for container in spec["containers"]
        for port in container.get("ports", ())
    ]


def _node(node: dict[str, Any]) -> dict[str, Any]:
    name, addresses = node["metadata"]["name"], node["status"]["addresses"]
    inside = next(one["address"] for one in addresses if one["type"] == "InternalIP")
    return {"targets": [f"{inside}:10250"], "labels": {f"{META}node_name": name, "instance": name}}
