"""Which profiles a scheduler runs: a policy under a name, or those of a configuration file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ecotone.model.errors import InputError
from ecotone.scheduling.plugin import AWAITS_ARRIVALS, GATHERING
from ecotone.scheduling.profiles.policies import DEFAULT_POLICY, resolve
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.profiles.registry import find_plugin

DEFAULT_NAME = "ecotone"
# Creation times are cut to whole seconds, so this is two to three.
SETTLE_SECONDS = 3.0


def choose_profiles(
    *, names: Sequence[str], policy: str | None, config: Path | None, never_violate_budgets: bool = False
) -> dict[str, Profile]:
    """Profiles by schedulerName."""
    chosen = {name: _gathering(profile) for name, profile in _chosen(names, policy, config).items()}
    if never_violate_budgets:
        polite = {"violateDisruptionBudgets": False}
        chosen = {name: profile.with_args("DefaultPreemption", **polite) for name, profile in chosen.items()}
    return chosen


def _gathering(profile: Profile) -> Profile:
    """On a live cluster an application's pods appear one after the other: whoever places wholes waits for the rest."""
    waiting = [use.name for use in profile.at("score") if AWAITS_ARRIVALS.offered_by(find_plugin(use.name))]
    if profile.all_or_nothing:
        waiting += [use.name for use in profile.at("permit") if GATHERING.offered_by(find_plugin(use.name))]
    for name in waiting:
        if "settleSeconds" not in profile.args.get(name, {}):
            profile = profile.with_args(name, settleSeconds=SETTLE_SECONDS)
    return profile


def _chosen(names: Sequence[str], policy: str | None, config: Path | None) -> dict[str, Profile]:
    if config is None:
        profile = resolve(policy or DEFAULT_POLICY)
        return {name: replace(profile, scheduler_name=name) for name in names or [DEFAULT_NAME]}
    if policy is not None:
        raise InputError("--policy and --config exclude each other")
    profiles = _read(config)
    if not names:
        return profiles
    unknown = [name for name in names if name not in profiles]
    if unknown:
        raise InputError(
            f"no profile for schedulerName {unknown[0]!r}", file=str(config), hint=f"there are: {', '.join(profiles)}"
        )
    return {name: profiles[name] for name in names}


def _read(config: Path) -> dict[str, Profile]:
    from ecotone.manifests.configuration import (
        read_configuration,
    )  # brings a YAML library

    found: dict[str, Profile] = {}
    for profile in read_configuration(config):
        if profile.scheduler_name in found:
            raise InputError(f"two profiles for schedulerName {profile.scheduler_name!r}", file=str(config))
        found[profile.scheduler_name] = profile
    return found
