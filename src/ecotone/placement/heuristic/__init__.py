"""Heuristics for whole applications: Pogonip's, ours, and the paper's benchmarks."""
