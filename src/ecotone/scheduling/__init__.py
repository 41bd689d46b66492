"""The pure scheduling framework: plugins over whole columns, policies as profiles, and `decide`."""

from ecotone.scheduling.decide import decide, framework_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.policies import DEFAULT_POLICY, POLICIES, Policy, resolve
from ecotone.scheduling.profiles.profile import Objective, Profile, Solver, Use

__all__ = [
    "DEFAULT_POLICY",
    "POLICIES",
    "DeschedulerSettings",
    "Evaluation",
    "Framework",
    "Objective",
    "Policy",
    "Profile",
    "Solver",
    "Use",
    "decide",
    "framework_of",
    "resolve",
]
