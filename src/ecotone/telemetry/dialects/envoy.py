"""Envoy's own cluster metrics, for sidecars without a mesh around them and for our proxies.

The caller is the pod that is scraped (labels `namespace` and `pod`, or `workload`); the callee is the Envoy cluster, named
`workload` or `namespace/workload`. A sidecar also has a cluster for its own service, the inbound leg: everything that
arrives was already counted by its caller, so it is left out. Bytes are those of the upstream connections, headers
included, both ways.
"""

from __future__ import annotations

from ecotone.telemetry.dialects.base import Answered, Directory, Pair, Rates, Ref, collected, summed, users_at
from ecotone.telemetry.families import Family, Reading
from ecotone.telemetry.promql import quoted, starting_with

SENT = "envoy_cluster_upstream_cx_tx_bytes_total"
RECEIVED = "envoy_cluster_upstream_cx_rx_bytes_total"
REQUESTS = "envoy_cluster_upstream_rq_total"

_BY = ("namespace", "pod", "workload", "envoy_cluster_name")


class Envoy:
    name = "envoy"

    def presence(self, namespace: str) -> str:
        return f"count({SENT}{{namespace={quoted(namespace)}}})"

    def families(self, namespace: str, directory: Directory) -> dict[str, Family]:  # noqa: ARG002 - the protocol's
        ends = (f"namespace={quoted(namespace)}", f"envoy_cluster_name=~{starting_with(namespace + '/')}")
        return {
            "sent": Family(SENT, _BY, ends),
            "received": Family(RECEIVED, _BY, ends),
            "requests": Family(REQUESTS, _BY, ends),
        }

    def rates(self, answered: Answered, directory: Directory) -> Rates:
        pairs = {
            name: collected((_pair(each, directory), each) for each in answered.get(name, ()))
            for name in ("sent", "received", "requests")
        }
        return Rates(bytes=summed(pairs["sent"], pairs["received"]), requests=pairs["requests"])


def _pair(reading: Reading, directory: Directory) -> Pair | None:
    labels = reading.labels
    namespace = labels.get("namespace", "")
    place = directory.pod(namespace, labels.get("pod", ""))
    if labels.get("workload"):
        caller = Ref(namespace, labels["workload"])
    elif place is not None:
        caller = place.workload
    else:
        return None
    space, _, name = labels.get("envoy_cluster_name", "").rpartition("/")
    callee = Ref(space or namespace, name)
    if callee == caller or not directory.exists(callee):
        return None
    if directory.lets_users_in(caller):
        return (users_at(place.node), callee) if place is not None and place.node else None
    return (caller, callee) if directory.exists(caller) else None
