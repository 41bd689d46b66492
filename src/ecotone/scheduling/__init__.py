"""The pure scheduling framework: plugins over whole columns, policies as profiles, and `decide`."""

from ecotone.scheduling.decide import decide, framework_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.policies import DEFAULT_POLICY, POLICIES, Policy, resolve
from ecotone.scheduling.profile import Profile, Solver, Use

__all__ = [
    "DEFAULT_POLICY",
    "POLICIES",
    "Evaluation",
    "Framework",
    "Policy",
    "Profile",
    "Solver",
    "Use",
    "decide",
    "framework_of",
    "resolve",
]
