"""Which running pods would be better off elsewhere, with what gain and at what risk.

Pure, like the scheduler, and judging by the scheduler's own figures: a pod is moved only to the node where the scheduler
would put it now. `deschedule(snapshot, policy)` returns evictions with their targets; carrying them out, with the capacity
reserved, is the executor's work.
"""

from ecotone.descheduling.deschedule import deschedule

__all__ = ["deschedule"]
