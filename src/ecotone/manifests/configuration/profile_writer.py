"""Profiles as a configuration that reads back to the same profiles, and prints again to the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ecotone.manifests.configuration.descheduler import descheduler_document
from ecotone.manifests.configuration.profile_reader import API_VERSION, KIND, MULTI_POINT
from ecotone.manifests.configuration.uses import uses_document
from ecotone.scheduling.profiles.profile import POINTS, Profile


def configuration_document(profiles: Iterable[Profile]) -> dict[str, Any]:
    """Profiles as a configuration that reads back to the same profiles."""
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [_profile_document(each) for each in profiles]}


def _profile_document(profile: Profile) -> dict[str, Any]:
    shown: dict[str, Any] = {"schedulerName": profile.scheduler_name, "name": profile.name}
    if profile.summary:
        shown["summary"] = profile.summary
    plugins: dict[str, Any] = {}
    if profile.enabled:
        plugins[MULTI_POINT] = {"enabled": uses_document(profile.enabled)}
    for point in POINTS:
        on, off = profile.points.get(point, ()), profile.disabled.get(point, frozenset())
        if on or off:
            plugins[point] = {
                **({"enabled": uses_document(on)} if on else {}),
                **({"disabled": [{"name": name} for name in sorted(off)]} if off else {}),
            }
    if plugins:
        shown["plugins"] = plugins
    if profile.tie_break:
        shown["tieBreak"] = uses_document(profile.tie_break)
    if profile.tie_draw:
        shown["tieDraw"] = True
    if profile.args:
        shown["pluginConfig"] = [{"name": name, "args": dict(args)} for name, args in sorted(profile.args.items())]
    if profile.solver is not None:
        args = {"args": dict(profile.solver.args)} if profile.solver.args else {}
        shown["solver"] = {"name": profile.solver.name, **args}
    shown["descheduler"] = None if profile.descheduler is None else descheduler_document(profile.descheduler)
    shown["objective"] = {"unit": profile.objective.unit, "report": profile.objective.report}
    shown["allOrNothing"] = profile.all_or_nothing
    return shown
