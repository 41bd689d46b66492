"""What a policy decides, and why, in words and figures a person can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Bind:
    pod: str
    node: str
    why: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Evict:
    pod: str
    origin: str
    target: str
    gain: float
    unit: str
    why: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Preempt:
    pod: str
    node: str
    victims: tuple[str, ...]
    why: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now: either nothing fits, or the pod's group is not complete yet."""

    pod: str
    why: str
    uid: str = ""
    group: str | None = None
    seconds: float | None = None
    plugins: tuple[str, ...] = ()
    no_room: str = ""
    """Why room cannot be made either; told in the pod's event, where kube-scheduler tells it."""


Decision = Bind | Evict | Preempt | Wait


class Decisions(NamedTuple):
    """What `decide` returns: the decisions, and what the policy wants to remember."""

    decisions: tuple[Decision, ...]
    memory: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Objective:
    """Figures of a policy's own goal before and after a plan."""

    before: Figures = field(default_factory=dict)
    after: Figures = field(default_factory=dict)
