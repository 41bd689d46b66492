"""The policies that exist by name, each a profile: data that can be printed, edited and passed back.

Published policies keep the default filters of Kubernetes. Those whose papers say so add their terms to the default scores
(`added`); the others rank nodes by their own terms alone, and the default scores only break ties between equal totals
(`ranked_by`). `kube-default` is the scheduler everybody has.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.model.errors import InputError, did_you_mean
from ecotone.scheduling.profiles.descheduler import BEST_GAIN, PLANS, SUGGESTIONS, TARGETS, THESIS, DeschedulerSettings
from ecotone.scheduling.profiles.own_policy import policy_of_file
from ecotone.scheduling.profiles.plugin_files import names_file, refuse_without_class
from ecotone.scheduling.profiles.profile import Objective, Profile, Solver, Use
from ecotone.scheduling.profiles.registry import (
    built_in,
    built_in_guide,
    built_in_report,
    built_in_rule,
    built_in_solver,
)

Policy = str | Profile

_HERE = "ecotone.scheduling.plugins"

built_in(
    SchedulingGates=f"{_HERE}.kubernetes.scheduling_gates:SchedulingGates",
    PrioritySort=f"{_HERE}.kubernetes.priority_sort:PrioritySort",
    NodeName=f"{_HERE}.kubernetes.node_name:NodeName",
    NodeUnschedulable=f"{_HERE}.kubernetes.node_unschedulable:NodeUnschedulable",
    TaintToleration=f"{_HERE}.kubernetes.taint_toleration:TaintToleration",
    NodeAffinity=f"{_HERE}.kubernetes.node_affinity:NodeAffinity",
    NodePorts=f"{_HERE}.kubernetes.node_ports:NodePorts",
    NodeResourcesFit=f"{_HERE}.kubernetes.node_resources_fit:NodeResourcesFit",
    NodeResourcesBalancedAllocation=f"{_HERE}.kubernetes.balanced_allocation:NodeResourcesBalancedAllocation",
    PodTopologySpread=f"{_HERE}.kubernetes.pod_topology_spread:PodTopologySpread",
    InterPodAffinity=f"{_HERE}.kubernetes.inter_pod_affinity:InterPodAffinity",
    ImageLocality=f"{_HERE}.kubernetes.image_locality:ImageLocality",
    VolumeRestrictions=f"{_HERE}.kubernetes.volumes.volume_restrictions:VolumeRestrictions",
    NodeVolumeLimits=f"{_HERE}.kubernetes.volumes.node_volume_limits:NodeVolumeLimits",
    VolumeBinding=f"{_HERE}.kubernetes.volumes.volume_binding:VolumeBinding",
    VolumeZone=f"{_HERE}.kubernetes.volumes.volume_zone:VolumeZone",
    DynamicResources=f"{_HERE}.kubernetes.dynamic_resources:DynamicResources",
    NodeDeclaredFeatures=f"{_HERE}.kubernetes.node_declared_features:NodeDeclaredFeatures",
    DefaultPreemption=f"{_HERE}.kubernetes.preemption.default_preemption:DefaultPreemption",
    IndexSort=f"{_HERE}.published.index_sort:IndexSort",
    ResourceAware=f"{_HERE}.published.resource_aware:ResourceAware",
    NetworkAware=f"{_HERE}.published.network_aware:NetworkAware",
    CommunicationAware=f"{_HERE}.published.communication_aware:CommunicationAware",
    NetMarks=f"{_HERE}.published.netmarks:NetMarks",
    Nas=f"{_HERE}.published.nas:Nas",
    ResponseTime=f"{_HERE}.ecotone.response_time:ResponseTime",
    LatencyBound=f"{_HERE}.ecotone.latency_bound:LatencyBound",
    Random=f"{_HERE}.baselines.random_score:Random",
    RoundRobin=f"{_HERE}.baselines.round_robin:RoundRobin",
    FirstFit=f"{_HERE}.baselines.first_fit:FirstFit",
    TierOrder=f"{_HERE}.baselines.tier_order:TierOrder",
)

built_in(
    PriorityMqSort=f"{_HERE}.pogonip.priority_mq_sort:PriorityMqSort",
    ServiceGraph=f"{_HERE}.pogonip.service_graph:ServiceGraph",
    Latency=f"{_HERE}.pogonip.latency:Latency",
    PodsPerNode=f"{_HERE}.pogonip.pods_per_node:PodsPerNode",
    NodeCost=f"{_HERE}.pogonip.node_cost:NodeCost",
    ReservePlacement=f"{_HERE}.pogonip.reserve:ReservePlacement",
    AtomicDeployment=f"{_HERE}.pogonip.atomic_deployment:AtomicDeployment",
)

built_in_rule("ecotone.descheduling.best_gain:best_gain", BEST_GAIN)
built_in_rule("ecotone.descheduling.plans.rule:plans", PLANS)
built_in_rule("ecotone.descheduling.thesis:thesis", THESIS)
built_in_rule("ecotone.placement.kubedsm.policy:suggestions", SUGGESTIONS)
built_in_rule("ecotone.placement.qos.rule:by_targets", TARGETS)
built_in_guide("targets", "ecotone.placement.qos.together:together")
built_in_report("traffic", "ecotone.planning.reports:traffic")
built_in_report("applications", "ecotone.placement.policy:objective")

DEFAULT_POLICY = "ecotone"
POINTS_OF_TRAFFIC = Objective()
MILLISECONDS = Objective(unit="ms")
APPLICATIONS = Objective(unit="applications", report="applications")

_QUEUE = (Use("SchedulingGates"),)
_FILTERS = (
    Use("NodeUnschedulable"),
    Use("NodeName"),
    Use("TaintToleration", 3),
    Use("NodeAffinity", 2),
    Use("NodePorts"),
    Use("NodeResourcesFit", 1),
    Use("VolumeRestrictions"),
    Use("NodeVolumeLimits"),
    Use("VolumeBinding"),
    Use("VolumeZone"),
    Use("PodTopologySpread", 2),
    Use("InterPodAffinity", 2),
    Use("DynamicResources"),
    Use("NodeDeclaredFeatures"),
    Use("DefaultPreemption"),
)
_SCORES = (
    Use("NodeResourcesBalancedAllocation", 1),
    Use("ImageLocality", 1),
)
KUBERNETES = (*_QUEUE, Use("PrioritySort"), *_FILTERS, *_SCORES)
DEFAULT_SCORES = (
    Use("TaintToleration", 3),
    Use("NodeAffinity", 2),
    Use("NodeResourcesFit", 1),
    Use("PodTopologySpread", 2),
    Use("InterPodAffinity", 2),
    Use("NodeResourcesBalancedAllocation", 1),
    Use("ImageLocality", 1),
)


def ranked_by(
    name: str,
    summary: str,
    *terms: Use,
    sort: str = "PrioritySort",
    filters: tuple[Use, ...] = (),
    reserve: tuple[Use, ...] = (),
    tie_break: bool = True,
    descheduler: DeschedulerSettings | None = None,
    objective: Objective = POINTS_OF_TRAFFIC,
) -> Profile:
    """Kubernetes' filters and these, these terms as the whole score, the default scores for ties."""
    return Profile(
        name=name,
        summary=summary,
        enabled=(*_QUEUE, Use(sort), *_FILTERS, *filters),
        points={"score": terms, **({"reserve": reserve} if reserve else {})},
        disabled={"score": frozenset({"*"})},
        tie_break=DEFAULT_SCORES if tie_break else (),
        descheduler=descheduler,
        objective=objective,
    )


