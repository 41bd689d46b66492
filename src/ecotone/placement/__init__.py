"""Whole-application placement: the problem, the solvers, and an independent judge of their answers.

An `Instance` goes in, a `Placement` comes out, `violations` says what is wrong with it and `figures` how good it is. The
solvers are functions in modules of their names: `pogonip` and `improved_greedy` are heuristics, `pogonip_opt` is exact
and says how far it got.
"""

from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication
from ecotone.placement.problem.links import Link, LinkGraph, QosRequirement
from ecotone.placement.problem.solution import Figures, Placement, figures

__all__ = [
    "Component",
    "Figures",
    "Host",
    "Instance",
    "Link",
    "LinkGraph",
    "Placement",
    "QosRequirement",
    "QueueApplication",
    "figures",
    "violations",
]
