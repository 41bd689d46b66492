"""What a scheduler is told at start-up."""

from __future__ import annotations

import msgspec

from ecotone.kube.lease import LeaseTimes
from ecotone.model.errors import InputError
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.profiles.profile import Profile


class SchedulerSettings(msgspec.Struct, frozen=True):
    """``profiles`` by schedulerName: a pod is decided by the profile it names."""

    profiles: dict[str, Profile]
    leader_elect: bool = False
    lease: LeaseTimes = msgspec.field(default_factory=LeaseTimes)
    lease_namespace: str = "kube-system"
    lease_name: str = "ecotone-scheduler"
    identity: str = "ecotone"
    round_size: int = 128
    bindings_in_flight: int = 128
    request_timeout: float = 5.0
    max_age: float = 300.0
    seed: int = 0
    explain_binds: bool = True
    """Write the reason of each placement into the pod (``ecotone.dev/why``)."""
    trust_loopback: bool = False
    """Show decisions to callers from this machine without a token."""
    trust_annotations: bool = False
    """Believe measured keys whoever may have written them."""
    allowed_hosts: tuple[str, ...] = ()
    silence: float = 150.0
    first_backoff: float = 1.0
    longest_backoff: float = 10.0

    def __post_init__(self) -> None:
        if not self.profiles:
            raise InputError("a scheduler needs at least one profile")
        if self.leader_elect and self.request_timeout >= self.lease.renew_deadline:
            raise InputError(
                f"requests may take {self.request_timeout:g} s but the lease must be renewed within "
                f"{self.lease.renew_deadline:g} s: a request could outlive the leadership it was sent under",
                hint="--request-timeout must be shorter than --lease-renew-deadline",
            )


def frameworks_of(profiles: dict[str, Profile]) -> dict[str, Framework]:
    """The plugins of every profile; all must order the one queue in the same way."""
    frameworks = {name: framework_of(profile) for name, profile in profiles.items()}
    sorters = {framework.sorter.name for framework in frameworks.values() if framework.sorter is not None}
    if len(sorters) > 1:
        raise InputError(
            f"profiles with different queueSort plugins ({', '.join(sorted(sorters))}) cannot share one queue",
            hint="run a scheduler for each",
        )
    return frameworks
