"""What a descheduler is told at start-up, and what an AppGroup may say differently for itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from ecotone.kube.lease import LeaseTimes
from ecotone.manifests import wire
from ecotone.model.errors import InputError
from ecotone.scheduling.profiles.descheduler import SINGLE_REPLICAS, DeschedulerSettings
from ecotone.scheduling.profiles.policies import built_in_policy
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.profiles.windows import parse_window
from ecotone.telemetry.prometheus import PrometheusSettings
from ecotone.telemetry.sources.speakers import Trust
from ecotone.telemetry.window import DEFAULT_WINDOW
from ecotone.telemetry.window import parse_window as figures_window

T = TypeVar("T")

LEASE_NAME = "ecotone-descheduler"
SCHEDULER_LEASE = "ecotone-scheduler"


@dataclass(frozen=True)
class DeschedulerProgramSettings:
    """``scheduler_lease``: where a living scheduler shows itself; "" if that is not looked at."""

    profile: Profile
    identity: str = "ecotone"
    dry_run: bool = False
    leader_elect: bool = False
    lease: LeaseTimes = field(default_factory=LeaseTimes)
    lease_namespace: str = "kube-system"
    lease_name: str = LEASE_NAME
    scheduler_lease: str = SCHEDULER_LEASE
    excluded_namespaces: frozenset[str] = frozenset({"kube-system"})
    only_namespaces: frozenset[str] = frozenset()
    """If any are named, nothing moves elsewhere."""
    max_age: float = 300.0
    ready_seconds: float = 120.0
    """A replacement that is not ready after this long counts as failed."""
    request_timeout: float = 10.0
    prometheus: PrometheusSettings | None = None
    """Who knows whether objectives are met; without it applications with an objective are left alone."""
    trust: Trust = field(default_factory=Trust)
    """Whose series are believed."""
    silence: float = 150.0
    trust_annotations: bool = False
    allowed_hosts: tuple[str, ...] = ()
    metrics_token: str | None = None
    """Of those who read metrics with the names of app-groups."""


def chosen(group: wire.AppGroup, profile: Profile) -> tuple[Profile, DeschedulerSettings | None]:
    """The policy and settings of one application: its own words first, then the profile's."""
    said = group.spec.descheduler or wire.DeschedulerSpec()
    if said.policy:
        # Whoever may write an AppGroup is not trusted with code: a plugin's file is no policy here.
        profile = built_in_policy(said.policy)
    settings = profile.descheduler
    if settings is None:
        return profile, None
    for window in said.windows:
        parse_window(window)
    single = said.single_replicas if said.single_replicas in SINGLE_REPLICAS else None
    return profile, replace(
        settings,
        min_gain=_else(said.min_gain_milliseconds, settings.min_gain),
        min_relative_gain=_else(said.min_relative_gain, settings.min_relative_gain),
        cool_down=_else(said.cool_down_seconds, settings.cool_down),
        rescue_after=_else(said.rescue_after_seconds, settings.rescue_after),
        max_moves=_else(said.max_moves_per_run, settings.max_moves),
        windows=tuple(said.windows) or settings.windows,
        single_replicas=_else(single, settings.single_replicas),
        reach=reach_of(group),
    )


def reach_of(group: wire.AppGroup) -> float:
    """Seconds that figures of CPU use reach back: their window, and as much until they are scraped, written and read."""
    try:
        return 2 * (figures_window(group.spec.window) if group.spec.window else DEFAULT_WINDOW)
    except InputError:  # the monitor says so, and takes its own
        return 2 * DEFAULT_WINDOW


def _else(given: T | None, default: T) -> T:
    return default if given is None else given