def added(
    name: str,
    summary: str,
    *terms: Use,
    sort: str = "PrioritySort",
    descheduler: DeschedulerSettings | None = None,
) -> Profile:
    """These terms added to the default scores, which keep Kubernetes' weights."""
    return Profile(
        name=name,
        summary=summary,
        enabled=(*_QUEUE, Use(sort), *_FILTERS, *_SCORES),
        points={"score": terms},
        descheduler=descheduler,
    )


def literally(profile: Profile) -> Profile:
    """The terms of algorithm 1 as printed: raw values, summed over pods."""
    return profile.with_args("ResourceAware", combine="raw").with_args("NetworkAware", combine="raw", perPod=True)


# Thesis 4.5, algorithm 1: gamma and delta, and what its descheduler compares (4.6), without the default scores.
ALGORITHM_1 = (Use("ResourceAware", 0.5), Use("NetworkAware", 0.5))
_DESCHEDULER_OF_SOPHOS = replace(THESIS, score=ALGORITHM_1)

_OURS = ranked_by(
    "ecotone",
    "predicted response time of the request chains, replicas kept on several nodes and in near zones; the default",
    Use("ResponseTime", 1),
    filters=(Use("LatencyBound"),),
    descheduler=TARGETS,
    objective=MILLISECONDS,
)

