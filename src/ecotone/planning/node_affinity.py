"""A placement made to last: the nodes a plan chose, written into the workloads' own templates as node affinity.

Binding places a pod once; when its controller replaces it, the choice is forgotten. A required node affinity keeps it for
every later pod of the workload, whichever scheduler places them. One term per node (the API takes a single name per
term), terms are alternatives, so replicas on several nodes keep all of them. A workload with required node affinity of
its own is left alone: the two would have to be multiplied, and whoever wrote the first should decide. So is one whose
controller does not replace pods when its template changes: only Deployments and StatefulSets do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.model.decisions import Bind, Decision
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot

TEMPLATES_ROLL_OUT = ("Deployment", "StatefulSet")
OWN_AFFINITY = "it has required node affinity of its own"


@dataclass(frozen=True, slots=True)
class Patch:
    """A strategic merge patch of one workload."""

    workload: WorkloadKey
    nodes: tuple[str, ...]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LeftAlone:
    workload: WorkloadKey
    why: str


def affinity_patches(
    snapshot: Snapshot, decisions: Sequence[Decision]
) -> tuple[tuple[Patch, ...], tuple[LeftAlone, ...]]:
    """Patches that keep the binds of a plan, and the workloads that were left alone, with the reason."""
    chosen: dict[WorkloadKey, set[str]] = {}
    alone: dict[WorkloadKey, str] = {}
    for decision in decisions:
        pod = snapshot.pending.get(decision.pod) if isinstance(decision, Bind) else None
        if pod is None or not isinstance(decision, Bind):
            continue
        key = pod.kind.workload
        if key not in snapshot.workloads or key.kind == "Pod":
            alone[key] = "no workload with a pod template owns its pods"
        elif key.kind not in TEMPLATES_ROLL_OUT:
            alone[key] = f"a {key.kind} does not replace its pods when its template changes"
        elif pod.spec.node_affinity.required is not None:
            alone[key] = OWN_AFFINITY
        else:
            chosen.setdefault(key, set()).add(decision.node)
    for pod in snapshot.usage.pods():
        # Replicas that already run keep their nodes, or the next roll-out would move them.
        if pod.kind.workload in chosen and pod.is_peer and pod.node is not None:
            chosen[pod.kind.workload].add(pod.node)
    patches = tuple(Patch(key, tuple(sorted(nodes)), _body(nodes)) for key, nodes in sorted(chosen.items()))
    return patches, tuple(LeftAlone(key, why) for key, why in sorted(alone.items()))


def _body(nodes: set[str]) -> dict[str, Any]:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in sorted(nodes)]
    required = {"nodeSelectorTerms": terms}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"spec": {"template": {"spec": {"affinity": affinity}}}}
