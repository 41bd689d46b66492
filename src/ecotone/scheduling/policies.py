"""The policies that exist by name, each a profile: data that can be printed, edited and passed back.

Published policies keep the default filters of Kubernetes and rank nodes by their own terms alone; the default scores only
break ties between equal totals. `kube-default` is the scheduler everybody has.
"""

from __future__ import annotations

from ecotone.model.errors import InputError, did_you_mean
from ecotone.scheduling.profile import Profile, Solver, Use
from ecotone.scheduling.registry import built_in, built_in_solver

Policy = str | Profile

_HERE = "ecotone.scheduling.plugins"

built_in(
    SchedulingGates=f"{_HERE}.scheduling_gates:SchedulingGates",
    PrioritySort=f"{_HERE}.priority_sort:PrioritySort",
    NodeName=f"{_HERE}.node_name:NodeName",
    NodeUnschedulable=f"{_HERE}.node_unschedulable:NodeUnschedulable",
    TaintToleration=f"{_HERE}.taint_toleration:TaintToleration",
    NodeAffinity=f"{_HERE}.node_affinity:NodeAffinity",
    NodePorts=f"{_HERE}.node_ports:NodePorts",
    NodeResourcesFit=f"{_HERE}.node_resources_fit:NodeResourcesFit",
    NodeResourcesBalancedAllocation=f"{_HERE}.balanced_allocation:NodeResourcesBalancedAllocation",
    PodTopologySpread=f"{_HERE}.pod_topology_spread:PodTopologySpread",
    InterPodAffinity=f"{_HERE}.inter_pod_affinity:InterPodAffinity",
    ImageLocality=f"{_HERE}.image_locality:ImageLocality",
    VolumeRestrictions=f"{_HERE}.volume_restrictions:VolumeRestrictions",
    NodeVolumeLimits=f"{_HERE}.node_volume_limits:NodeVolumeLimits",
    VolumeBinding=f"{_HERE}.volume_binding:VolumeBinding",
    VolumeZone=f"{_HERE}.volume_zone:VolumeZone",
    DynamicResources=f"{_HERE}.dynamic_resources:DynamicResources",
    NodeDeclaredFeatures=f"{_HERE}.node_declared_features:NodeDeclaredFeatures",
    DefaultPreemption=f"{_HERE}.default_preemption:DefaultPreemption",
    IndexSort=f"{_HERE}.index_sort:IndexSort",
    ResourceAware=f"{_HERE}.resource_aware:ResourceAware",
    NetworkAware=f"{_HERE}.network_aware:NetworkAware",
    CommunicationAware=f"{_HERE}.communication_aware:CommunicationAware",
    NetMarks=f"{_HERE}.netmarks:NetMarks",
    Nas=f"{_HERE}.nas:Nas",
    ResponseTime=f"{_HERE}.response_time:ResponseTime",
    LatencyBound=f"{_HERE}.latency_bound:LatencyBound",
    Random=f"{_HERE}.random_score:Random",
    RoundRobin=f"{_HERE}.round_robin:RoundRobin",
    FirstFit=f"{_HERE}.first_fit:FirstFit",
    TierOrder=f"{_HERE}.tier_order:TierOrder",
)

built_in(
    PriorityMqSort=f"{_HERE}.pogonip_priority_mq_sort:PriorityMqSort",
    ServiceGraph=f"{_HERE}.pogonip_service_graph:ServiceGraph",
    Latency=f"{_HERE}.pogonip_latency:Latency",
    PodsPerNode=f"{_HERE}.pogonip_pods_per_node:PodsPerNode",
    NodeCost=f"{_HERE}.pogonip_node_cost:NodeCost",
    ReservePlacement=f"{_HERE}.pogonip_reserve:ReservePlacement",
    AtomicDeployment=f"{_HERE}.pogonip_atomic_deployment:AtomicDeployment",
)

DEFAULT_POLICY = "ecotone"

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
    tie_break: bool = True,
) -> Profile:
    """Kubernetes' filters and these, these terms as the whole score, the default scores for ties."""
    return Profile(
        name=name,
        summary=summary,
        enabled=(*_QUEUE, Use(sort), *_FILTERS, *filters),
        points={"score": terms, "reserve": terms},
        disabled={"score": frozenset({"*"})},
        tie_break=DEFAULT_SCORES if tie_break else (),
    )


_BUILT_IN = (
    Profile(
        name="kube-default",
        summary="kube-scheduler's default plugins and weights, ties drawn by seed",
        scheduler_name="default-scheduler",
        enabled=KUBERNETES,
        tie_draw=True,
    ),
    ranked_by(
        "ecotone",
        "predicted response time of the request chains: latency to callers and callees, CPU pressure; the default",
        Use("ResponseTime", 1),
        filters=(Use("LatencyBound"),),
    ),
    ranked_by(
        "sophos",
        "thesis 2023: available CPU and memory, latency times static and dynamic affinity, pods by index",
        Use("ResourceAware", 0.5),
        Use("NetworkAware", 0.5),
        sort="IndexSort",
    ),
    ranked_by(
        "sophos-dag",
        "DAG workflows 2023: as sophos, but measured traffic only",
        Use("ResourceAware", 0.5),
        Use("NetworkAware", 0.5),
        sort="IndexSort",
    ).with_args("NetworkAware", static=False),
    ranked_by(
        "communication-aware",
        "CLOSER 2022: affinity by channel priority and traffic, weighted by 1/latency",
        Use("CommunicationAware", 1),
    ),
    ranked_by("netmarks", "INFOCOM 2021: traffic to peers already on the node", Use("NetMarks", 1)),
    ranked_by("nas", "latency, bandwidth and loss to peers, regardless of traffic", Use("Nas", 1)),
    ranked_by("random", "a seeded draw among the nodes that fit", Use("Random", 1), tie_break=False),
    ranked_by("round-robin", "the next node in turn that fits", Use("RoundRobin", 1), tie_break=False),
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
)
POLICIES: dict[str, Profile] = {profile.name: profile for profile in (*_BUILT_IN, POGONIP_PLUGINS)}


def solver_policy(name: str, summary: str, target: str, *, groups: str | None = None) -> None:
    """Adds a policy that a whole-application solver decides; `target` is `module:function`.

    `groups` names the plugin that knows which pods must be put to the solver together.
    """
    built_in_solver(name, target)
    points = {} if groups is None else {"permit": (Use(groups),)}
    POLICIES[name] = Profile(name=name, summary=summary, solver=Solver(name), points=points)


solver_policy(
    "pogonip",
    "2021 heuristic: queues and microservices on edge nodes within the delay bound",
    "ecotone.placement.policy:pogonip",
    groups="AtomicDeployment",
)
solver_policy(
    "pogonip-greedy",
    "our order of Pogonip's rules: all queues first, the smallest microservice first, the best of a few orders",
    "ecotone.placement.policy:pogonip_greedy",
    groups="AtomicDeployment",
)
solver_policy(
    "pogonip-opt",
    "2021 ILP: applications placed, kept on the edge, nodes in use, latency; then cloud price",
    "ecotone.placement.policy:pogonip_opt",
    groups="AtomicDeployment",
)


def resolve(policy: Policy) -> Profile:
    """The profile of a name, or the profile itself."""
    if isinstance(policy, Profile):
        return policy
    found = POLICIES.get(policy)
    if found is None:
        raise InputError(
            f"unknown policy {policy!r}", hint=did_you_mean(policy, POLICIES) or "ecotone policies lists them"
        )
    return found
