"""Moves of whole applications as plans: searched on counts of replicas, ordered, and carried out step by step.

The rule `plans` (see `rule`) is a pure function like every other. A plan that was accepted lives in the policy's memory;
each round asks of the snapshot what comes next (`progress`), so that a restart, a refused eviction or an unrelated event
changes nothing but the time it takes. Executors carry out `Evict` decisions, those with `surge` by creating the replacement
first, and call again as soon as replacements are Ready (`under_way` tells whether that is worth while).
"""

from ecotone.descheduling.plans.plan import MovePlan, Step, under_way

__all__ = ["MovePlan", "Step", "under_way"]
