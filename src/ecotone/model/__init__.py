"""The vocabulary: nodes, pods, workloads, the network between them, a snapshot of all that, and decisions about it.

Pure values and columns. Nothing here knows Kubernetes' wire format, a clock, a file or a socket.
"""

from typing import TYPE_CHECKING

from ecotone.lazily import offered

if TYPE_CHECKING:
    from ecotone.model.columns.network import Network, NetworkMap
    from ecotone.model.columns.nodes import NodeTable
    from ecotone.model.decisions import Bind, Decision, Decisions, Evict, Preempt, Wait
    from ecotone.model.errors import EcotoneError, InputError, OutsideError
    from ecotone.model.objects import Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
    from ecotone.model.snapshot import Snapshot
    from ecotone.model.state import ClusterState

__all__ = [
    "Bind",
    "ClusterState",
    "Decision",
    "Decisions",
    "EcotoneError",
    "Evict",
    "InputError",
    "Network",
    "NetworkMap",
    "Node",
    "NodeTable",
    "OutsideError",
    "Pod",
    "PodKind",
    "PodSpec",
    "Preempt",
    "Snapshot",
    "Wait",
    "Workload",
    "WorkloadKey",
]

__getattr__ = offered(
    __name__,
    {
        "Bind": "decisions",
        "ClusterState": "state",
        "Decision": "decisions",
        "Decisions": "decisions",
        "EcotoneError": "errors",
        "Evict": "decisions",
        "InputError": "errors",
        "Network": "columns.network",
        "NetworkMap": "columns.network",
        "Node": "objects",
        "NodeTable": "columns.nodes",
        "OutsideError": "errors",
        "Pod": "objects",
        "PodKind": "objects",
        "PodSpec": "objects",
        "Preempt": "decisions",
        "Snapshot": "snapshot",
        "Wait": "decisions",
        "Workload": "objects",
        "WorkloadKey": "objects",
    },
)
