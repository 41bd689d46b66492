"""Verbs of the simulator: scenarios, comparisons, published evaluations."""
