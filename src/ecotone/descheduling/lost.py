"""Pods on nodes that are not ready any more: their replacements start elsewhere before Kubernetes' own patience ends.

Kubernetes deletes such pods after five minutes. With `rescueAfterSeconds` those of Deployments are asked to leave sooner; the
replacement comes at once, and the old pod goes when its node is back or is deleted. Pods with volumes stay: nobody knows
whether the node still writes to them. Nothing is done where no node takes the replacement, or while half of the nodes are
not ready: then it is the network that fails, or the control plane.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.descheduling.run import Run
from ecotone.model.decisions import Evict
from ecotone.model.objects import Node, Pod
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Cycle

REPLACED_AT_ONCE = frozenset({"Deployment", "ReplicaSet"})
_MOST = 0.5  # of the nodes


def replace_lost(run: Run) -> None:
    """The most important first, as many as a run may move."""
    after, nodes = run.settings.rescue_after, run.state.nodes.nodes
    if after is None or sum(not node.ready for node in nodes) > _MOST * len(nodes):
        return
    lost = [
        (pod, node)
        for row, node in enumerate(nodes)
        if (since := _silent(run, node)) is not None and since >= after
        for pod in run.state.usage.pods_on[row]
        if _may_go(run, pod)
    ]
    for pod, node in sorted(lost, key=lambda pair: (-pair[0].spec.priority, pair[0].key)):
        if run.full:
            return
        _replace(run, pod, node)


def _silent(run: Run, node: Node) -> float | None:
    """Seconds for which a node has not been ready."""
    return None if node.ready or node.unready_since is None else run.state.now - node.unready_since


def _may_go(run: Run, pod: Pod) -> bool:
    """Disruption budgets have no say here, the pod serves nobody: the API server asks them, and may refuse."""
    only = run.settings.only
    if only is not None and pod.kind.workload not in only:
        return False
    plain = not (pod.ready or pod.spec.claims or pod.spec.resource_claims)
    return plain and pod.kind.workload.kind in REPLACED_AT_ONCE and run.may_move(pod)


def _replace(run: Run, pod: Pod, node: Node) -> None:
    comer = replace(pod, name=f"{pod.name}.replacement", uid=f"{pod.uid}.replacement", node=None, bound_at=None)
    evaluation = Evaluation(run.framework, Cycle(run.state, comer))
    row = evaluation.best() if evaluation.refusal is None else None
    if row is None:
        return
    target = run.state.nodes.names[row]
    silent = _silent(run, node) or 0.0
    why = f"{node.name} has not been ready for {silent:.0f} s: its replacement starts on {target}"
    run.moves.append(Evict(pod.key, node.name, target, 0.0, "ms", why, uid=pod.uid))
    run.ledger.accept(pod, disrupts=False)
    run.state.lift(pod.key)
    run.state.assume(comer, target)
