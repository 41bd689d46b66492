"""An independent witness: follows every pod by its own watch and notes each node it was ever on."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import defaultdict
from typing import Any

from control_plane.cluster import Cluster
from control_plane.processes import wait_until


class BindingWatch:
    """Reads the stream in a thread; ``check`` states what must hold."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        listing = cluster.call("GET", "/api/v1/pods")
        version = listing["metadata"]["resourceVersion"]
        self.nodes: dict[str, set[str]] = defaultdict(set)
        """Pod uid -> nodes it was seen on."""
        self.names: dict[str, str] = {}
        self.times: list[float] = []
        for item in listing["items"]:
            self._note(item)
        host = cluster.server.removeprefix("https://")
        self._connection = http.client.HTTPSConnection(host, context=cluster._tls)
        path = f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=3600"
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {cluster._tokens['admin']}"})
        self._answer = self._connection.getresponse()
        self._stopping = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._answer:
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                    self._note(event["object"])
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            if not self._stopping:
                raise

    def _note(self, pod: dict[str, Any]) -> None:
        uid = pod["metadata"]["uid"]
        self.names[uid] = pod["metadata"]["name"]
        node = pod["spec"].get("nodeName")
        if node:
            self.nodes[uid].add(node)

    @property
    def bound(self) -> int:
        return sum(bool(nodes) for nodes in list(self.nodes.values()))

    def check(self, *, bound: int, capacity: dict[str, int]) -> None:
        """So many pods were bound, each to one node for ever, and no node holds more than it has room for."""
        wait_until(lambda: self.bound >= bound, timeout=30, what=f"{bound} seen bindings")
        assert self.bound == bound
        twice = {self.names[uid]: nodes for uid, nodes in self.nodes.items() if len(nodes) > 1}
        assert not twice
        counts: dict[str, int] = defaultdict(int)
        for nodes in self.nodes.values():
            for node in nodes:
                counts[node] += 1
        over = {node: count for node, count in counts.items() if count > capacity[node]}
        assert not over

    def stop(self) -> None:
        self._stopping = True
        if self._connection.sock is not None:
            # Closing would wait for the reader; shutting down wakes it.
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(2)
