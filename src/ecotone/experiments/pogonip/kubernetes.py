"""The paper's test bed as kube-scheduler and the two benchmark policies saw it: edge nodes alone, pod by pod.

The nodes were containers on one machine, so each reported the whole machine's CPU and memory; what a Raspberry Pi has
was declared as two extended resources, and pods requested those. kube-scheduler filters by extended resources but
scores by CPU and memory alone, of which every pod asked for nothing: it spreads, almost blindly, and avoids the node
where the control plane's own pods run. Reproducing its published behaviour needs this cluster, not one with honest
resources. First-fit and Round-robin only filter, so it is the same to them.
"""

from collections.abc import Mapping, Sequence

from ecotone.model.decisions import Bind
from ecotone.model.objects import Node, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.placement.heuristic.pod_by_pod import PENDING, Run, manifest_order
from ecotone.placement.heuristic.pod_by_pod import Pod as PodIndex
from ecotone.placement.problem.instance import Instance
from ecotone.scheduling.decide import decide

FAKE_CPU, FAKE_MEMORY = "rainbow-h2020.eu/fake-cpu", "rainbow-h2020.eu/fake-memory"
MACHINE = {"cpu": 22_000, "memory": 62_900 * 2**20, "pods": 110}
MIB = 2**20
# What a cluster of that tool and age runs by itself: (CPU in millicores, memory in MiB) of each pod.
ON_CONTROL_NODE = ((100, 100), (250, 0), (200, 0), (100, 0), (100, 70), (100, 70))
ON_EVERY_NODE = ((100, 50), (0, 0))


def scheduled(
    instance: Instance,
    policy: str,
    *,
    order: Sequence[PodIndex] | None = None,
    seed: int = 0,
    memory: Mapping[str, object] | None = None,
) -> Run:
    """Where a scheduling policy puts the pods of `instance` on its edge nodes, created in this order.

    `memory` is what the policy remembered of the run before: the paper's second Round-robin starts where its first one
    ended, which is why its placements differ from run to run.
    """
    state = ClusterState(seed=seed)
    state.memory = dict(memory or {})
    edge = [instance.hosts[i] for i in instance.edge]
    state.set_nodes(
        Node(host.name, allocatable={**MACHINE, FAKE_CPU: host.free[0], FAKE_MEMORY: host.free[1]}) for host in edge
    )
    for host in edge:
        own = ON_CONTROL_NODE if host.name in instance.control else ()
        for k, (cpu, mebibytes) in enumerate((*own, *ON_EVERY_NODE)):
            state.put_pod(_pod(f"system-{host.name}-{k}", {"cpu": cpu, "memory": mebibytes * MIB}, node=host.name))
    listed = manifest_order(instance) if order is None else order
    pods: dict[str, PodIndex] = {}
    for moment, (a, i) in enumerate(listed):
        application = instance.applications[a]
        component = application.components[i]
        name = f"{application.name}-{component.name}"
        wanted = {FAKE_CPU: component.demand[0], FAKE_MEMORY: component.demand[1]}
        pod = _pod(name, wanted, created=float(moment))
        pods[pod.key] = (a, i)
        state.put_pod(pod)
    rows = [[PENDING] * len(application.components) for application in instance.applications]
    answer = decide(state.freeze(), policy)
    for decision in answer.decisions:
        if isinstance(decision, Bind):
            a, i = pods[decision.pod]
            rows[a][i] = instance.index[decision.node]
    return Run(hosts=tuple(tuple(row) for row in rows), memory=answer.memory)


def _pod(name: str, requests: dict[str, int], *, node: str | None = None, created: float = 0.0) -> Pod:
    spec = PodSpec(
        requests=tuple(sorted((resource, amount) for resource, amount in requests.items() if amount)),
        nonzero=(requests.get("cpu") or 100, requests.get("memory") or 200 * MIB),
    )
    kind = PodKind(namespace="default", workload=WorkloadKey("default", name), labels=(("app", name),), spec=spec)
    return Pod(name, uid=name, kind=kind, node=node, phase="Pending" if node is None else "Running", created=created)
