"""Pictures of the Pogonip experiments: delays as boxes, applications deployed as bars, times as curves.

Drawn without a display, in one sober style, with the delay bound as a line through every picture that shows delays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

INK, FILL, ACCENT = "#22313f", "#9fc5b8", "#c0392b"


def delay_boxes(delays: Mapping[str, np.ndarray], path: Path, *, title: str, bound: float) -> Path:
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(delays) + 1.6), layout="constrained")
    names = list(delays)[::-1]
    boxes = axes.boxplot(
        [delays[name] for name in names], orientation="horizontal", widths=0.6, patch_artist=True, whis=(0, 100),
        medianprops={"color": ACCENT, "linewidth": 2},
    )  # fmt: skip
    for box in boxes["boxes"]:
        box.set(facecolor=FILL, edgecolor=INK)
    means = [float(np.mean(delays[name])) for name in names]
    axes.plot(means, np.arange(1, len(names) + 1), "D", color=INK, markersize=5, label="mean")
    axes.axvline(bound, color=ACCENT, linestyle="--", linewidth=1, label=f"bound {bound:g} ms")
    axes.set_yticks(np.arange(1, len(names) + 1), names)
    axes.set_xlabel("delay between microservice and queue, ms")
    axes.set_xlim(left=-2)
    axes.set_title(title)
    axes.legend(loc="best", frameon=False)
    return _save(figure, path)


def deployed_bars(apps: Mapping[str, Sequence[int]], path: Path, *, submitted: int = 8) -> Path:
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(apps) + 1.6), layout="constrained")
    names = list(apps)[::-1]
    means = np.array([float(np.mean(apps[name])) for name in names])
    low = means - np.array([min(apps[name]) for name in names])
    high = np.array([max(apps[name]) for name in names]) - means
    axes.barh(np.arange(len(names)), means, color=FILL, edgecolor=INK, xerr=np.array([low, high]), capsize=4)
    axes.set_yticks(np.arange(len(names)), names)
    axes.axvline(submitted, color=ACCENT, linestyle="--", linewidth=1)
    axes.set_xlabel("applications deployed as a whole: mean, fewest and most over the runs")
    axes.set_xlim(0, submitted + 0.6)
    axes.set_title(f"Applications deployed of {submitted} submitted (Fig. 4)")
    return _save(figure, path)


@dataclass(frozen=True, slots=True)
class Timed:
    """How long a cluster of so many nodes took; `ended` is false where the time limit came first."""

    nodes: float
    seconds: float
    ended: bool = True


def scaling_curves(curves: Mapping[str, Sequence[Timed]], path: Path) -> Path:
    """Filled points ended by themselves; hollow ones ran into the limit, so their height says nothing."""
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, unsorted in curves.items():
        points = sorted(unsorted, key=lambda point: point.nodes)
        line = axes.plot([p.nodes for p in points], [p.seconds for p in points], "-", label=name)[0]
        for point in points:
            face = line.get_color() if point.ended else axes.get_facecolor()
            axes.plot(point.nodes, point.seconds, "o", color=line.get_color(), markerfacecolor=face)
    if any(not point.ended for points in curves.values() for point in points):
        axes.plot([], [], "o", color="grey", markerfacecolor=axes.get_facecolor(), label="stopped by the time limit")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("edge nodes")
    axes.set_ylabel("seconds")
    axes.set_title("Time to place everything")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    return _save(figure, path)


def _save(figure: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
