"""KubeDSM's problem at scale: counts of pods per service and node instead of pods, solved lexicographically.

    H = sum over services of weight max(0, T - Q),  T = sum over nodes of x t / pods        milliseconds over target
    M = sum over services and nodes of max(0, before - x)                                   pods that move
    F = sum over services of p x (pods of it that the near nodes could still take)          room for what comes

H first, then M, then -F. Latencies t are per service and node, so that a fog tier or a site of its own is no special case, and
the paper's two constants are one. Pods of a service are alike, new pods fill holes at no cost, so M is the paper's sum of
theta exactly. `solve` proves the optimum where the instance is small; where it is large, the relaxed model is rounded and
improved by large neighbourhoods, and what it returns says how far from the bound it can be at most.
"""

from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.solution import Solution
from ecotone.placement.qos.solve import solve

__all__ = ["Problem", "Solution", "solve"]