_BUILT_IN = (
    Profile(
        name="kube-default",
        summary="kube-scheduler's default plugins and weights, ties drawn by seed",
        scheduler_name="default-scheduler",
        enabled=KUBERNETES,
        tie_draw=True,
    ),
    _OURS,
    replace(
        _OURS.with_args("ResponseTime", redundancy=False),
        name="ecotone-fast",
        summary="as ecotone by milliseconds alone: replicas may share a node or a zone, and a run has no cap on moves",
        descheduler=replace(TARGETS, max_moves=None),
    ),
    literally(
        added(
            "sophos",
            "thesis 2023, to the letter: available CPU and memory, latency times static and dynamic affinity, pods by index",
            *ALGORITHM_1,
            sort="IndexSort",
            descheduler=_DESCHEDULER_OF_SOPHOS,
        )
    ),
    ranked_by(
        "sophos-normalized",
        "as sophos, each term brought to 0..100, replicas share their weight, default scores for ties only (ours)",
        *ALGORITHM_1,
        sort="IndexSort",
        descheduler=replace(THESIS, args={"forward": True}),
    ),
    literally(
        added(
            "sophos-dag",
            "DAG workflows 2023: as sophos, but measured traffic alone, no proxies, no order of pods",
            *ALGORITHM_1,
            descheduler=_DESCHEDULER_OF_SOPHOS,
        )
    ).with_args("NetworkAware", static=False, proxies=False),
    literally(
        added(
            "sophos-dag-ordered",
            "as sophos-dag, with pods scheduled and descheduled by index (ours)",
            *ALGORITHM_1,
            sort="IndexSort",
            descheduler=_DESCHEDULER_OF_SOPHOS,
        )
    ).with_args("NetworkAware", static=False, proxies=False),
    added(
        "communication-aware",
        "CLOSER 2022: affinity by channel priority and traffic, weighted by 1/latency",
        Use("CommunicationAware", 1),
    ),
    ranked_by("netmarks", "INFOCOM 2021: traffic to peers already on the node", Use("NetMarks", 1)),
    ranked_by("nas", "latency, bandwidth and loss to peers, regardless of traffic", Use("Nas", 1)),
    ranked_by("random", "a seeded draw among the nodes that fit", Use("Random", 1), tie_break=False),
    ranked_by(
        "round-robin",
        "the next node in turn that fits",
        Use("RoundRobin", 1),
        reserve=(Use("RoundRobin"),),
        tie_break=False,
    ),
    ranked_by("first-fit", "the first node by name that fits", Use("FirstFit", 1), tie_break=False),
    ranked_by("cloud-first", "a draw among cloud nodes, then edge", Use("TierOrder", 1), tie_break=False).with_args(
        "TierOrder", first="cloud", then="random"
    ),
    ranked_by(
        "biggest-edge-first", "the edge node with the most free, then the cloud", Use("TierOrder", 1), tie_break=False
    ).with_args("TierOrder", first="edge", then="biggest"),
    ranked_by(
        "smallest-edge-first",
        "the edge node with the least free that fits, then the cloud",
        Use("TierOrder", 1),
        tie_break=False,
    ).with_args("TierOrder", first="edge", then="smallest"),
)

