"""What Kubernetes' default plugins say, as plain loops over pods and nodes.

Written from the documented behaviour for one purpose: to be obviously right where the engine is fast. No arrays, no caches,
no shared code beyond the model's values. Property tests compare the two; benchmarks measure against this file unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ecotone.model.objects import HostPort, Node, Pod, ServiceSelector, Workload, WorkloadKey
from ecotone.model.selectors import LabelSelector, NodeTerm, PodTerm, Requirement, SpreadConstraint, Taint, Toleration
from ecotone.model.snapshot import Snapshot

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


@dataclass
class Cluster:
    nodes: list[Node]
    pods: dict[str, list[Pod]]
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    services: tuple[ServiceSelector, ...] = ()
    workloads: Mapping[WorkloadKey, Workload] = field(default_factory=dict)

    @staticmethod
    def of(snapshot: Snapshot) -> Cluster:
        pods: dict[str, list[Pod]] = {node.name: [] for node in snapshot.nodes.nodes}
        for pod in snapshot.usage.pods():
            pods[pod.node or ""].append(pod)
        return Cluster(list(snapshot.nodes.nodes), pods, snapshot.namespaces, snapshot.services, snapshot.workloads)

    def place(self, pod: Pod, node: str) -> None:
        self.pods[node].append(pod.on(node))

    def remove(self, key: str) -> None:
        for node in self.pods:
            self.pods[node] = [pod for pod in self.pods[node] if pod.key != key]


# Selectors


def label_matches(requirement: Requirement, value: str | None) -> bool:
    if requirement.operator == "In":
        return value is not None and value in requirement.values
    if requirement.operator == "NotIn":
        return value is None or value not in requirement.values
    if requirement.operator == "Exists":
        return value is not None
    if requirement.operator == "DoesNotExist":
        return value is None
    if value is None or not value.lstrip("-").isdigit():
        return False
    bound = int(requirement.values[0])
    return int(value) > bound if requirement.operator == "Gt" else int(value) < bound


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    if selector.nothing:
        return False
    return all(label_matches(requirement, labels.get(requirement.key)) for requirement in selector.requirements)


def node_matches_term(term: NodeTerm, node: Node) -> bool:
    if not term.expressions and not term.fields:
        return False
    for requirement in term.expressions:
        if not label_matches(requirement, node.labels.get(requirement.key)):
            return False
    for requirement in term.fields:
        if requirement.key != "metadata.name" or not label_matches(requirement, node.name):
            return False
    return True


def node_is_required(pod: Pod, node: Node) -> bool:
    for key, value in pod.spec.node_selector:
        if node.labels.get(key) != value:
            return False
    required = pod.spec.node_affinity.required
    if required is None:
        return True
    return any(node_matches_term(term, node) for term in required)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.key != "" and toleration.value == taint.value


def kept_out(pod: Pod, node: Node) -> bool:
    for taint in node.taints:
        if taint.effect == "PreferNoSchedule":
            continue
        if not any(tolerates(toleration, taint) for toleration in pod.spec.tolerations):
            return True
    return False


# Filters: the reasons a node fails, none if it passes


def unschedulable(cluster: Cluster, pod: Pod, node: Node) -> bool:
    cordon = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    return node.unschedulable and not any(tolerates(each, cordon) for each in pod.spec.tolerations)


def port_taken(cluster: Cluster, pod: Pod, node: Node) -> bool:
    def clash(one: HostPort, two: HostPort) -> bool:
        anywhere = "0.0.0.0" in (one.ip, two.ip) or one.ip == two.ip
        return one.port == two.port and one.protocol == two.protocol and anywhere

    for other in cluster.pods[node.name]:
        for theirs in other.spec.host_ports:
            for mine in pod.spec.host_ports:
                if clash(mine, theirs):
                    return True
    return False


def no_room(cluster: Cluster, pod: Pod, node: Node) -> bool:
    there = cluster.pods[node.name]
    if len(there) + 1 > node.allocatable.get("pods", 110):
        return True
    for resource, amount in pod.spec.requests:
        taken = sum(other.spec.request(resource) for other in there)
        if amount > 0 and amount > node.allocatable.get(resource, 0) - taken:
            return True
    return False


def default_selector(cluster: Cluster, pod: Pod) -> LabelSelector:
    labels = dict(pod.kind.labels)
    requirements: list[Requirement] = []
    for service in cluster.services:
        if service.namespace == pod.namespace and selects(service.selector, labels):
            requirements += service.selector.requirements
    workload = cluster.workloads.get(pod.kind.workload)
    if workload is not None and workload.selector is not None:
        if workload.key.kind in ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"):
            requirements += workload.selector.requirements
        if workload.key.kind == "Deployment" and "pod-template-hash" in labels:
            requirements.append(Requirement("pod-template-hash", "In", (labels["pod-template-hash"],)))
    return LabelSelector(tuple(requirements))


def constraints_of(cluster: Cluster, pod: Pod, action: str) -> list[SpreadConstraint]:
    if pod.spec.spread:
        return [each for each in pod.spec.spread if each.when_unsatisfiable == action]
    selector = default_selector(cluster, pod)
    if action == "DoNotSchedule" or not selector.requirements:
        return []
    return [SpreadConstraint(3, HOSTNAME, action, selector), SpreadConstraint(5, ZONE, action, selector)]


def matching_pods(cluster: Cluster, pod: Pod, node: Node, selector: LabelSelector) -> int:
    if not selector.requirements:
        return 0
    count = 0
    for other in cluster.pods[node.name]:
        if other.namespace == pod.namespace and not other.deleting and selects(selector, dict(other.kind.labels)):
            count += 1
    return count


def counts_for(constraint: SpreadConstraint, pod: Pod, node: Node) -> bool:
    if constraint.node_affinity_policy == "Honor" and not node_is_required(pod, node):
        return False
    return not (constraint.node_taints_policy == "Honor" and kept_out(pod, node))


def too_skewed(cluster: Cluster, pod: Pod, node: Node) -> bool:
    constraints = constraints_of(cluster, pod, "DoNotSchedule")
    for constraint in constraints:
        domains: dict[str, int] = {}
        for each in cluster.nodes:
            if any(other.topology_key not in each.labels for other in constraints):
                continue
            if counts_for(constraint, pod, each):
                value = each.labels[constraint.topology_key]
                domains[value] = domains.get(value, 0) + matching_pods(cluster, pod, each, constraint.selector)
        if constraint.topology_key not in node.labels:
            return True
        fewest = min(domains.values(), default=0) if len(domains) >= constraint.min_domains else 0
        itself = 1 if selects(constraint.selector, dict(pod.kind.labels)) else 0
        if domains.get(node.labels[constraint.topology_key], 0) + itself - fewest > constraint.max_skew:
            return True
    return False


def term_about(cluster: Cluster, term: PodTerm, other: Pod) -> bool:
    if other.namespace not in term.namespaces:
        labels = cluster.namespaces.get(other.namespace, {})
        if not selects(term.namespace_selector, labels):
            return False
    return selects(term.selector, dict(other.kind.labels))


def same_domain(one: Node, two: Node, key: str) -> bool:
    return key in one.labels and one.labels.get(key) == two.labels.get(key)


def affinity_broken(cluster: Cluster, pod: Pod, node: Node) -> bool:
    terms = pod.spec.pod_affinity.required
    if not terms:
        return False
    if any(term.topology_key not in node.labels for term in terms):
        return True
    partners = [
        (other, where)
        for where in cluster.nodes
        for other in cluster.pods[where.name]
        if all(term_about(cluster, term, other) for term in terms)
    ]
    if all(any(same_domain(where, node, term.topology_key) for _, where in partners) for term in terms):
        return False
    reachable = any(term.topology_key in where.labels for _, where in partners for term in terms)
    return reachable or not all(term_about(cluster, term, pod) for term in terms)


def anti_affinity_broken(cluster: Cluster, pod: Pod, node: Node) -> bool:
    for where in cluster.nodes:
        for other in cluster.pods[where.name]:
            for term in pod.spec.pod_anti_affinity.required:
                if same_domain(where, node, term.topology_key) and term_about(cluster, term, other):
                    return True
            for term in other.spec.pod_anti_affinity.required:
                if same_domain(where, node, term.topology_key) and term_about(cluster, term, pod):
                    return True
    return False


FILTERS = {
    "NodeUnschedulable": unschedulable,
    "TaintToleration": lambda cluster, pod, node: kept_out(pod, node),
    "NodeAffinity": lambda cluster, pod, node: not node_is_required(pod, node),
    "NodePorts": port_taken,
    "NodeResourcesFit": no_room,
    "PodTopologySpread": too_skewed,
    "InterPodAffinity": lambda cluster, pod, node: (
        affinity_broken(cluster, pod, node) or anti_affinity_broken(cluster, pod, node)
    ),
}


def feasible(cluster: Cluster, pod: Pod) -> list[Node]:
    return [node for node in cluster.nodes if not any(fails(cluster, pod, node) for fails in FILTERS.values())]


# Scores: 0..100 per feasible node, in whole numbers

Scores = dict[str, int]


def scaled(raw: Scores, *, reverse: bool) -> Scores:
    most = max(raw.values(), default=0)
    if most == 0:
        return dict.fromkeys(raw, 100) if reverse else raw
    return {name: 100 - 100 * value // most if reverse else 100 * value // most for name, value in raw.items()}


def taint_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    tolerations = [each for each in pod.spec.tolerations if each.effect in ("", "PreferNoSchedule")]
    raw = {}
    for node in nodes:
        raw[node.name] = sum(
            taint.effect == "PreferNoSchedule" and not any(tolerates(each, taint) for each in tolerations)
            for taint in node.taints
        )
    return scaled(raw, reverse=True)


def node_affinity_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    raw = {}
    for node in nodes:
        raw[node.name] = sum(term.weight for term in pod.spec.node_affinity.preferred if node_matches_term(term, node))
    return scaled(raw, reverse=False)


def least_allocated_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    scores = {}
    for node in nodes:
        total = weights = 0
        for place, resource in enumerate(("cpu", "memory")):
            capacity = node.allocatable.get(resource, 0)
            if capacity == 0:
                continue
            asked = pod.spec.nonzero[place] + sum(other.spec.nonzero[place] for other in cluster.pods[node.name])
            total += 0 if asked > capacity else (capacity - asked) * 100 // capacity
            weights += 1
        scores[node.name] = total // weights if weights else 0
    return scores


def balanced_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    if pod.spec.request("cpu") == 0 and pod.spec.request("memory") == 0:
        return {}

    def balance(node: Node, pods: list[Pod]) -> int:
        fractions = []
        for resource in ("cpu", "memory"):
            if node.allocatable.get(resource, 0):
                taken = sum(each.spec.request(resource) for each in pods)
                fractions.append(min(1.0, taken / node.allocatable[resource]))
        deviation = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
        return int((1 - deviation) * 100.0)

    scores = {}
    for node in nodes:
        there = cluster.pods[node.name]
        scores[node.name] = 50 + (50 + balance(node, [*there, pod]) - balance(node, there)) // 2
    return scores


def spread_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    constraints = constraints_of(cluster, pod, "ScheduleAnyway")
    if not constraints:
        return {}
    need_all = bool(pod.spec.spread)

    def ignored(node: Node) -> bool:
        return need_all and any(each.topology_key not in node.labels for each in constraints)

    judged = [node for node in nodes if not ignored(node)]
    raw: dict[str, int] = {}
    for node in judged:
        score = 0.0
        for constraint in constraints:
            key = constraint.topology_key
            if key not in node.labels:
                continue
            if key == HOSTNAME:
                size, count = len(judged), matching_pods(cluster, pod, node, constraint.selector)
            else:
                size, count = len({each.labels.get(key, "") for each in judged}), 0
                for each in cluster.nodes:
                    if same_domain(each, node, key) and not ignored(each) and counts_for(constraint, pod, each):
                        count += matching_pods(cluster, pod, each, constraint.selector)
            score += count * math.log(size + 2) + (constraint.max_skew - 1)
        raw[node.name] = math.floor(score) + (1 if score - math.floor(score) >= 0.5 else 0)
    most, fewest = max(raw.values(), default=0), min(raw.values(), default=0)
    scores = dict.fromkeys((node.name for node in nodes), 0)
    for name, value in raw.items():
        scores[name] = 100 if most == 0 else 100 * (most + fewest - value) // most
    return scores


def pod_affinity_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    raw = dict.fromkeys((node.name for node in nodes), 0)
    for where in cluster.nodes:
        for other in cluster.pods[where.name]:
            opinions = [(term, term.weight, other) for term in pod.spec.pod_affinity.preferred]
            opinions += [(term, -term.weight, other) for term in pod.spec.pod_anti_affinity.preferred]
            opinions += [(term, 1, pod) for term in other.spec.pod_affinity.required]
            opinions += [(term, term.weight, pod) for term in other.spec.pod_affinity.preferred]
            opinions += [(term, -term.weight, pod) for term in other.spec.pod_anti_affinity.preferred]
            for term, weight, about in opinions:
                if term_about(cluster, term, about):
                    for node in nodes:
                        if same_domain(where, node, term.topology_key):
                            raw[node.name] += weight
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    if low == high:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * ((value - low) / (high - low))) for name, value in raw.items()}


def image_score(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    megabyte = 1024 * 1024
    most = 1000 * megabyte * pod.spec.containers
    scores = {}
    for node in nodes:
        total = 0
        for image in pod.spec.images:
            if image in node.images:
                holders = sum(image in each.images for each in cluster.nodes)
                total += int(node.images[image] * (holders / len(cluster.nodes)))
        total = min(max(total, 23 * megabyte), most)
        scores[node.name] = 100 * (total - 23 * megabyte) // (most - 23 * megabyte)
    return scores


SCORES = {
    "TaintToleration": taint_score,
    "NodeAffinity": node_affinity_score,
    "NodeResourcesFit": least_allocated_score,
    "PodTopologySpread": spread_score,
    "InterPodAffinity": pod_affinity_score,
    "NodeResourcesBalancedAllocation": balanced_score,
    "ImageLocality": image_score,
}


def totals(cluster: Cluster, pod: Pod, nodes: list[Node]) -> Scores:
    total = dict.fromkeys((node.name for node in nodes), 0)
    for name, score in SCORES.items():
        for node, value in score(cluster, pod, nodes).items():
            total[node] += WEIGHTS[name] * value
    return total
