"""Which pods may be moved at all.

Never: mirror, DaemonSet and bare pods, system-critical priorities, pods on their way out, pods whose data would stay
behind, pods that more than one disruption budget claims (the API server refuses those), and pods of other schedulers.
"""

from __future__ import annotations

from ecotone.model.objects import DisruptionBudget, Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings

SYSTEM_CRITICAL = 2_000_000_000


def why_not(state: ClusterState, pod: Pod, settings: DeschedulerSettings) -> str | None:
    """The reason a pod stays where it is whatever the gain, or None."""
    spec = pod.spec
    if pod.mirror:
        return "a mirror pod belongs to its kubelet"
    if pod.owner is None:
        return "a bare pod would not come back"
    if pod.kind.workload.kind == "DaemonSet":
        return "a DaemonSet pod belongs to its node"
    if spec.priority >= SYSTEM_CRITICAL:
        return "its priority is system-critical"
    if pod.deleting or pod.terminal:
        return "it is on its way out"
    if settings.scheduler_names is not None and spec.scheduler_name not in settings.scheduler_names:
        return f"scheduler {spec.scheduler_name!r} would place its replacement"
    if pod.pinned:
        return pod.pinned
    if settings.stays is not None and (reason := settings.stays(pod)) is not None:
        return reason
    if spec.local_storage and not pod.storage_expendable and not settings.local_storage:
        return "its local storage would be lost"
    if spec.claims and not settings.volume_claims:
        return "it holds volume claims"
    if spec.resource_claims and not settings.resource_claims:
        return "it holds resource claims"
    if len(budgets_of(state, pod)) > 1:
        return "more than one disruption budget covers it"
    if pod.bound_at is not None and state.now - pod.bound_at < settings.min_pod_age:
        return "it has just come"
    return None


def budgets_of(state: ClusterState, pod: Pod) -> list[DisruptionBudget]:
    labels = dict(pod.kind.labels)
    return [each for each in state.budgets_in(pod.namespace) if each.selector.matches(labels)]
