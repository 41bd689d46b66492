"""Where each kind of object lives in the API: the one table of paths.

Only what Ecotone reads or writes is listed. A name that becomes part of a path is checked first, wherever it came from:
``vault-1/eviction`` as the name of a pod would otherwise be a request for another resource.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from ecotone.model.errors import InputError

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


@lru_cache(maxsize=1024)
def is_label(text: str) -> bool:
    """True if this can be a namespace's name (DNS-1123 label)."""
    return _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """True if this can be the name of a pod, a node or most other objects (DNS-1123 subdomain)."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


class Resource(msgspec.Struct, frozen=True):
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace is not None and self.namespaced:
            if not is_label(namespace):
                raise InputError(
                    f"{namespace[:80]!r} is no name of a namespace", hint="lower case letters, digits and -"
                )
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            if not is_subdomain(name):
                raise InputError(
                    f"{name[:80]!r} is no name of a {self.kind}", hint="lower case letters, digits, - and ."
                )
            parts.append(name)
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICES = Resource("", "v1", "services", "Service")
REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers", "ReplicationController")
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
PDBS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
SUBJECT_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
NETWORK_MAPS = Resource("ecotone.dev", "v1alpha1", "networkmaps", "NetworkMap", namespaced=False)
RESERVATIONS = Resource("ecotone.dev", "v1alpha1", "reservations", "Reservation")
APP_GROUPS = Resource("ecotone.dev", "v1alpha1", "appgroups", "AppGroup")
ADMISSION_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
ADMISSION_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
HPAS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")

# What a decision reads beside nodes and pods: a one-off look at a cluster and a running scheduler must read the same.
SURROUNDINGS = (
    NAMESPACES,
    SERVICES,
    REPLICATION_CONTROLLERS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    PDBS,
    STORAGE_CLASSES,
    PERSISTENT_VOLUMES,
    PERSISTENT_VOLUME_CLAIMS,
    CSI_NODES,
    NETWORK_MAPS,
    RESERVATIONS,
    APP_GROUPS,
)
