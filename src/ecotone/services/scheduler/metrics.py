"""The scheduler's metrics: kube-scheduler's stable names, behind our prefix, where the meaning is the same."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

ATTEMPT_BUCKETS = tuple(0.0001 * 2**n for n in range(18))
COUNT_BUCKETS = (1, 2, 4, 8, 16)
VICTIM_BUCKETS = (1, 2, 4, 8, 16, 32, 64)


class SchedulerMetrics:
    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self.attempts = Counter(
            "ecotone_scheduler_schedule_attempts",
            "Attempts to schedule pods, by result: scheduled, unschedulable or error.",
            ["result", "profile"],
            registry=registry,
        )
        self.attempt_duration = Histogram(
            "ecotone_scheduler_scheduling_attempt_duration_seconds",
            "Time from popping a pod to its binding or rejection.",
            ["result", "profile"],
            buckets=ATTEMPT_BUCKETS,
            registry=registry,
        )
        self.algorithm_duration = Histogram(
            "ecotone_scheduler_scheduling_algorithm_duration_seconds",
            "Time of a decision alone, per batch.",
            buckets=ATTEMPT_BUCKETS,
            registry=registry,
        )
        self.sli_duration = Histogram(
            "ecotone_scheduler_pod_scheduling_sli_duration_seconds",
            "Time from a pod's first appearance in the queue to its binding.",
            ["attempts"],
            buckets=tuple(0.01 * 2**n for n in range(20)),
            registry=registry,
        )
        self.pod_attempts = Histogram(
            "ecotone_scheduler_pod_scheduling_attempts",
            "Attempts needed to schedule a pod.",
            buckets=COUNT_BUCKETS,
            registry=registry,
        )
        self.pending = Gauge(
            "ecotone_scheduler_pending_pods", "Pending pods by place in the queue.", ["queue"], registry=registry
        )
        self.incoming = Gauge(
            "ecotone_scheduler_queue_incoming_pods_total",
            "Pods added to a part of the queue, by event.",
            ["queue", "event"],
            registry=registry,
        )
        self.preemption_attempts = Counter(
            "ecotone_scheduler_preemption_attempts", "Preemption attempts so far.", registry=registry
        )
        self.preemption_victims = Histogram(
            "ecotone_scheduler_preemption_victims", "Victims per preemption.", buckets=VICTIM_BUCKETS, registry=registry
        )
        self.bind_outcomes = Counter(
            "ecotone_scheduler_bindings", "Bindings by outcome.", ["outcome"], registry=registry
        )
        self.overcommitted = Gauge(
            "ecotone_scheduler_overcommitted_nodes",
            "Nodes whose bound pods request more than is allocatable (another scheduler is at work).",
            registry=registry,
        )
        self.overcommitments = Counter(
            "ecotone_scheduler_overcommitments", "Times a node was found over-committed.", registry=registry
        )
        self.leader = Gauge("ecotone_scheduler_leader", "1 while this replica leads.", registry=registry)
        self.cache_objects = Gauge("ecotone_scheduler_cache_size", "Objects in the cache.", ["type"], registry=registry)
        self.relists = Gauge("ecotone_scheduler_lists_total", "Lists per kind.", ["type"], registry=registry)
        self.watch_events = Gauge(
            "ecotone_scheduler_watch_events_total", "Events per kind.", ["type"], registry=registry
        )
        self.left_out = Gauge(
            "ecotone_scheduler_objects_left_out_total",
            "Times an object could not be read or taken in, and was left out.",
            ["type"],
            registry=registry,
        )
        self.events_dropped = Gauge("ecotone_scheduler_events_dropped_total", "Events not written.", registry=registry)
