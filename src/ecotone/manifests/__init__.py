"""Kubernetes objects to the model and back. Files and the API server share everything here but the transport.

`read_paths` turns files into a snapshot, `Objects` applies single objects to a `ClusterState` for a live cache.
"""

from ecotone.manifests.nodes import to_node
from ecotone.manifests.pods import Interner, Priorities, to_pod
from ecotone.manifests.reading import read_objects, read_paths
from ecotone.manifests.store import Objects
from ecotone.manifests.workloads import to_workload

__all__ = [
    "Interner",
    "Objects",
    "Priorities",
    "read_objects",
    "read_paths",
    "to_node",
    "to_pod",
    "to_workload",
]
