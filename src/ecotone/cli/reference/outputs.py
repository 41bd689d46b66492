"""What `-o json` prints, field by field.

The documents are made in several places, so the list stands here. A test runs the commands and holds it against what they
print: a field that is not listed, or listed and never printed, is an error.
"""

from __future__ import annotations

from ecotone.cli.reference.markdown import code, table
from ecotone.cli.reference.markdown import page as whole

_HEAD = """With `-o json` (or `yaml`) data goes to stdout and notes to stderr. `[]` stands for every element of a list, `*` for
every key of a mapping. An unknown figure is null. Fields may be added; those listed keep name and meaning within a version."""

_NODE = "measured.nodes.*"
_WORKLOAD = "measured.workload"
EXPLAIN = {
    "pod": "namespace/name of the pod.",
    "policy": "The policy asked.",
    "node": "The node it would get; null if none.",
    "current": "The node it runs on; only of running pods.",
    "why": "The decision in one sentence.",
    "nodes[].name": "Nodes, ranked: the winner, others that fit by their totals, then those that do not fit.",
    "nodes[].feasible": "Whether the pod may run there.",
    "nodes[].reasons": "A list: why not.",
    "nodes[].scores.*.raw": "Of each scoring plugin: its own figure.",
    "nodes[].scores.*.normalized": "What counts, before the weight.",
    "nodes[].scores.*.weight": "Its weight.",
    "nodes[].told.*": "The raw figure in human units, of plugins that tell it.",
    "nodes[].total": "Sum of normalized x weight.",
    "nodes[].tiebreak": "Sum of the plugins that decide between equal totals, where the policy has any.",
    f"{_NODE}.available_cpu_millicores": "Of each measured node: CPU not in use.",
    f"{_NODE}.available_memory_bytes": "Memory not in use.",
    f"{_NODE}.latency_ms.*": "Round trips, as measured.",
    f"{_NODE}.predicted_by_coordinates": "True if its round trips come from network coordinates alone.",
    f"{_NODE}.round_trips.*.ms": "To each node where peers of the pod's workload are: the round trip decided with.",
    f"{_NODE}.round_trips.*.source": "Where it is known from.",
    f"{_NODE}.age_seconds": "How old the measurement is.",
    f"{_NODE}.stale": "True if it is too old to be used.",
    f"{_WORKLOAD}.name": "namespace/name of the pod's workload.",
    f"{_WORKLOAD}.cpu_millicores": "CPU in use per pod.",
    f"{_WORKLOAD}.memory_bytes": "Memory in use per pod.",
    f"{_WORKLOAD}.bytes_per_second": "A mapping: traffic by peer.",
    f"{_WORKLOAD}.requests_per_second": "A mapping: requests by peer.",
    f"{_WORKLOAD}.calls_per_second": "A mapping: requests sent, by peer.",
    f"{_WORKLOAD}.age_seconds": "How old the measurement is.",
    f"{_WORKLOAD}.stale": "True if it is too old to be used.",
}
EXPLAIN_SOMETIMES = {
    f"{_NODE}.round_trips.*.error_ms": "How far it may be off, where it is predicted from network coordinates.",
}
_FIGURES = {
    "pods_waiting": "Pods without a node.",
    "nodes_used": "Nodes with a pod.",
    "price_per_hour": "Of these nodes.",
    "traffic_bytes_per_second": "Measured traffic whose both ends have a node.",
    "mean_latency_ms": "Its mean round trip.",
}
PLAN = {
    "policy": "The policy asked.",
    "decisions[].action": "`bind`, `evict`, `preempt`, `deletion-cost` or `wait`.",
    "decisions[].pod": "namespace/name.",
    "decisions[].node": "Of `bind` and `preempt`: the node.",
    "decisions[].from": "Of `evict`: the node it leaves.",
    "decisions[].to": "Of `evict`: the node its replacement is meant for.",
    "decisions[].gain": "Of `evict`: what the move gains.",
    "decisions[].unit": "Of the gain.",
    "decisions[].why": "In one sentence.",
    "warnings": "A list of sentences: redundancy that is given up, and workloads that stand closer together than they should.",
    "redundancy.*.nodes": "A list: on how many nodes the pods of each workload stand now and after the plan.",
    "redundancy.*.zones": "A list: in how many zones.",
    "survives.node": "Whether after the plan every workload survives the loss of any node.",
    "survives.zone": "And of any zone; null with fewer than two zones.",
    "survives.lost.*": "A list: the workloads that are gone with this node or zone.",
    "survives.failing": "A mapping: by node or zone, the share of requests that fails until replaced, where calls are counted.",
    "response_ms.now": "A mapping: milliseconds a request spends on ways and waits with pods as they are (`mean`; `low` and "
    "`high` are null until figures carry errors); null where requests are not counted, or a workload has no pod yet.",
    "response_ms.after": "A mapping: the same after the plan.",
    **{f"objective.before.{name}": f"Now: {text}" for name, text in _FIGURES.items()},
    **{f"objective.after.{name}": f"After the plan: {text}" for name, text in _FIGURES.items()},
}
# Only in some plans; `preempt` has `victims`, `deletion-cost` has `cost`, and pogonip's policies show applications instead.
PLAN_SOMETIMES = {
    "stays": "With `--deschedule`: a list of pods that stay though another node would be better.",
    "stays[].pod": "namespace/name.",
    "stays[].node": "Where it is.",
    "stays[].better": "Where it would be better off.",
    "stays[].gain": "By how much.",
    "stays[].unit": "Of the gain.",
    "stays[].why": "What keeps it: a threshold, a budget, a cool-down, a setting, or a decision about its application.",
    "decisions[].victims": "Of `preempt`: the pods that make room.",
    "decisions[].cost": "Of `deletion-cost`: the value of the annotation.",
    "redundancyCosts[].application": "With `--deschedule`, where redundancy costs a millisecond or more: the first workload.",
    "redundancyCosts[].ms": "Milliseconds per request of the best placement with redundancy.",
    "redundancyCosts[].insteadOfMs": "And without.",
    "redundancyCosts[].nearFirst": "A mapping: near-first routing with pods as they are: milliseconds, busiest pod and node.",
    "advice[].trafficDistribution": "With `--deschedule`: a mapping, Service to the setting that would help.",
    "advice[].replicas": "A mapping: workload to the number of replicas that would help.",
    "advice[].ms": "Predicted milliseconds per request with the change.",
    "advice[].insteadOfMs": "And without.",
}
_RUN = "runs[]"
SIMULATE = {
    "scenario": "Name of the scenario.",
    "seed": "The seed.",
    "summary[].policy": "One entry for each policy, the baseline first. Means are over trials.",
    "summary[].trials": "How many.",
    "summary[].mean_ms": "Mean response time.",
    "summary[].p95_ms": "95th percentile.",
    "summary[].p95_ci95": "A list: its 95 % confidence interval; null with one trial.",
    "summary[].p99_ms": "99th percentile.",
    "summary[].p95_with_failures_ms": "95th percentile if a failed request counts as a minute.",
    "summary[].vs_baseline": "How the p95 differs from the baseline's, as a share: below 0 is faster.",
    "summary[].vs_baseline_ci95": "A list: its interval over paired trials.",
    "summary[].failed_share": "Failed requests, as a share.",
    "summary[].evictions": "Moves.",
    "summary[].unplaced": "Pods without a node at the end.",
    f"{_RUN}.policy": "One entry for each policy and trial.",
    f"{_RUN}.trial": "Number of the trial.",
    f"{_RUN}.requests": "Requests sent after the warm-up.",
    f"{_RUN}.failed": "Of these, failed.",
    f"{_RUN}.failures": "A mapping: failed requests by cause.",
    f"{_RUN}.failures_series": "A list: `[second, {cause: requests}]` of each 15 s in which there were any.",
    f"{_RUN}.lost_to_evictions": "Failed because of a move.",
    f"{_RUN}.response_ms": "A mapping: mean, p50, p95, p99 of answered requests.",
    f"{_RUN}.settled_mean_ms": "Mean without the first two minutes of each phase.",
    f"{_RUN}.p95_with_failures_ms": "95th percentile if a failed request counts as a minute.",
    f"{_RUN}.breakdown_ms": "A mapping: what the mean is made of, network, work, waiting for CPU, disruption.",
    f"{_RUN}.p95_breakdown_ms": "A mapping: the same of requests about the p95.",
    f"{_RUN}.breakdown_with_failures_ms": "A mapping: the same with failed requests, as `unanswered`.",
    f"{_RUN}.quantiles_ms": "A list: `[share, ms]`, the distribution of response times.",
    f"{_RUN}.series": "A list: `[second, p95 in ms]`, of every 15 s.",
    f"{_RUN}.intervals[].at": "Of each entry of the load: when it begins.",
    f"{_RUN}.intervals[].entry": "What is called.",
    f"{_RUN}.intervals[].from": "A list: nodes at which users enter.",
    f"{_RUN}.intervals[].requests": "Requests.",
    f"{_RUN}.intervals[].failed": "Of these, failed.",
    f"{_RUN}.intervals[].mean_ms": "Mean response time.",
    f"{_RUN}.intervals[].p95_ms": "95th percentile.",
    f"{_RUN}.intervals[].breakdown_ms": "A mapping: what the mean is made of.",
    f"{_RUN}.evictions": "Moves.",
    f"{_RUN}.preemptions": "Pods preempted.",
    f"{_RUN}.moves[].at": "Of each move: when, in seconds.",
    f"{_RUN}.moves[].pod": "The pod.",
    f"{_RUN}.moves[].service": "Its service.",
    f"{_RUN}.moves[].from": "The node it left.",
    f"{_RUN}.moves[].to": "The node its replacement went to.",
    f"{_RUN}.moves[].why": "Why.",
    f"{_RUN}.binds[].at": "Of each bind: when, in seconds.",
    f"{_RUN}.binds[].pod": "The pod.",
    f"{_RUN}.binds[].service": "Its service.",
    f"{_RUN}.binds[].node": "Its node.",
    f"{_RUN}.binds[].why": "Why.",
    f"{_RUN}.talk[].from": "Of each pair of nodes that talked: the sender.",
    f"{_RUN}.talk[].to": "The receiver.",
    f"{_RUN}.talk[].calls": "Calls in the whole run.",
    f"{_RUN}.talk[].bytes": "Bytes in the whole run.",
    f"{_RUN}.cost_per_hour": "Of the nodes that hold pods, mean over time; null where nodes have no price.",
    f"{_RUN}.unplaced": "A list: pods without a node at the end.",
    f"{_RUN}.placement": "A list: `[second, {service: {node: pods}}]` whenever it changed.",
    f"{_RUN}.phases": "A list: `[second, {state: pods}]` where some pods were pending, pulling, starting or unreachable.",
    f"{_RUN}.utilisation": "A mapping: mean CPU use by node, as a share.",
}
SIMULATE_SOMETIMES = {
    "summary[].above_bound": "With `--bound`: by which share the mean exceeds that of the best static placement.",
    "summary[].above_bound_settled": "With `--bound`: the same of the settled means.",
    f"{_RUN}.edge_latency_ms": "Where the scenario has `qos`: mean latency of pods by the tiers they are on.",
    "sweep": "With `--set`: a list of `{set, name, summary, runs}`, one for each combination, instead of `summary` and `runs`.",
}


def page() -> str:
    parts = [_HEAD]
    for verb, fields in (
        ("explain", {**EXPLAIN, **EXPLAIN_SOMETIMES}),
        ("plan", {**PLAN, **PLAN_SOMETIMES}),
        ("simulate", {**SIMULATE, **SIMULATE_SOMETIMES}),
    ):
        rows = [[code(path), meaning] for path, meaning in fields.items()]
        parts += [f"## ecotone {verb} -o json", table(["field", "meaning"], rows)]
    return whole("JSON outputs", *parts)
