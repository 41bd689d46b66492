"""Sophos taken apart: which of its pieces earns what.

The ablation runs the published policy with one half of it at a time: only its scheduler, only its descheduler (the default
scheduler places what it evicts), only its network term, only its resource term.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.model import Decisions, Snapshot
from ecotone.model.errors import InputError, did_you_mean
from ecotone.scheduling import Profile, Use, resolve
from ecotone.sim.engine import Engine
from ecotone.sim.orchestration import Orchestrator


class Apart:
    """One engine places pods, another one evicts them."""

    reserves_for = 0.0

    def __init__(self, name: str, *, scheduler: Engine, descheduler: Engine) -> None:
        self.name = name
        self._scheduler = scheduler
        self._descheduler = descheduler

    def schedule(self, snapshot: Snapshot) -> Decisions:
        return self._scheduler.schedule(snapshot)

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        return self._descheduler.deschedule(snapshot)


VARIANTS = {
    "sophos-scheduler-only": "sophos places pods and never moves them",
    "sophos-descheduler-only": "kube-default places pods, sophos evicts those that score higher elsewhere",
    "sophos-network-only": "sophos with its network term alone",
    "sophos-resource-only": "sophos with its resource term alone",
    "ecotone-scheduler-only": "ecotone places pods and never moves them",
}


def make(name: str) -> Orchestrator:
    match name:
        case "sophos-scheduler-only":
            return Engine("sophos", name=name, moves=False)
        case "sophos-descheduler-only":
            return Apart(name, scheduler=Engine("kube-default"), descheduler=Engine("sophos"))
        case "sophos-network-only":
            return Engine(_one_term("NetworkAware"), name=name)
        case "sophos-resource-only":
            return Engine(_one_term("ResourceAware"), name=name)
        case "ecotone-scheduler-only":
            return Engine("ecotone", name=name, moves=False)
    raise InputError(f"unknown variant {name!r}", hint=did_you_mean(name, VARIANTS))


def _one_term(plugin: str) -> Profile:
    profile = resolve("sophos")
    return replace(profile, points={**profile.points, "score": (Use(plugin, 1.0),)})
