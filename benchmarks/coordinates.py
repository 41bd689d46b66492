"""How fast and how well network coordinates settle: median and 90th percentile of the relative error per round.

    python -m benchmarks.coordinates [docs/coordinates.svg]

200 nodes in cities of the world with access delays, 16 neighbours each, one observation per node and round, once without
and once with a tenth of all triangles violated. Prints a table and draws it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from telemetry.convergence import NEIGHBOURS, learning
from telemetry.geography import violated, world

NODES = 200
ROUNDS = 600
SEED = 1
DETOURS = {"no triangle violated": 0.0, "a tenth of the triangles violated": 0.087}


def main() -> None:
    curves: dict[str, list[tuple[int, float, float]]] = {}
    for name, detours in DETOURS.items():
        matrix = world(NODES, seed=SEED, detours=detours)
        print(f"{name}: {violated(matrix):.1%} of the triples", flush=True)
        curves[name] = []
        for number, errors in learning(matrix, rounds=ROUNDS, seed=SEED):
            middle, high = (float(each) for each in np.quantile(errors, [0.5, 0.9]))
            curves[name].append((number, middle, high))
            print(f"  round {number:4d}  median {middle:6.1%}  p90 {high:6.1%}", flush=True)
    if len(sys.argv) > 1:
        draw(curves, Path(sys.argv[1]))


def draw(curves: dict[str, list[tuple[int, float, float]]], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "coordinates"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for (name, curve), colour in zip(curves.items(), ("#2a6f97", "#c1121f"), strict=True):
        rounds = [each[0] for each in curve]
        axes.plot(rounds, [100 * each[1] for each in curve], color=colour, label=f"median, {name}")
        axes.plot(
            rounds, [100 * each[2] for each in curve], color=colour, linestyle=":", label=f"90th percentile, {name}"
        )
    axes.axhline(10, color="grey", linewidth=0.8)
    axes.set(xlabel="rounds (one observation per node each)", ylabel="relative error of all pairs, %", ylim=(0, None))
    axes.set_title(f"{NODES} nodes, {NEIGHBOURS} neighbours each")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
