"""Kubernetes objects to the model and back. Files and the API server share everything here but the transport.

`read_paths` turns files into a snapshot, `ObjectStore` applies single objects to a `ClusterSink`: a state or a live cache.
"""

from typing import TYPE_CHECKING

from ecotone.lazily import offered

if TYPE_CHECKING:
    from ecotone.manifests.files import read_objects, read_paths
    from ecotone.manifests.reading.nodes import to_node
    from ecotone.manifests.reading.pods import Interner, Priorities, to_pod
    from ecotone.manifests.reading.workloads import to_workload
    from ecotone.manifests.sink import ClusterSink
    from ecotone.manifests.store import ObjectStore

__all__ = [
    "ClusterSink",
    "Interner",
    "ObjectStore",
    "Priorities",
    "read_objects",
    "read_paths",
    "to_node",
    "to_pod",
    "to_workload",
]

__getattr__ = offered(
    __name__,
    {
        "ClusterSink": "sink",
        "Interner": "reading.pods",
        "ObjectStore": "store",
        "Priorities": "reading.pods",
        "read_objects": "files",
        "read_paths": "files",
        "to_node": "reading.nodes",
        "to_pod": "reading.pods",
        "to_workload": "reading.workloads",
    },
)
