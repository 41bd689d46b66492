"""ImageLocality: nodes that already hold the pod's images, by size, score higher.

An image counts with its size times the share of nodes that hold it, so that one node with a rare image does not attract
everything; the sum is placed between 23 MB and 1000 MB per container. Follows from the node table alone, and is kept there.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Ints, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.quantity import show_bytes
from ecotone.scheduling.plugin import Change, Cycle, pick

LEAST = 23 * 1024 * 1024
MOST_PER_CONTAINER = 1000 * 1024 * 1024


class ImageLocality:
    name = "ImageLocality"
    placement_changes: Change | None = "nothing"

    def score(self, cycle: Cycle, rows: Rows) -> Ints | None:
        images, containers = cycle.pod.spec.images, max(1, cycle.pod.spec.containers)
        if not images:
            return None
        scores = cycle.state.nodes.derived(
            (self.name, images, containers), lambda nodes: _scores(nodes, images, containers)
        )
        return None if scores is None else pick(scores, rows, cycle)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        images = cycle.state.nodes.images
        held = [images[name] for name in map(with_tag, cycle.pod.spec.images) if name in images]
        size = sum(int(sizes[rows == row].sum()) for rows, sizes in held)
        return f"has {show_bytes(size)} of its images" if size else "has none of its images"


def _scores(nodes: NodeTable, images: tuple[str, ...], containers: int) -> Ints | None:
    held = [nodes.images[name] for name in map(with_tag, images) if name in nodes.images]
    if not held:
        return None
    total = np.zeros(len(nodes), dtype=np.int64)
    for rows, sizes in held:
        spread = len(rows) / len(nodes)
        total[rows] += (sizes.astype(np.float64) * spread).astype(np.int64)
    most = MOST_PER_CONTAINER * containers
    return 100 * (np.clip(total, LEAST, most) - LEAST) // (most - LEAST)


def with_tag(image: str) -> str:
    """The name a container runtime knows it by: without a tag it is `:latest`."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
