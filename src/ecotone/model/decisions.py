"""What a policy decides, and why, in words and figures a person can check."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec


class Bind(msgspec.Struct, frozen=True):
    pod: str
    node: str
    why: str
    uid: str = ""


class Evict(msgspec.Struct, frozen=True):
    """`surge`: the replacement is started first and the pod goes when that is ready (make before break)."""

    pod: str
    origin: str
    target: str
    gain: float
    unit: str
    why: str
    uid: str = ""
    surge: bool = False


class DeletionCost(msgspec.Struct, frozen=True):
    """What a pod says of itself when its workload shrinks: pods of lower cost go first."""

    pod: str
    cost: int
    why: str
    uid: str = ""


class Preempt(msgspec.Struct, frozen=True):
    pod: str
    node: str
    victims: tuple[str, ...]
    why: str
    uid: str = ""
    plugins: tuple[str, ...] = ()


class Wait(msgspec.Struct, frozen=True):
    """Not now: either nothing fits, or the pod's group is not complete yet."""

    pod: str
    why: str
    uid: str = ""
    group: str | None = None
    seconds: float | None = None
    plugins: tuple[str, ...] = ()
    no_room: str = ""
    """Why room cannot be made either; told in the pod's event, where kube-scheduler tells it."""


Decision = Bind | Evict | Preempt | DeletionCost | Wait


class Decisions(NamedTuple):
    """What `decide` returns: the decisions, and what the policy wants to remember."""

    decisions: tuple[Decision, ...]
    memory: Mapping[str, object] = MappingProxyType({})


def as_document(decision: Decision) -> dict[str, Any]:
    """The decision as `plan -o json` and the scheduler's records print it."""
    match decision:
        case Bind(pod=pod, node=node, why=why):
            return {"action": "bind", "pod": pod, "node": node, "why": why}
        case Evict(pod=pod, origin=origin, target=target, gain=gain, unit=unit, why=why):
            move = {"from": origin, "to": target, "gain": gain, "unit": unit}
            return {"action": "evict", "pod": pod, **move, "why": why}
        case Preempt(pod=pod, node=node, victims=victims, why=why):
            return {"action": "preempt", "pod": pod, "node": node, "victims": list(victims), "why": why}
        case DeletionCost(pod=pod, cost=cost, why=why):
            return {"action": "deletion-cost", "pod": pod, "cost": cost, "why": why}
        case Wait(pod=pod, why=why):
            return {"action": "wait", "pod": pod, "why": why}
