"""Sophos taken apart: which of its pieces earns what.

The ablation runs the published policy with one half of it at a time: only its scheduler, only its descheduler (the default
scheduler places what it evicts), only its network term, only its resource term. Each is a profile like any other.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.scheduling import POLICIES, Profile, Use
from ecotone.scheduling.profiles.descheduler import THESIS
from ecotone.scheduling.profiles.policies import ALGORITHM_1, literally

_SOPHOS, _ECOTONE = POLICIES["sophos"], POLICIES["ecotone"]


def _one_term(name: str, plugin: str) -> Profile:
    return replace(
        _SOPHOS,
        name=name,
        summary=f"sophos with {plugin} as its only term",
        points={**_SOPHOS.points, "score": (Use(plugin, 1.0),)},
        descheduler=replace(THESIS, score=(Use(plugin, 1.0),)),
    )


VARIANTS = (
    replace(
        _SOPHOS,
        name="sophos-scheduler-only",
        summary="sophos places pods and never moves them",
        descheduler=None,
    ),
    literally(
        replace(
            POLICIES["kube-default"],
            name="sophos-descheduler-only",
            summary="kube-default places pods, sophos evicts those that score higher elsewhere",
            descheduler=replace(THESIS, score=ALGORITHM_1, queue_sort="IndexSort"),
        )
    ),
    _one_term("sophos-network-only", "NetworkAware"),
    _one_term("sophos-resource-only", "ResourceAware"),
    replace(
        _ECOTONE,
        name="ecotone-scheduler-only",
        summary="ecotone places pods and never moves them",
        descheduler=None,
    ),
)
