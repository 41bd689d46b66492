"""A policy made of one plugin file: `--policy ./my_plugin.py:EdgeLover` is all it takes to compare an idea.

Kubernetes' filters decide where a pod fits. If the plugin scores, its score alone ranks the nodes and the default scores break
ties; otherwise the default scores rank. Whatever else it implements runs at its own points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ecotone.model.errors import InputError
from ecotone.scheduling.plugin import SEAMS, points_of
from ecotone.scheduling.profiles import plugin_files
from ecotone.scheduling.profiles.profile import Profile, Use

RankedBy = Callable[..., Profile]


def policy_of_file(text: str, *, ranked_by: RankedBy, default: Profile) -> Profile:
    """The profile of `PATH.py:Class`; it is named after the class."""
    target = plugin_files.absolute(text)
    factory = plugin_files.load(target)
    name = target.rpartition(":")[2]
    if not points_of(factory):
        offered = ", ".join(SEAMS)
        raise InputError(f"{name} implements nothing", file=target.rpartition(":")[0], hint=f"give it one of {offered}")
    summary = f"{name} of {text.rpartition(':')[0]}"
    use = Use(target)
    if not SEAMS["score"].offered_by(factory):
        return replace(default, name=name, summary=summary, enabled=(*default.enabled, use))
    others = [point for point in points_of(factory) if point != "score"]
    if "queueSort" in others:
        return ranked_by(name, summary, use, sort=target)
    return ranked_by(name, summary, use, filters=(use,) if others else ())
