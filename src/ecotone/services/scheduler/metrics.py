"""The scheduler's metrics: kube-scheduler's stable names, behind our prefix, where the meaning is the same."""

from __future__ import annotations

from ecotone.services.scheduler.instruments import Instruments

ATTEMPT_BUCKETS = tuple(0.0001 * 2**n for n in range(18))
COUNT_BUCKETS = (1, 2, 4, 8, 16)
VICTIM_BUCKETS = (1, 2, 4, 8, 16, 32, 64)


class SchedulerMetrics(Instruments):
    def __init__(self) -> None:
        super().__init__()
        self.attempts = self.counters(
            "ecotone_scheduler_schedule_attempts",
            "Attempts to schedule pods, by result: scheduled, unschedulable or error.",
            ["result", "profile"],
        )
        self.attempt_duration = self.histograms(
            "ecotone_scheduler_scheduling_attempt_duration_seconds",
            "Time from popping a pod to its binding or rejection.",
            ["result", "profile"],
            buckets=ATTEMPT_BUCKETS,
        )
        self.algorithm_duration = self.histogram(
            "ecotone_scheduler_scheduling_algorithm_duration_seconds",
            "Time of a decision alone, per batch.",
            buckets=ATTEMPT_BUCKETS,
        )
        self.sli_duration = self.histograms(
            "ecotone_scheduler_pod_scheduling_sli_duration_seconds",
            "Time from a pod's first appearance in the queue to its binding.",
            ["attempts"],
            buckets=tuple(0.01 * 2**n for n in range(20)),
        )
        self.pod_attempts = self.histogram(
            "ecotone_scheduler_pod_scheduling_attempts", "Attempts needed to schedule a pod.", buckets=COUNT_BUCKETS
        )
        self.pending = self.gauges("ecotone_scheduler_pending_pods", "Pending pods by place in the queue.", ["queue"])
        self.incoming = self.counters(
            "ecotone_scheduler_queue_incoming_pods",
            "Pods added to a part of the queue, by event.",
            ["queue", "event"],
        )
        self.preemption_attempts = self.counter("ecotone_scheduler_preemption_attempts", "Preemption attempts so far.")
        self.preemption_victims = self.histogram(
            "ecotone_scheduler_preemption_victims", "Victims per preemption.", buckets=VICTIM_BUCKETS
        )
        self.bind_outcomes = self.counters("ecotone_scheduler_bindings", "Bindings by outcome.", ["outcome"])
        self.overcommitted = self.gauge(
            "ecotone_scheduler_overcommitted_nodes",
            "Nodes whose bound pods request more than is allocatable (another scheduler is at work).",
        )
        self.overcommitments = self.counter(
            "ecotone_scheduler_overcommitments", "Times a node was found over-committed."
        )
        self.leader = self.gauge("ecotone_scheduler_leader", "1 while this replica leads.")
        self.cache_objects = self.gauges("ecotone_scheduler_cache_size", "Objects in the cache.", ["type"])
        self.relists = self.counters("ecotone_scheduler_lists", "Lists per kind.", ["type"])
        self.watch_events = self.counters("ecotone_scheduler_watch_events", "Events per kind.", ["type"])
        self.left_out = self.counters(
            "ecotone_scheduler_objects_left_out",
            "Times an object could not be read or taken in, and was left out.",
            ["type"],
        )
        self.events_dropped = self.counter("ecotone_scheduler_events_dropped", "Events not written.")
