"""What every key of ours means, on which objects it stands, and what its value looks like.

`keys` reads them; this is the list for people, from which the reference page is printed. A test holds it complete: a key that
the code knows and this list does not is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.manifests import keys

NODE, WORKLOAD, TEMPLATE, POD = "Node", "workload", "pod template", "Pod"
ANNOTATION, LABEL = "annotation", "label"
_PEERS = "JSON object, peer to number"
_NODES = "JSON object, node to number"


@dataclass(frozen=True, slots=True)
class Key:
    """`on` says which objects, `kind` whether label or annotation. `written`: by Ecotone itself, not by people."""

    on: str
    kind: str
    value: str
    meaning: str
    written: bool = False


OURS: dict[str, Key] = {
    keys.TIER: Key(NODE, LABEL, "`cloud`, `fog` or `edge`", "Which tier the node belongs to."),
    keys.PRICE: Key(NODE, LABEL, "number", "What an hour of the node costs, in any currency."),
    keys.LATENCIES: Key(NODE, ANNOTATION, _NODES, "Round trips to other nodes, in milliseconds.", written=True),
    keys.BANDWIDTHS: Key(NODE, ANNOTATION, _NODES, "Bandwidth to other nodes; policy `nas` reads it.", written=True),
    keys.LOSSES: Key(NODE, ANNOTATION, _NODES, "Share of packets lost to other nodes, 0 to 1.", written=True),
    keys.COORDINATES: Key(
        NODE, ANNOTATION, "JSON object: `vector`, `height`, `error`",
        "Network coordinates in milliseconds: round trips of pairs that nobody measured are predicted from them.", written=True,
    ),
    keys.AVAILABLE_CPU: Key(NODE, ANNOTATION, "quantity", "CPU that is not in use now.", written=True),
    keys.AVAILABLE_MEMORY: Key(NODE, ANNOTATION, "quantity", "Memory that is not in use now.", written=True),
    keys.MEASURED_AT: Key(
        f"{NODE}, {WORKLOAD}", ANNOTATION, "RFC 3339 time",
        "When the oldest value beside it was measured; what is older than `--max-age` is unknown.", written=True,
    ),
    keys.MEASURED_FROM: Key(
        f"{NODE}, {WORKLOAD}", ANNOTATION, "RFC 3339 time", "Kept for the monitor: since when the values are measured.",
        written=True,
    ),
    keys.ERRORS: Key(
        f"{NODE}, {WORKLOAD}", ANNOTATION, "JSON object", "Kept for the monitor: how far the values beside it may be off.",
        written=True,
    ),
    keys.CPU_USAGE: Key(WORKLOAD, ANNOTATION, "quantity", "CPU in use, average per pod.", written=True),
    keys.MEMORY_USAGE: Key(WORKLOAD, ANNOTATION, "quantity", "Memory in use, average per pod.", written=True),
    keys.TRAFFIC: Key(
        WORKLOAD, ANNOTATION, _PEERS,
        "Bytes per second between the two, both directions. Users who enter at a node are the peer `users@NODE`.", written=True,
    ),
    keys.REQUESTS: Key(WORKLOAD, ANNOTATION, _PEERS, "Requests per second between the two.", written=True),
    keys.CALLS: Key(WORKLOAD, ANNOTATION, _PEERS, "Requests per second sent to the peer: the direction.", written=True),
    keys.EDGE_SHARE: Key(WORKLOAD, ANNOTATION, "0 to 1", "QoS target: the share of its pods promised to the edge."),
    keys.TARGET_LATENCY: Key(WORKLOAD, ANNOTATION, "`50ms`, `1.5s`, or milliseconds", "QoS target: mean latency of its pods."),
    keys.REDUNDANCY: Key(
        WORKLOAD, ANNOTATION, "`none`, `node` or `zone`",
        "What its replicas are kept apart for: nothing, the loss of any node, the loss of any zone as well.",
    ),
    keys.AFFINITY: Key(TEMPLATE, ANNOTATION, _PEERS, "Priority of the channel to the peer (static affinity), on both ends."),
    keys.DEADLINES: Key(TEMPLATE, ANNOTATION, _PEERS, "Longest round trip to the peer, in milliseconds."),
    keys.SOFT_DEADLINES: Key(TEMPLATE, ANNOTATION, _PEERS, "The same, but a node beyond it is dearer, not impossible."),
    keys.PROTOCOLS: Key(
        TEMPLATE, ANNOTATION, "JSON object, peer to protocol",
        "`HTTP`, `gRPC`, `TCP` and `synchronous` are waited for; `AMQP`, `MQTT`, `HTTPServerPush` and `asynchronous` are not.",
    ),
    keys.INDEX: Key(TEMPLATE, LABEL, "whole number", "Level in the application's graph, entry points 0."),
    keys.ROLE: Key(
        TEMPLATE, LABEL, "`message-queue`, `input-proxy`",
        "The queue of an asynchronous application, or a proxy through which users enter at a node.",
    ),
    keys.MAX_LATENCY: Key(
        TEMPLATE, ANNOTATION, "`50ms`, `1.5s`, or milliseconds",
        "Longest round trip to the application's queue; without a queue, to callers and users.",
    ),
    keys.EXTERNAL: Key(WORKLOAD, ANNOTATION, "text", "The workload is an output proxy and stands in for this service outside."),
    "ecotone.dev/descheduling": Key(POD, ANNOTATION, "`disabled`", "The pod is never moved."),
    "ecotone.dev/reaches": Key(
        "Namespace, Pod", LABEL, "`true`",
        "May reach the ports of our programs: all pods of the namespace, or a pod beside the programs.",
    ),
    keys.WHY: Key(POD, ANNOTATION, "text", "Why the pod is on its node; set in the same write as the node.", written=True),
    keys.NONZERO: Key(
        POD, ANNOTATION, "JSON object",
        "In dumps of `ecotone snapshot`: the requests that scores count, where the pod's own say otherwise.",
        written=True,
    ),
    "ecotone.dev/surge": Key(
        "Deployment", ANNOTATION, "JSON object", "A replacement that was started first, until it is done.", written=True
    ),
    "ecotone.dev/by": Key("Reservation", ANNOTATION, "text", "Which descheduler made it.", written=True),
    "ecotone.dev/lease-duration-ms": Key(
        "Lease", ANNOTATION, "whole number", "The exact duration of a leader's lease.", written=True
    ),
}  # fmt: skip

# Keys of other tools of the family, read where ours is missing.
THEIRS: dict[str, Key] = {
    keys.APP_GROUP: Key(f"{WORKLOAD}, {TEMPLATE}", LABEL, "text", "The application it belongs to; ours too."),
    keys.APP: Key(f"{WORKLOAD}, {TEMPLATE}", LABEL, "text", "The workload's name, where a pod has no owner."),
    "available-cpu": Key(NODE, ANNOTATION, "millicores", "As `ecotone.dev/available-cpu`."),
    "available-memory": Key(NODE, ANNOTATION, "MiB", "As `ecotone.dev/available-memory`."),
    "cpu-usage": Key(WORKLOAD, ANNOTATION, "millicores", "As `ecotone.dev/cpu-usage`."),
    "memory-usage": Key(WORKLOAD, ANNOTATION, "MiB", "As `ecotone.dev/memory-usage`."),
    "index": Key(TEMPLATE, LABEL, "whole number", "As `ecotone.dev/index`."),
    "network-cost-": Key(NODE, ANNOTATION, "milliseconds", "`network-cost-NODE`: round trip to that node."),
    "l-": Key(NODE, ANNOTATION, "milliseconds", "`l-NODE`: the same."),
    "network-latency.": Key(NODE, ANNOTATION, "milliseconds", "`network-latency.NODE`: the same."),
    "network-bandwidth.": Key(NODE, ANNOTATION, "number", "`network-bandwidth.NODE`: bandwidth to that node."),
    "packet-loss.": Key(NODE, ANNOTATION, "per cent", "`packet-loss.NODE`: packets lost to that node."),
    "daff-": Key(
        WORKLOAD,
        ANNOTATION,
        "bytes per second",
        "`daff-PEER`: traffic with a workload, or an input proxy's pod.",
    ),
    "traff-": Key(WORKLOAD, ANNOTATION, "bytes per second", "`traff-PEER`: the same."),
    "traffic.": Key(WORKLOAD, ANNOTATION, "bytes per second", "`traffic.PEER`: the same."),
    "traffic-": Key(WORKLOAD, ANNOTATION, "bytes per second", "`traffic-PEER`: the same."),
    "rps.": Key(WORKLOAD, ANNOTATION, "requests per second", "`rps.PEER`: requests between the two."),
    "saff-": Key(TEMPLATE, ANNOTATION, "number", "`saff-PEER`: static affinity to that workload."),
}