POGONIP_PLUGINS = Profile(
    name="pogonip-plugins",
    summary="the 2021 prototype, pod by pod: queues first, all pods of an application or none",
    enabled=(*_QUEUE, Use("PriorityMqSort"), Use("ServiceGraph"), *_FILTERS, Use("Latency")),
    points={
        "score": (Use("PodsPerNode", 1), Use("NodeCost", 1)),
        "reserve": (Use("ReservePlacement"),),
        "permit": (Use("AtomicDeployment"),),
    },
    disabled={"score": frozenset({"*"}), "postFilter": frozenset({"*"})},
    objective=Objective(report="applications"),
    all_or_nothing=True,
)
POLICIES: dict[str, Profile] = {profile.name: profile for profile in (*_BUILT_IN, POGONIP_PLUGINS)}


def solver_policy(
    name: str,
    summary: str,
    target: str,
    *,
    groups: str | None = None,
    objective: Objective = POINTS_OF_TRAFFIC,
    descheduler: DeschedulerSettings | None = None,
) -> None:
    """Adds a policy that a whole-application solver decides; `target` is `module:function`.

    `groups` names the plugin that knows which pods must be put to the solver together.
    """
    built_in_solver(name, target)
    POLICIES[name] = Profile(
        name=name,
        summary=summary,
        solver=Solver(name),
        points={} if groups is None else {"permit": (Use(groups),)},
        objective=objective,
        all_or_nothing=groups is not None,
        descheduler=descheduler,
    )


solver_policy(
    "pogonip",
    "2021 heuristic: queues and microservices on edge nodes within the delay bound",
    "ecotone.placement.policy:pogonip",
    groups="AtomicDeployment",
    objective=APPLICATIONS,
)
solver_policy(
    "pogonip-greedy",
    "our order of Pogonip's rules: all queues first, the smallest microservice first, the best of a few orders",
    "ecotone.placement.policy:pogonip_greedy",
    groups="AtomicDeployment",
    objective=APPLICATIONS,
)
solver_policy(
    "pogonip-opt",
    "2021 ILP: applications placed, kept on the edge, nodes in use, latency; then cloud price",
    "ecotone.placement.policy:pogonip_opt",
    groups="AtomicDeployment",
    objective=APPLICATIONS,
)
solver_policy(
    "kubedsm",
    "2024: batches on the edge by promised share, and migrations from, to and on the edge that raise QoS",
    "ecotone.placement.kubedsm.policy:kubedsm",
    objective=Objective(unit="QoS", report="traffic"),
    descheduler=SUGGESTIONS,
)


def resolve(policy: Policy) -> Profile:
    """The profile of a name or of a plugin file (`PATH.py:Class`), or the profile itself."""
    if isinstance(policy, Profile):
        return policy
    if policy not in POLICIES and names_file(policy):
        return policy_of_file(policy, ranked_by=ranked_by, default=POLICIES["kube-default"])
    if policy not in POLICIES:
        refuse_without_class(policy)
    return built_in_policy(policy)


def built_in_policy(policy: str) -> Profile:
    """The profile of a name and of nothing else: for names that come from objects of the cluster."""
    found = POLICIES.get(policy)
    if found is None:
        raise InputError(
            f"unknown policy {policy!r}", hint=did_you_mean(policy, POLICIES) or "ecotone policies lists them"
        )
    return found
