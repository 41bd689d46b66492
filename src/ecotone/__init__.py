"""Ecotone decides, explains and keeps correcting where every pod of an application runs.

An ecotone is the strip where two ecosystems meet; this one is where cloud, fog and edge meet.
The one idea is in :mod:`ecotone.scheduling`: ``decide(snapshot, policy)`` is a pure function, and the
simulator, files, live clusters and test beds all call the same one.
"""

__version__ = "0.1.0"
