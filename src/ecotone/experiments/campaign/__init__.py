"""Runs, sweeps, comparisons and their statistics."""
