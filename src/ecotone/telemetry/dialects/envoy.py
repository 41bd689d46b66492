"""Envoy's own cluster metrics, for sidecars without a mesh around them and for our proxies.

The caller is the pod that is scraped; the callee is the Envoy cluster, named `workload` or `namespace/workload`. Nobody
vouches for what a caller says, so it counts in its own namespace, and elsewhere where the installation lists the caller.
A sidecar also has a cluster for its own service, the inbound leg: everything that arrives was already counted by its
caller, so it is left out. Bytes are those of the upstream connections, headers included, both ways.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.telemetry.dialects.base import Answered, Directory, Pair, Rates, collected, summed, users_at
from ecotone.telemetry.families import (
    MOST_PER_SECOND,
    SPEAKER_NAMESPACE,
    SPEAKER_NODE,
    SPEAKER_WORKLOAD,
    Family,
    Reading,
)
from ecotone.telemetry.promql import quoted, starting_with
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.speakers import Voices

SENT = "envoy_cluster_upstream_cx_tx_bytes_total"
RECEIVED = "envoy_cluster_upstream_cx_rx_bytes_total"
REQUESTS = "envoy_cluster_upstream_rq_total"

_BY = (SPEAKER_NAMESPACE, SPEAKER_WORKLOAD, SPEAKER_NODE, "envoy_cluster_name")


class Envoy:
    name = "envoy"

    def presence(self, namespace: str, directory: Directory) -> Sequence[Family]:
        return [self.families(namespace, directory)["sent"]]

    def families(self, namespace: str, directory: Directory) -> dict[str, Family]:  # noqa: ARG002 - the protocol's
        ends = (f"namespace={quoted(namespace)}", f"envoy_cluster_name=~{starting_with(namespace + '/')}")
        voices = Voices(namespace=namespace, listed=True)
        return {
            name: Family(metric, _BY, ends, voices=voices, placed=True, most=MOST_PER_SECOND)
            for name, metric in (("sent", SENT), ("received", RECEIVED), ("requests", REQUESTS))
        }

    def rates(self, answered: Answered, directory: Directory) -> Rates:
        pairs = {
            name: collected((_pair(each, directory), each) for each in answered.get(name, ()))
            for name in ("sent", "received", "requests")
        }
        return Rates(bytes=summed(pairs["sent"], pairs["received"]), requests=pairs["requests"])


def _pair(reading: Reading, directory: Directory) -> Pair | None:
    labels = reading.labels
    caller, node = Ref(labels[SPEAKER_NAMESPACE], labels[SPEAKER_WORKLOAD]), labels[SPEAKER_NODE]
    space, _, name = labels.get("envoy_cluster_name", "").rpartition("/")
    callee = Ref(space or caller.namespace, name)
    if not caller.name or callee == caller or not directory.exists(callee):
        return None
    if directory.lets_users_in(caller):
        return (users_at(node), callee) if node else None
    return (caller, callee) if directory.exists(caller) else None
