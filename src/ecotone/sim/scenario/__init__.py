"""Scenario files: what is simulated, as `kind: Scenario` documents.

`schema` holds the values, `units` the words for quantities, `reader` turns a file into values and says exactly where it
is wrong, `builtin` knows the scenarios that ship.
"""

from ecotone.sim.scenario.builtin import builtin_scenarios, load_scenario, read_text
from ecotone.sim.scenario.reader import read_scenario
from ecotone.sim.scenario.schema import Scenario

__all__ = ["Scenario", "builtin_scenarios", "load_scenario", "read_scenario", "read_text"]
