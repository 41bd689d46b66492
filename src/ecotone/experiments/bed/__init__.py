"""Experiments on the test bed: the same scenarios played by real nodes, with the simulator's answer beside each run.

Everything here needs root and what `ecotone testbed` needs; nothing of it is imported unless asked for.
"""
